package rest_test

import (
	"crypto/sha256"
	"encoding/base64"
	"regexp"
	"strings"
	"testing"
)

func TestPagesRunNothingButTheirOwn(t *testing.T) {
	t.Parallel()
	_, url := serve(t)
	parts := regexp.MustCompile(`(?s)<(style|script)>(.*?)</(style|script)>`)
	for path, scripts := range map[string]int{"/setup?token=abc": 1, "/invite": 0, "/invite?id=1": 0} {
		got := ask(t, url, "GET "+path)
		policy := got.Header.Get("Content-Security-Policy")
		if got.StatusCode != 200 || got.Header.Get("Content-Type") != "text/html; charset=utf-8" || got.Header.Get("Referrer-Policy") != "no-referrer" ||
			got.Header.Get("Cache-Control") != "no-store" || !strings.Contains(policy, "default-src 'none'") || !strings.Contains(policy, "frame-ancestors 'none'") || strings.Contains(policy, "unsafe") {
			t.Errorf("%s: %d %v", path, got.StatusCode, got.Header)
		}
		found := parts.FindAllStringSubmatch(got.text, -1)
		if len(found) != 1+scripts {
			t.Fatalf("%s holds %d styles and scripts", path, len(found))
		}
		for _, part := range found {
			sum := sha256.Sum256([]byte(part[2]))
			if hash := base64.StdEncoding.EncodeToString(sum[:]); !strings.Contains(policy, part[1]+"-src 'sha256-"+hash) {
				t.Errorf("%s: the policy %q forbids the %s", path, policy, part[1])
			}
		}
	}
}

func TestTheTokenOfASetupLinkIsOnlyText(t *testing.T) {
	t.Parallel()
	_, url := serve(t)
	if got := ask(t, url, "GET /setup?token=abc-1_2").text; !strings.Contains(got, `name="token" value="abc-1_2"`) {
		t.Errorf("no token in %s", got)
	}
	if got := ask(t, url, `GET /setup?token=%22%3E%3Cscript%3Ealert(1)%3C/script%3E`).text; strings.Contains(got, "<script>alert") {
		t.Errorf("markup in %s", got)
	}
}
