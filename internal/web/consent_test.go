package web_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/testenv"
)

// newConsentBrowser returns the browser of a user with workspaces. It follows no redirect to a client.
func newConsentBrowser(t *testing.T, signedIn bool, spaces ...loci.Workspace) *browser {
	t.Helper()
	b := newBrowser(t, true)
	b.spaces = spaces
	if signedIn {
		b.signIn("ann")
	}
	b.client.CheckRedirect = func(r *http.Request, _ []*http.Request) error {
		if !strings.HasPrefix(b.url, "http://"+r.URL.Host) {
			return http.ErrUseLastResponse
		}
		return nil
	}
	return b
}

var (
	personal = loci.Workspace{ID: "own", Name: "Ann", Kind: loci.WorkspacePersonal, Role: loci.RoleOwner}
	alpha    = loci.Workspace{ID: "alpha", Name: "alpha", Kind: loci.WorkspaceTeam, Role: loci.RoleMember}
	beta     = loci.Workspace{ID: "beta", Name: "Beta", Kind: loci.WorkspaceTeam, Role: loci.RoleAdmin}
)

const (
	authorize = "/oauth/authorize?client_id="
	consent   = "/oauth/authorize"
)

// answerOf returns the fields of a form that answers a client's request.
func answerOf(client, decision string, workspaces ...string) string {
	return url.Values{"request": {"bound:sign-in:" + client}, "decision": {decision}, "workspaces": workspaces,
		"next": {"/oauth/authorize?request=signed:" + client}}.Encode()
}

func TestConsentPageNamesClientAndWorkspaces(t *testing.T) {
	t.Parallel()
	b := newConsentBrowser(t, true, beta, alpha, personal)
	got := b.get(authorize + "app")
	got.expect(t, 200, authorize+"app", "<bdi>The App</bdi> wants to use your Loci",
		"Loci has not verified this program",
		"<strong>ann@example.com</strong>", "Your answer goes to <strong><bdi>app.example</bdi></strong>",
		`name="request" value="bound:sign-in:app"`, `name="next" value="/oauth/authorize?request=signed%3Aapp"`,
		`<bdi>Beta</bdi> <span class="soft">Team, you are an admin</span>`,
		`<bdi>alpha</bdi> <span class="soft">Team, you are a member</span>`,
		`<bdi>Ann</bdi> <span class="soft">Yours alone</span>`)
	own, a, z := strings.Index(got.text, `"own"`), strings.Index(got.text, `"alpha"`), strings.Index(got.text, `"beta"`)
	if own < 0 || a < own || z < a || strings.Contains(got.text, "checked") {
		t.Errorf("the order is not personal, alpha, Beta, or one is ticked: %s", got.text)
	}
	testenv.Equal(t, b.calls(), "", "a GET runs")
	for client, text := range map[string]string{
		"document": "comes from <strong><bdi>docs.example</bdi></strong>",
		"local":    "<strong>a program on this device</strong> (<bdi>127.0.0.1:4567</bdi>)",
		"private":  "opens <strong><bdi>cursor:</bdi></strong> links",
		"nameless": "<bdi>A program without a name</bdi>",
	} {
		b.get(authorize+client).expect(t, 200, authorize+client, text)
	}
}

func TestOnlyWorkspaceIsTicked(t *testing.T) {
	t.Parallel()
	b := newConsentBrowser(t, true, personal)
	b.get(authorize+"app").expect(t, 200, authorize+"app", `value="own" id="workspaces" checked`)
}

func TestConsentPageMayRedirectFormToClientAlone(t *testing.T) {
	t.Parallel()
	b := newConsentBrowser(t, true, personal)
	for client, source := range map[string]string{"app": "https://app.example", "local": "http://127.0.0.1:4567",
		"private": "cursor:", "long": "http:", "comma": "http:", "hostile": ""} {
		got := b.get(authorize + client)
		want := "; form-action " + strings.TrimSpace("'self' "+source) + "; frame-ancestors 'none'; "
		policy := got.Header.Values("Content-Security-Policy")
		if len(policy) != 1 || !strings.Contains(policy[0], want) ||
			strings.Count(policy[0], "script-src") != 1 || got.Header.Get("Referrer-Policy") != "no-referrer" ||
			got.Header.Get("X-Frame-Options") != "DENY" || got.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %v", client, got.Header)
		}
	}
}

func TestConsentPageQuotesHostileNames(t *testing.T) {
	t.Parallel()
	evil := loci.Workspace{ID: "evil", Name: `"><script>alert(2)</script>`, Kind: loci.WorkspaceTeam}
	b := newConsentBrowser(t, true, personal, evil)
	got := b.get(authorize + "hostile")
	got.expect(t, 200, authorize+"hostile", "<bdi>"+`<script>alert(1)</script> X: y" onclick="a</bdi>`)
	if strings.Contains(got.raw, "<script>alert") || strings.Contains(got.raw, `" onclick="`) ||
		strings.Contains(got.raw, "<b>") || strings.ContainsAny(got.text, "\u202e\u2066\r") {
		t.Error(got.raw)
	}
	got = b.get(authorize + "long")
	got.expect(t, 200, authorize+"long", strings.Repeat("é", 100)+"…</bdi>")
	if strings.Contains(got.text, strings.Repeat("é", 101)) {
		t.Error("the page shows a long name whole")
	}
}

func TestStrangerSignsInForClient(t *testing.T) {
	t.Parallel()
	const next = "next=%2Foauth%2Fauthorize%3Frequest%3Dsigned%253Aapp"
	for _, form := range []string{"/signin", "/register"} {
		b := newConsentBrowser(t, false, personal, alpha)
		got := b.get(authorize + "app")
		got.expect(t, 200, "/signin?"+next, "<bdi>The App</bdi>", `href="/forgot?`+next, `href="/register?`+next,
			`name="next" value="/oauth/authorize?request=signed%3Aapp"`)
		b.get("/register?"+next).expect(t, 200, "/register?"+next, "<bdi>The App</bdi>", `href="/signin?`+next)
		b.get("/forgot?"+next).expect(t, 200, "/forgot?"+next, `href="/signin?`+next)
		b.post("/forgot", "email", "ann@example.com", "next", "/oauth/authorize?request=signed:app").expect(t, 200,
			"/forgot", `href="/signin?`+next)
		b.post("/signin", "email", "ann@example.com", "password", "wrong", "next",
			"/oauth/authorize?request=signed:app").expect(t, 401, "/signin", "<bdi>The App</bdi>")
		b.post(form, "email", "ann@example.com", "password", password, "next",
			"/oauth/authorize?request=signed:app").expect(t, 200,
			"/oauth/authorize?request=signed%3Aapp", "bound:sign-in:app", "<bdi>alpha</bdi>")
		b.post("/signout", "next", "/oauth/authorize?request=signed:app").expect(t, 200, "/signin?"+next)
	}
}

func TestConsentIsSentToClient(t *testing.T) {
	t.Parallel()
	b := newConsentBrowser(t, true, beta, alpha, personal)
	for body, want := range map[string]string{
		answerOf("app", "allow", "alpha"):                   secureSite + "#code approve ann alpha",
		answerOf("local", "allow", "own", "beta", "own"):    loopback + "#code approve ann own beta",
		answerOf("app", "deny"):                             secureSite + "#access_denied ",
		answerOf("app", "deny", "alpha"):                    secureSite + "#access_denied ",
		answerOf("local", "allow", "beta", "alpha", "own"):  loopback + "#code approve ann own alpha beta",
		"workspaces=own&" + answerOf("app", "allow", "own"): secureSite + "#code approve ann own",
	} {
		for range 2 { // by a double click, or after the button back
			got := b.do("POST", consent, body)
			if is := got.Header.Get("Location") + " " + b.calls(); got.StatusCode != 303 || is != want ||
				got.Header.Get("Referrer-Policy") != "no-referrer" || got.Header.Get("Cache-Control") != "no-store" {
				t.Errorf("%s: %d %v, want %s", body, got.StatusCode, is, want)
			}
		}
	}
}

func TestProgramTakesAnswerOverByItsScheme(t *testing.T) {
	t.Parallel()
	b := newConsentBrowser(t, true, personal)
	for body, texts := range map[string][]string{answerOf("private", "allow", "own"): {"#code", "You allowed"},
		answerOf("private", "deny"): {"#access_denied", "You denied"}} {
		got := b.do("POST", consent, body)
		got.expect(t, 200, consent, "You may close this window", `href="`+privateUse+texts[0], texts[1], "The App")
		testenv.Equal(t, got.Header.Get("Refresh"), "1; url="+privateUse+texts[0], "Refresh")
	}
	got := b.do("POST", consent, answerOf("script", "allow", "own"))
	got.expect(t, 400, consent, "no browser may open")
	if got.Header.Get("Refresh") != "" || strings.Contains(got.raw, "alert(1)") {
		t.Errorf("%v %s", got.Header, got.raw)
	}
}

func TestConsentNeedsOwnWorkspace(t *testing.T) {
	t.Parallel()
	b := newConsentBrowser(t, true, alpha, personal)
	got := b.do("POST", consent, answerOf("app", "allow"))
	got.expect(t, 400, consent, `<li><a href="#workspaces">Choose at least one workspace`,
		`<p class="fault" id="workspaces-fault">Choose`, `name="request" value="bound:sign-in:app"`, "<bdi>The App</bdi>")
	testenv.Contains(t, got.Header.Get("Content-Security-Policy"), "form-action 'self' https://app.example;",
		got.Header)
	got = b.do("POST", consent, answerOf("app", "allow", "alpha", "stolen"))
	got.expect(t, 400, consent, "no longer a member", `value="alpha" checked`)
	if calls := b.calls(); calls != "" || strings.Contains(got.text, "stolen") {
		t.Error(calls, got.text)
	}
}

func TestRequestWithFaultGoesBackToClient(t *testing.T) {
	t.Parallel()
	for _, signedIn := range []bool{true, false} {
		got := newConsentBrowser(t, signedIn, personal).get(authorize + "fault")
		if got.StatusCode != 303 || got.Header.Get("Location") != secureSite+"&error=invalid_scope" {
			t.Errorf("%d %v", got.StatusCode, got.Header)
		}
	}
}

func TestFaultyRequestShowsPage(t *testing.T) {
	t.Parallel()
	for _, signedIn := range []bool{true, false} {
		b := newConsentBrowser(t, signedIn, personal)
		for path, status := range map[string]int{authorize + "unknown": 400, consent: 400,
			consent + "?request=expired": 400, authorize + "busy": 429, authorize + "down": 503,
			authorize + "full": 507} {
			got := b.get(path)
			got.expect(t, status, path, "<title>Error: ")
			if limited := strings.Contains(got.text, "The limit of the network."); limited != (status == 429) ||
				limited && !strings.Contains(got.text, "Try again in 2 seconds.") {
				t.Errorf("%s: %s", path, got.text)
			}
			wait := map[int]string{429: "2", 503: "1", 507: "60"}[status]
			testenv.Equal(t, got.Header.Get("Retry-After"), wait, path)
			again := strings.Contains(got.text, "start again there")
			if got.Header.Get("Location") != "" || again != (status == 400) || strings.Contains(got.raw, "<unknown>") {
				t.Errorf("%s: %v %s", path, got.Header, got.raw)
			}
		}
	}
}

func TestForgedConsentIsRefused(t *testing.T) {
	t.Parallel()
	b := newConsentBrowser(t, true, alpha, personal)
	foreign := strings.Replace(answerOf("app", "allow", "own"), "sign-in", "other", 1)
	for body, text := range map[string]string{foreign: "has expired", "": "neither Allow nor Deny",
		answerOf("app", "maybe", "own"):                      "neither Allow nor Deny",
		answerOf("app", "allow", "own") + "&decision=deny":   "does not have",
		answerOf("app", "allow", "own") + "&request=a":       "does not have",
		answerOf("app", "allow", "own") + "&user=bob":        "does not have",
		answerOf("app", "allow", "own") + "&next=%2F":        "does not have",
		strings.Replace(foreign, "allow", "deny", 1):         "has expired",
		"decision=allow&workspaces=own&request=signed%3Aapp": "has expired",
	} {
		got := b.do("POST", consent, body)
		got.expect(t, 400, consent, text, "start again there")
		testenv.Equal(t, got.Header.Get("Location"), "", body, got.Header)
	}
	for name, value := range map[string]string{"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"} {
		b.header.Set(name, value)
		b.do("POST", consent, answerOf("app", "allow", "own")).expect(t, 403, consent, "another site sent this form")
		b.header.Set("Origin", b.url)
	}
	b.header.Del("Sec-Fetch-Site")
	b.header.Set("Origin", "null") // of a page without referrer
	b.do("POST", consent, answerOf("app", "allow", "own")).expect(t, 403, consent, "another site sent this form")
	testenv.Equal(t, b.calls(), "")
	b.header.Set("Sec-Fetch-Site", "same-origin")
	if got := b.do("POST", consent, answerOf("app", "allow", "own")); got.StatusCode != 303 {
		t.Errorf("a form of a page without referrer: %d %s", got.StatusCode, got.text)
	}
}

func TestConsentAfterSignOutSignsInFirst(t *testing.T) {
	t.Parallel()
	b := newConsentBrowser(t, false, personal)
	b.do("POST", consent, answerOf("app", "allow", "own")).expect(t, 200,
		"/signin?next=%2Foauth%2Fauthorize%3Frequest%3Dsigned%253Aapp", "<bdi>The App</bdi>")
	testenv.Equal(t, b.calls(), "")
}

func TestConsentPageListsManyWorkspaces(t *testing.T) {
	t.Parallel()
	for _, n := range []int{200, 1000, 1001} {
		spaces := []loci.Workspace{}
		for i := range n {
			id := fmt.Sprintf("w%04d", i)
			spaces = append(spaces, loci.Workspace{ID: loci.ID(id), Name: id, Kind: loci.WorkspaceTeam})
		}
		slices.Reverse(spaces)
		b := newConsentBrowser(t, true, spaces...)
		got := b.get(authorize + "app")
		if boxes := strings.Count(got.raw, `type="checkbox"`); boxes != min(n, 1000) ||
			strings.Contains(got.text, "your newest 1000 workspaces") != (n > 1000) {
			t.Errorf("%d of %d workspaces", boxes, n)
		}
		b.do("POST", consent, answerOf("app", "allow", "w0001", "w0199"))
		testenv.Equal(t, b.calls(), "approve ann w0001 w0199", n)
	}
}

// TestPersonChoosesReachOfClientOnTheDevice checks that a client that asks for the whole account gets what the person
// chose, and that no other client gets it.
func TestPersonChoosesReachOfClientOnTheDevice(t *testing.T) {
	t.Parallel()
	b := newConsentBrowser(t, true, alpha, personal)
	got := b.get(authorize + "device")
	got.expect(t, 200, authorize+"device", "These workspaces", "Everything that I may do", "create and revoke API keys",
		`value="deny" formnovalidate`)
	testenv.Equal(t, strings.Count(got.raw, " checked"), 0, "a choice is made")
	if text := b.get(authorize + "local").text; strings.Contains(text, "Everything") {
		t.Error("a client that asks for workspaces is offered everything")
	}
	for body, want := range map[string]string{
		answerOf("device", "allow") + "&reach=account":             "approve ann everything",
		answerOf("device", "allow", "alpha") + "&reach=account":    "approve ann everything",
		answerOf("device", "allow", "alpha") + "&reach=workspaces": "approve ann alpha",
		answerOf("local", "allow", "alpha") + "&reach=account":     "approve ann alpha",
	} {
		if got := b.do("POST", consent, body); got.StatusCode != 303 || b.calls() != want {
			t.Errorf("%s: %d, want %s", body, got.StatusCode, want)
		}
	}
	for body, texts := range map[string][]string{
		answerOf("device", "allow", "alpha"):                    {`<a href="#reach">Choose what`, `id="reach-fault"`},
		answerOf("device", "allow", "alpha") + "&reach=all":     {`<a href="#reach">Choose what`},
		answerOf("device", "allow") + "&reach=workspaces":       {`<a href="#workspaces">Choose at`, `required checked>`},
		answerOf("local", "allow") + "&reach=account":           {`<a href="#workspaces">Choose at`},
		answerOf("device", "allow") + "&reach=account&reach=no": {"does not have"},
	} {
		b.do("POST", consent, body).expect(t, 400, consent, texts...)
	}
	testenv.Equal(t, b.calls(), "")
}

// A person who ticks too many workspaces keeps the form.
func TestConsentToTooManyWorkspacesKeepsForm(t *testing.T) {
	t.Parallel()
	spaces, ids := []loci.Workspace{}, []string{}
	for i := range 201 {
		ids = append(ids, fmt.Sprintf("w%04d", i))
		spaces = append(spaces, loci.Workspace{ID: loci.ID(ids[i]), Name: ids[i], Kind: loci.WorkspaceTeam})
	}
	b := newConsentBrowser(t, true, spaces...)
	got := b.do("POST", consent, answerOf("app", "allow", ids...))
	got.expect(t, 400, consent, `<p class="fault" id="workspaces-fault">Choose 1 to 200`, `value="w0200"`,
		`name="request" value="bound:sign-in:app"`)
	testenv.Equal(t, b.calls(), "")
}

func TestPagesSendReferrerToOwnSiteOverPlainHTTP(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, true)
	r := testenv.Must(http.NewRequestWithContext(t.Context(), http.MethodGet, b.url+"/signin", nil))(t)
	r.Host = "loci.example"
	res := testenv.Must(b.client.Do(r))(t)
	defer res.Body.Close()
	testenv.Equal(t, res.Header.Get("Referrer-Policy"), "same-origin")
}

// TestConsentIsLogged checks the line of each visit of the authorization page: who decided what, and why it failed.
func TestConsentIsLogged(t *testing.T) {
	t.Parallel()
	who := "user=ann credential=sign-in"
	for _, c := range []struct {
		name string
		call func(*browser)
		want string
	}{
		{"asked", func(b *browser) { b.get(authorize + "app") },
			"level=INFO msg=call op=oauth.authorize transport=page method=GET " + who + ` status=200 code=""`},
		{"allowed", func(b *browser) { b.do("POST", consent, answerOf("app", "allow", "own")) },
			"level=INFO msg=call op=oauth.authorize transport=page method=POST " + who + ` status=303 code=""`},
		{"denied", func(b *browser) { b.do("POST", consent, answerOf("app", "deny")) },
			"method=POST " + who + " status=303 code=access_denied"},
		{"client at fault", func(b *browser) { b.get(authorize + "fault") },
			"method=GET " + who + " status=303 code=invalid_query"},
		{"unknown client", func(b *browser) { b.get(authorize + "none") },
			"method=GET " + who + " status=400 code=invalid_query"},
		{"no database", func(b *browser) { b.get(authorize + "down") },
			"method=GET " + who + " status=503 code=unavailable"},
	} {
		b := newConsentBrowser(t, true, personal)
		c.call(b)
		var line string
		for l := range strings.Lines(b.log.String()) {
			if strings.Contains(l, "msg=call op=oauth.authorize") {
				line += withoutFields(l, "time", "request", "us")
			}
		}
		if !strings.Contains(line, c.want) || strings.Count(line, "\n") != 1 || strings.Contains(line, "The App") {
			t.Errorf("%s: %s, want %s", c.name, line, c.want)
		}
	}
}

// withoutFields removes some fields of a line of the log.
func withoutFields(line string, names ...string) string {
	return strings.Join(slices.DeleteFunc(strings.Split(line, " "), func(field string) bool {
		name, _, _ := strings.Cut(field, "=")
		return slices.Contains(names, name)
	}), " ")
}
