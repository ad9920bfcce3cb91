package web_test

import (
	"context"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/httpapi"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/testenv"
	"github.com/loci-memory/loci/internal/web"
)

// every is a path of each page.
var every = map[string]int{"/": 200, "/signin": 200, "/register": 200, "/register?id=1&invitation=abc": 200,
	"/register?id=9&invitation=abc": 404, "/setup?token=abc-1_2": 200, "/setup": 404, "/setup?token=used": 404,
	"/verify?token=t": 200, "/verify": 404, "/forgot": 200, "/reset?token=t": 200, "/reset": 404, "/invite": 404,
	"/invite?id=1&token=abc": 200, "/invite?id=3&token=abc": 409, "/oauth/authorize?client_id=unknown": 400}

func TestPagesCannotBeFramedAndRunOwnScriptOnly(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, true)
	script := regexp.MustCompile(`<script[^>]*>`)
	for path, status := range every {
		got := b.get(path)
		policy := got.Header.Get("Content-Security-Policy")
		if got.StatusCode != status || got.Header.Get("Content-Type") != "text/html; charset=utf-8" ||
			got.Header.Get("Referrer-Policy") != "no-referrer" || got.Header.Get("X-Frame-Options") != "DENY" ||
			got.Header.Get("Cache-Control") != "no-store" || !strings.HasPrefix(policy, "default-src 'none'; ") ||
			!strings.Contains(policy, "frame-ancestors 'none'; ") || strings.Contains(policy, "unsafe") {
			t.Errorf("%s: %d %v", path, got.StatusCode, got.Header)
		}
		testenv.Contains(t, policy, "script-src 'self'", path)
		testenv.Equal(t, got.Header.Get("Cross-Origin-Opener-Policy") == "same-origin", path == "/", path)
		for _, tag := range script.FindAllString(got.raw, -1) {
			testenv.Contains(t, tag, ` src="/static/`, path)
		}
		for _, inline := range []string{"<style", " style=", " onclick=", " onload="} {
			if strings.Contains(got.raw, inline) {
				t.Errorf("%s has %s", path, inline)
			}
		}
	}
}

func TestPageLoadsStaticFiles(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, true)
	links := regexp.MustCompile(`/static/[^"#]+`).FindAllString(b.get("/").text, -1)
	testenv.RequireEqual(t, len(links), 2)
	for _, encoding := range []string{"gzip", "br, gzip", "", "gzip;q=0"} {
		for _, link := range links {
			b.header.Set("Accept-Encoding", encoding)
			got := b.get(link)
			if got.StatusCode != 200 || !strings.Contains(got.Header.Get("Cache-Control"), "immutable") ||
				got.Header.Get("Vary") != "Accept-Encoding" ||
				(got.Header.Get("Content-Encoding") == "gzip") != strings.HasSuffix(encoding, "gzip") {
				t.Errorf("%s: %d %v", link, got.StatusCode, got.Header)
			}
		}
	}
	b.get("/static/page.css").expect(t, 404, "/static/page.css")
}

func TestRoutesDescribePagesOfLinks(t *testing.T) {
	t.Parallel()
	var described []string
	for _, r := range web.Routes(web.Options{Table: table(), Authorizer: &fakeAuthorizer{}}) {
		if r.Reason == "" {
			t.Errorf("%s has no reason", r.Pattern)
		}
		if r.Describe != nil {
			described = append(described, r.Pattern)
		}
	}
	testenv.Equal(t, strings.Join(described, " "), "GET /register GET /setup GET /verify GET /reset GET /invite "+
		"GET /oauth/authorize")
}

func TestHomePageIsNotFoundWhenHTMLIsNotAccepted(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, false)
	b.header.Set("Accept", "application/json")
	if got := b.get("/"); got.StatusCode != 404 || got.Header.Get("Content-Type") != "application/json" ||
		!strings.Contains(got.raw, `"code":"not_found"`) {
		t.Errorf("%d %s", got.StatusCode, got.raw)
	}
	for _, accept := range []string{"", "*/*", "text/html"} {
		b.header["Accept"] = []string{accept}
		b.get("/").expect(t, 200, "/", `href="/signin"`, "/openapi.json", b.url+"/mcp")
	}
	if got := b.post("/"); got.StatusCode != 405 || got.Header.Get("Allow") != "GET, HEAD" {
		t.Errorf("POST /: %d %v", got.StatusCode, got.Header)
	}
}

// forms are the forms, each as a browser that is signed in would send it.
var forms = map[string][]string{
	"/signin": {"email", "ann@example.com", "password", password}, "/signout": {}, "/key": {"name", "laptop"},
	"/resend": {}, "/revoke": {"grantId", "g1"}, "/register": {"email", "new@example.com", "password", password},
	"/setup":  {"token", "abc-1_2", "email", "ann@example.com", "password", password},
	"/verify": {"token", "t"}, "/forgot": {"email", "ann@example.com"}, "/reset": {"token", "t", "password", password},
	"/invite": {"id", "2", "token", "abc", "accept", "true", "confirm", "true"},
}

func TestFormsOfOtherOriginsAreRefused(t *testing.T) {
	t.Parallel()
	for path, pairs := range forms {
		for name, change := range map[string]func(http.Header){
			"another origin":   func(h http.Header) { h.Set("Origin", "https://evil.example") },
			"no origin":        func(h http.Header) { h.Set("Origin", "null") },
			"another site":     func(h http.Header) { h.Set("Sec-Fetch-Site", "cross-site") },
			"a sibling domain": func(h http.Header) { h.Set("Sec-Fetch-Site", "same-site") },
		} {
			b := newBrowser(t, true)
			if path != "/signin" && path != "/register" && path != "/setup" {
				b.signIn("ann")
			}
			change(b.header)
			got := b.post(path, pairs...)
			if got.StatusCode != 403 || got.Header.Get("Set-Cookie") != "" || b.calls() != "" || len(b.used) > 0 ||
				!strings.Contains(got.text, "another site sent this form") {
				t.Errorf("%s: %s from %s: %s", path, got.Status, name, got.text)
			}
		}
	}
}

func TestFormsHaveBoundsAndOneType(t *testing.T) {
	t.Parallel()
	for path := range forms {
		b := newBrowser(t, true)
		b.do("POST", path, "name="+strings.Repeat("x", 64<<10)).expect(t, 413, path, "larger than 64 KiB")
		b.do("POST", path, "name=%ff").expect(t, 400, path, "not valid UTF-8")
		b.do("POST", path, "%ff=name").expect(t, 400, path, "not valid UTF-8")
		b.do("POST", path, "name=%zz").expect(t, 400, path, "could not be read")
		for _, kind := range []string{"application/json", "multipart/form-data; boundary=x", "text/plain", "x;;"} {
			b.header.Set("Content-Type", kind)
			b.do("POST", path, "{}").expect(t, 415, path, "only the form of its page")
		}
		testenv.Equal(t, b.calls(), "", path)
	}
}

func TestFormRefusesUnknownAndRepeatedFields(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, true)
	b.do("POST", "/signin", "email=a%40b.c&password=x&admin=true").expect(t, 400, "/signin", `unknown field "admin"`)
	b.do("POST", "/signin", "email=a%40b.c&email=d%40e.f&password=x").expect(t, 400, "/signin", "Email is given twice.")
	b.do("POST", "/signin", "email=a%40b.c%00&password=x").expect(t, 400, "/signin", "without NUL")
	b.do("POST", "/signin", "").expect(t, 400, "/signin", "Email is required.", `href="#email"`)
	testenv.Equal(t, b.calls(), "")
}

func TestRefusalIsShownAtItsField(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, true)
	got := b.post("/register", "email", "new@example.com", "name", `"><script>`, "password", "secretly!")
	got.expect(t, 400, "/register", "<title>Error: Create an account · ",
		`<li><a href="#password">Password must have at least 10 characters.</a></li>`,
		`<p class="fault" id="password-fault">Password must have at least 10 characters.</p>`,
		`aria-invalid="true" aria-describedby="password-fault" autofocus>`, `value="new@example.com"`)
	if strings.Contains(got.text, "secretly!") || strings.Contains(got.raw, `"><script>"`) {
		t.Errorf("the page shows the password, or a script: %s", got.raw)
	}
	b.post("/register", "email", "taken@example.com", "password", password).expect(t, 409, "/register",
		`<p class="fault" id="email-fault">There is an account with this address already.</p>`, `href="/signin`)
	got = b.post("/signin", "email", "ann@example.com", "password", "wrong")
	got.expect(t, 401, "/signin", "The address or the password is wrong.", `value="ann@example.com"`)
	if strings.Contains(got.text, "wrong\"") || got.Header.Get("Set-Cookie") != "" {
		t.Errorf("%v %s", got.Header, got.text)
	}
}

func TestNextPageIsOwnPage(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, true)
	long := strings.Repeat("x", 16<<10)
	for next, want := range map[string]string{
		"": "/", "/": "/", "/invite?id=1&token=abc": "/invite?id=1&token=abc", "invite": "/", "/signout": "/",
		"https://evil.example/": "/", "//evil.example/invite": "/", `/\evil.example`: "/", `\\evil.example`: "/",
		"/%2f/evil.example": "/", "javascript:alert(1)": "/", "/invite\r\nSet-Cookie: a=b": "/", "/unknown": "/",
		"/oauth/authorize?request=a&client_id=b": "/oauth/authorize?request=a", "//ann@/invite": "/",
		"/oauth/authorize?client_id=b": "/oauth/authorize?request=", "https:/invite": "/", "https:invite": "/",
		"/invite?id=" + long: "/", "/v1/me": "/", "/invite#x": "/invite",
		"/invite?next=//evil.example": "/invite?next=%2F%2Fevil.example",
	} {
		b.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		got := b.post("/signin", "email", "ann@example.com", "password", password, "next", next)
		if got.StatusCode != 303 || got.Header.Get("Location") != want {
			t.Errorf("next %q: %d %q, want %q", next, got.StatusCode, got.Header.Get("Location"), want)
		}
		if got = b.get("/signin?next=" + url.QueryEscape(next)); got.Header.Get("Location") != want {
			t.Errorf("GET next %q: %q, want %q", next, got.Header.Get("Location"), want)
		}
	}
}

func TestSignedOutBrowserSignsInFirst(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, true)
	b.post("/key", "name", "laptop").expect(t, 200, "/signin?next=%2F", "Password")
	b.post("/invite", forms["/invite"]...).expect(t, 200, "/signin?next=%2Finvite%3Fid%3D2%26token%3Dabc",
		`name="next" value="/invite?id=2&token=abc"`)
	b.signIn("stale")
	b.post("/signout").expect(t, 200, "/signin?next=%2F")
	b.get("/").expect(t, 200, "/", `href="/signin"`)
	testenv.Equal(t, b.calls(), "")
	b.header.Set("Authorization", "Bearer ann")
	b.post("/key", "name", "laptop").expect(t, 200, "/signin?next=%2F")
}

func TestPageReportsRateLimit(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, true)
	b.signIn("busy")
	got := b.get("/")
	got.expect(t, 429, "/", "There were too many attempts. Try again in 3 seconds.")
	testenv.Equal(t, got.Header.Get("Retry-After"), "3", got.Header)
	b.post("/key", "name", "x").expect(t, 429, "/key", "too many attempts")
}

func TestPageNamesFailedRequest(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, true)
	b.signIn("broken")
	b.header.Set("X-Request-Id", "r-17")
	got := b.get("/signin")
	got.expect(t, 500, "/signin", "The request failed", "Name the request r-17")
	if strings.Contains(got.text, "a secret of ours") {
		t.Error(got.text)
	}
}

func TestFormsHaveFreshIdempotencyKeys(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, true)
	key := regexp.MustCompile(`name="idempotencyKey" value="([A-Z2-7]{26})"`)
	b.signIn("ann")
	first, second := b.get("/").raw, b.get("/").raw
	if posts := strings.Count(first, `method="post"`); posts != 3 || len(key.FindAllString(first, -1)) != posts-1 ||
		key.FindString(first) == key.FindString(second) {
		t.Errorf("%d forms, keys %q and %q", posts, key.FindAllString(first, -1), key.FindAllString(second, -1))
	}
	// The form of a key has none: a reload shows no key again.
	b.do("POST", "/key", "name=laptop").expect(t, 200, "/key", loci0+"0", "Create another API key",
		"Nothing shows it again")
	b.do("POST", "/key", "name=laptop").expect(t, 200, "/key", loci0+"1")
	testenv.Equal(t, b.calls(), "key laptop; key laptop")
	b.do("POST", "/key", "name=x&idempotencyKey=").expect(t, 400, "/key",
		"Idempotency-Key must have 1 to 200 characters")
	b.do("POST", "/key", "name=x&idempotencyKey=1&idempotencyKey=2").expect(t, 400, "/key", "given twice")
}

const loci0 = "loci_live_number"

func (s *fakeService) ListGrants(_ context.Context, _ *identity.Actor, in loci.ListGrants) (loci.Grants, error) {
	if int(in.Limit) < len(s.grants) {
		return loci.Grants{}, loci.Errorf(loci.CodeUnavailable, "The database is away.")
	}
	return loci.Grants{Grants: s.grants}, nil
}

func (s *fakeService) RevokeGrant(_ context.Context, _ *identity.Actor, in loci.RevokeGrant) (loci.Empty, error) {
	s.note("revoke", string(in.GrantID))
	for i, g := range s.grants {
		if g.ID == in.GrantID {
			s.grants = append(s.grants[:i:i], s.grants[i+1:]...)
			return loci.Empty{}, nil
		}
	}
	return loci.Empty{}, loci.NewError(loci.CodeNotFound)
}

func grant(id loci.ID, name string, workspaces ...string) loci.Grant {
	g := loci.Grant{ID: id, Client: loci.GrantClient{Name: name}, RedirectHost: "127.0.0.1:4711"}
	for _, w := range workspaces {
		g.Workspaces = append(g.Workspaces, loci.GrantWorkspace{Name: w})
	}
	return g
}

func TestStartPageShowsAndEndsGrants(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, false)
	b.signIn("ann")
	if got := b.get("/"); strings.Contains(got.text, "Connected programs") {
		t.Error("no program is connected:", got.text)
	}
	used := grant("g2", "<b>Bold\u202e", "One", "Two", "Three", "Four", "Five", "Six", "Seven")
	used.LastUsedAt = loci.Time(time.Date(2026, 11, 24, 1, 0, 0, 0, time.UTC).UnixMicro())
	b.grants = []loci.Grant{grant("g1", "Claude Code", "Personal", "<i>Crew"), used}
	got := b.get("/")
	got.expect(t, 200, "/", "Connected programs", "Claude Code", "<i>Crew", "not used yet", `name="grantId" value="g1"`,
		"last used on 2026-11-24", "Four", "and 2 more")
	if strings.Contains(got.raw, "<b>") || strings.Contains(got.raw, "<i>") || strings.Contains(got.raw, "\u202e") {
		t.Error("a name is not quoted:", got.raw)
	}
	got = b.post("/revoke", "grantId", "g1")
	got.expect(t, 200, "/revoke", "The access has ended", `value="g2"`)
	if strings.Contains(got.text, "Claude Code</bdi>") {
		t.Error("the program is shown still:", got.text)
	}
	b.post("/revoke", "grantId", "g1").expect(t, 404, "/revoke", "has no access any more", `value="g2"`)
	testenv.Equal(t, b.calls(), "revoke g1; revoke g1")
}

func TestStartPageIsShownWithoutTheListOfGrants(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, false)
	b.signIn("ann")
	b.grants = make([]loci.Grant, 101) // more than the service has
	b.post("/key", "name", "laptop").expect(t, 200, "/key", loci0+"0", "cannot be read now")
}

// A fakeAuthorizer has a few clients. A signed request is "signed:" and the id of the client.
type fakeAuthorizer struct{ *fakeService }

const (
	hostileName = "<script>alert(1)</script>\u202e\u2066\r\nX: y\" onclick=\"a"
	secureSite  = "https://app.example/back?x=1"
	loopback    = "http://127.0.0.1:4567/back"
	privateUse  = "cursor://anysphere.mcp/back"
)

var clients = map[string]httpapi.Authorization{
	"app": {ClientName: "The App", RedirectURI: secureSite, RedirectHost: "app.example"},
	"document": {ClientName: "The App", ClientHost: "docs.example", RedirectURI: loopback,
		RedirectHost: "127.0.0.1:4567"},
	"local": {ClientName: "The App", RedirectURI: loopback, RedirectHost: "127.0.0.1:4567"},
	"device": {ClientName: "The App", RedirectURI: loopback, RedirectHost: "127.0.0.1:4567",
		Account: true},
	"private":  {ClientName: "The App", RedirectURI: privateUse, RedirectHost: "cursor:"},
	"script":   {ClientName: "The App", RedirectURI: "javascript:alert(1)", RedirectHost: "javascript:"},
	"hostile":  {ClientName: hostileName, RedirectURI: "http://a.example;script-src *,x/", RedirectHost: "<b>"},
	"comma":    {ClientName: "The App", RedirectURI: "http://a.example;script-src,b/", RedirectHost: "a.example"},
	"long":     {ClientName: strings.Repeat("é", 2000), RedirectURI: "http://[::1]:1/", RedirectHost: "[::1]:1"},
	"nameless": {ClientName: " \u202e ", RedirectURI: secureSite, RedirectHost: "app.example"},
}

var errExpired = loci.Errorf(loci.CodeInvalidQuery, "The request has expired.")

func (f *fakeAuthorizer) Authorize(_ context.Context, rawQuery, _ string) (string, httpapi.Authorization, error) {
	query, err := url.ParseQuery(rawQuery)
	if err != nil {
		return "", httpapi.Authorization{}, err
	}
	id, signed := strings.CutPrefix(query.Get("request"), "signed:")
	if !signed {
		id = query.Get("client_id")
	}
	switch id {
	case "fault":
		return "", httpapi.Authorization{}, &httpapi.RedirectError{Location: secureSite + "&error=invalid_scope"}
	case "down":
		return "", httpapi.Authorization{}, loci.NewError(loci.CodeUnavailable)
	case "full":
		return "", httpapi.Authorization{}, loci.NewError(loci.CodeStorageFull)
	case "busy":
		return "", httpapi.Authorization{}, &loci.Error{Code: loci.CodeRateLimited, RetryAfter: 2 * time.Second,
			Message: "The limit of the network."}
	}
	a, known := clients[id]
	if !known {
		return "", a, loci.Errorf(loci.CodeInvalidQuery, "The client is <unknown>.")
	}
	return "signed:" + id, a, nil
}

func (f *fakeAuthorizer) Bind(request string, signIn loci.ID) (string, httpapi.Authorization, error) {
	id := strings.TrimPrefix(request, "signed:")
	return "bound:" + string(signIn) + ":" + id, clients[id], nil
}

func (f *fakeAuthorizer) Open(bound string, signIn loci.ID) (httpapi.Authorization, error) {
	id, ok := strings.CutPrefix(bound, "bound:"+string(signIn)+":")
	if !ok {
		return httpapi.Authorization{}, errExpired
	}
	return clients[id], nil
}

func (f *fakeAuthorizer) Approve(_ context.Context, bound string, signIn, user loci.ID,
	reach httpapi.Reach) (string, error) {
	a, err := f.Open(bound, signIn)
	if err != nil {
		return "", err
	}
	if len(reach.Workspaces) > 200 {
		return "", loci.Errorf(loci.CodeInvalidQuery, "Choose 1 to 200 workspaces.")
	}
	texts := []string{"approve", string(user)}
	if reach.Account {
		texts = append(texts, "everything")
	}
	for _, w := range reach.Workspaces {
		texts = append(texts, string(w))
	}
	f.note(texts...)
	return a.RedirectURI + "#code", nil
}

func (f *fakeAuthorizer) Deny(bound string, signIn loci.ID) (string, error) {
	a, err := f.Open(bound, signIn)
	return a.RedirectURI + "#access_denied", err
}

// ListWorkspaces returns the workspaces of ann in pages.
func (s *fakeService) ListWorkspaces(_ context.Context, _ *identity.Actor,
	in loci.ListWorkspaces) (out loci.Workspaces, err error) {
	from := len(in.Cursor)
	to := min(from+int(in.Limit), len(s.spaces))
	out.Workspaces = s.spaces[from:to]
	if to < len(s.spaces) {
		out.NextCursor = strings.Repeat("c", to)
	}
	return out, nil
}
