package rest_test

import (
	"crypto/sha256"
	"encoding/base64"
	"regexp"
	"strings"
	"testing"
)

func TestPagePolicyAllowsOnlyOwnScript(t *testing.T) {
	t.Parallel()
	_, url := serve(t)
	parts := regexp.MustCompile(`(?s)<(style|script)>(.*?)</(style|script)>`)
	for path, status := range map[string]int{"/": 200, "/signin": 200, "/setup?token=abc-1_2": 200, "/setup": 404,
		"/setup?token=abc": 404, "/invite": 404, "/invite?id=1&token=abc": 200} {
		got := roundTrip(t, url, "GET "+path+"\nAccept: text/html,application/xhtml+xml,*/*;q=0.8")
		policy := got.Header.Get("Content-Security-Policy")
		if got.StatusCode != status || got.Header.Get("Content-Type") != "text/html; charset=utf-8" ||
			got.Header.Get("Referrer-Policy") != "same-origin" ||
			got.Header.Get("Cache-Control") != "no-store" || !strings.Contains(policy, "default-src 'none'") ||
			!strings.Contains(policy, "frame-ancestors 'none'") || strings.Contains(policy, "unsafe") {
			t.Errorf("%s: %d %v", path, got.StatusCode, got.Header)
		}
		found := parts.FindAllStringSubmatch(got.text, -1)
		if len(found) != 2 {
			t.Fatalf("%s holds %d styles and scripts", path, len(found))
		}
		for _, part := range found {
			sum := sha256.Sum256([]byte(part[2]))
			if hash := base64.StdEncoding.EncodeToString(sum[:]); !strings.Contains(policy,
				part[1]+"-src 'sha256-"+hash) {
				t.Errorf("%s: the policy %q forbids the %s", path, policy, part[1])
			}
		}
	}
}

func TestSetupPageRejectsInvalidToken(t *testing.T) {
	t.Parallel()
	_, url := serve(t)
	if got := roundTrip(t, url, "GET /setup?token=abc-1_2").text; !strings.Contains(got,
		`name="token" value="abc-1_2"`) ||
		strings.Contains(got, `<p role="alert"`) {
		t.Errorf("a good token: %s", got)
	}
	for _, token := range []string{"used", "", `%22%3E%3Cscript%3Ealert(1)%3C/script%3E`} {
		got := roundTrip(t, url, "GET /setup?token="+token)
		if got.StatusCode != 404 || !strings.Contains(got.text, "does not work") ||
			strings.Contains(got.text, "<input") || strings.Contains(got.text, "<script>alert") {
			t.Errorf("token %q: %d %s", token, got.StatusCode, got.text)
		}
	}
}

func TestHomePageIsNotFoundWhenHTMLIsNotAccepted(t *testing.T) {
	t.Parallel()
	_, url := serve(t)
	if got := roundTrip(t, url, "GET /\nAccept: application/json"); got.StatusCode != 404 ||
		got.code(t) != "not_found" {
		t.Errorf("%d %s", got.StatusCode, got.text)
	}
	for _, accept := range []string{"", "\nAccept: */*", "\nAccept: text/html"} {
		got := roundTrip(t, url, "GET /"+accept)
		for _, want := range []string{`href="/signin"`, "/openapi.json", "https://loci.example.org/mcp"} {
			if got.StatusCode != 200 || !strings.Contains(got.text, want) {
				t.Errorf("%q: no %q: %d %s", accept, want, got.StatusCode, got.text)
			}
		}
	}
	if got := roundTrip(t, url, "POST /\nContent-Length: 0"); got.StatusCode != 405 ||
		got.Header.Get("Allow") != "GET, HEAD" {
		t.Errorf("POST /: %d %v", got.StatusCode, got.Header)
	}
}

const formHeader = "\nContent-Type: application/x-www-form-urlencoded"

func TestPagesRejectOtherContentTypesAndOrigins(t *testing.T) {
	t.Parallel()
	_, url := serve(t)
	for send, status := range map[string]int{
		"POST /signin" + jsonHeader + "\n\n{}":                                                   415,
		"POST /key" + formHeader + "\n\nname=" + strings.Repeat("x", 70_000):                     413,
		"POST /signout" + formHeader + "\n\nnext=%ff":                                            400,
		"POST /signin" + formHeader + "\nOrigin: https://evil.example\n\nemail=a@b.c&password=x": 403,
		"POST /signin" + formHeader + "\nOrigin: null\n\nemail=a@b.c&password=x":                 403,
		"POST /signin" + formHeader + "\nSec-Fetch-Site: cross-site\n\nemail=a@b.c&password=x":   403,
	} {
		if got := roundTrip(t, url, send); got.StatusCode != status || got.Header.Get("Set-Cookie") != "" {
			t.Errorf("%.90s: %d, want %d", send, got.StatusCode, status)
		}
	}
}

func TestPageNamesLimitOfItsForm(t *testing.T) {
	t.Parallel()
	_, url := serve(t)
	got := roundTrip(t, url, "POST /key"+formHeader+"\n\nname="+strings.Repeat("x", 64<<10))
	if got.StatusCode != 413 || !strings.Contains(got.text, "larger than 64 KiB") {
		t.Errorf("%d %s", got.StatusCode, got.text)
	}
}

func TestInvitationPageHidesInvitationWithoutToken(t *testing.T) {
	t.Parallel()
	_, url := serve(t)
	got := roundTrip(t, url, "GET /invite?id=1&token=abc").text
	for _, want := range []string{"<bdi>Ann</bdi> invites you to <bdi>&lt;Team&gt;</bdi>",
		"<p><bdi>&lt;Team&gt;</bdi> is a workspace", "cid@example.com",
		`href="/signin?next=%2Finvite%3Fid%3D1%26token%3Dabc&amp;email=cid%40example.com"`} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in %s", want, got)
		}
	}
	for _, query := range []string{"", "?id=1", "?id=1&token=abd", "?id=2&token=abc"} {
		if got := roundTrip(t, url, "GET /invite"+query); got.StatusCode != 404 || strings.Contains(got.text, "Team") ||
			strings.Contains(got.text, "cid@") || !strings.Contains(got.text, "This link has no invitation") {
			t.Errorf("%s: %d %s", query, got.StatusCode, got.text)
		}
	}
}

func TestInvitationPageExplainsClosedInvitation(t *testing.T) {
	t.Parallel()
	_, url := serve(t)
	for id, title := range map[string]string{"3": "has expired", "4": "was withdrawn", "5": "was accepted"} {
		got := roundTrip(t, url, "GET /invite?token=abc&id="+id)
		if got.StatusCode != 409 || !strings.Contains(got.text, "This invitation "+title) ||
			strings.Contains(got.text, "Team") || strings.Contains(got.text, "answer\"") {
			t.Errorf("%s: %d %s", title, got.StatusCode, got.text)
		}
	}
}
