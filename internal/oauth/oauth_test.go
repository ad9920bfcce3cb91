package oauth

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/httpapi"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/logtest"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/grantdb"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
)

const (
	testIssuer  = "https://loci.example.org"
	testAddress = "192.0.2.1" // of the browser
)

// newTestServer returns a server on SQLite with one client, and a handler of its routes.
func newTestServer(t testing.TB) (s *Server, client string, handler http.Handler) {
	t.Helper()
	return newTestServerAt(t, time.Now)
}

// newTestServerAt returns such a server with a clock.
func newTestServerAt(t testing.TB, clock loci.Clock) (s *Server, client string, handler http.Handler) {
	t.Helper()
	st := testenv.Must(store.OpenSQLite(t.Context(), t.TempDir(), store.Options{Log: slog.New(slog.DiscardHandler),
		Clock: clock}))(t)
	t.Cleanup(func() { st.Close() })
	s = New(Options{Store: st, PublicURL: testIssuer, Clock: clock,
		Host: &op.Host{Log: slog.New(slog.DiscardHandler)}})
	c := grantdb.Client{ID: "client", Name: "Test", RedirectURIs: []string{"https://app.example/cb?x=1",
		"http://127.0.0.1/cb", "app.example:/cb"}}
	testenv.Must(store.System(t.Context(), st, "add a client", func(t *store.SystemTx) (loci.Empty, error) {
		return loci.Empty{}, t.Grants().AddClient(c)
	}))(t)
	mux := http.NewServeMux()
	for _, r := range s.Routes() {
		mux.Handle(r.Pattern, r.Handler)
	}
	return s, c.ID, mux
}

// authorizeQuery returns the query of a valid request.
func authorizeQuery(changes ...string) string {
	q := url.Values{"response_type": {"code"}, "client_id": {"client"}, "redirect_uri": {"https://app.example/cb?x=1"},
		"code_challenge": {strings.Repeat("a", 43)}, "code_challenge_method": {"S256"}, "state": {"s"}}
	for i := 0; i < len(changes); i += 2 {
		if q.Del(changes[i]); changes[i+1] != "" {
			q.Set(changes[i], changes[i+1])
		}
	}
	return q.Encode()
}

func TestAuthorizeAcceptsWhatClientsSend(t *testing.T) {
	t.Parallel()
	s, _, _ := newTestServer(t)
	for _, query := range []string{authorizeQuery(), authorizeQuery("state", ""), authorizeQuery("scope", "mcp"),
		authorizeQuery("scope", "openid mcp offline_access"), authorizeQuery("response_mode", "query"),
		authorizeQuery("resource", testIssuer+"/mcp"), authorizeQuery("resource", testIssuer+"/mcp/"),
		authorizeQuery("resource", testIssuer+"/mcp?toolset=core"), authorizeQuery("resource",
			"https://LOCI.example.org:443/mcp"),
		authorizeQuery("resource", testIssuer+"/mcp") + "&resource=" + url.QueryEscape(testIssuer+"/mcp/"),
		authorizeQuery("prompt", "consent"), authorizeQuery("unknown", "x"), authorizeQuery("scope", "") + "&scope=",
		authorizeQuery("redirect_uri", "http://127.0.0.1:50000/cb"), authorizeQuery("state", strings.Repeat("s",
			maxState))} {
		signed, a, err := s.Authorize(t.Context(), query, testAddress)
		if err != nil || a.ClientName != "Test" || a.RedirectURI == "" || a.Account {
			t.Errorf("%s: %+v, %v", query, a, err)
		}
		again, b, err := s.Authorize(t.Context(), "request="+url.QueryEscape(signed), testAddress)
		if err != nil || again != signed || a != b {
			t.Errorf("%s again: %+v, %v", query, b, err)
		}
	}
}

// TestWholeAccountIsForClientsOnTheDevice checks who is offered the whole account, and that the answer of the consent
// page cannot take more than was offered.
func TestWholeAccountIsForClientsOnTheDevice(t *testing.T) {
	t.Parallel()
	s, _, h := newTestServer(t)
	ann := storetest.User(t, s.Store, "ann")
	signIn := storetest.SignIn(t, s.Store, ann.UserID)
	const device, verifier = "http://127.0.0.1:50000/cb", "the verifier of a client has 43 characters or more"
	challenge := sha256.Sum256([]byte(verifier))
	for _, c := range []struct {
		redirect, scope string
		offered         bool
	}{
		{device, "mcp account", true}, {device, "account openid mcp", true}, {device, "mcp", false},
		{device, "", false}, {device, "mcp accounts", false}, {"https://app.example/cb?x=1", "mcp account", false},
		{"app.example:/cb", "mcp account", false},
	} {
		signed, a, err := s.Authorize(t.Context(), authorizeQuery("redirect_uri", c.redirect, "scope", c.scope,
			"code_challenge", base64.RawURLEncoding.EncodeToString(challenge[:])), testAddress)
		if err != nil || a.Account != c.offered {
			t.Errorf("%+v: %+v, %v", c, a, err)
			continue
		}
		bound, b, err := s.Bind(signed, signIn)
		if err != nil || b.Account != c.offered {
			t.Errorf("%+v, bound: %+v, %v", c, b, err)
		}
		location, err := s.Approve(t.Context(), bound, signIn, ann.UserID, httpapi.Reach{Account: true})
		if (err == nil) != c.offered || err != nil && !loci.Is(err, loci.CodeInvalidQuery) {
			t.Errorf("%+v: everything is allowed: %v", c, err)
		}
		if err != nil {
			continue
		}
		answer := testenv.Must(url.Parse(location))(t).Query()
		w := callEndpoint(h, "/oauth/token", "application/x-www-form-urlencoded", url.Values{"client_id": {"client"},
			"grant_type": {"authorization_code"}, "code": answer["code"], "redirect_uri": {c.redirect},
			"code_verifier": {verifier}}.Encode())
		testenv.Contains(t, w.Body.String(), `"scope":"mcp account"`, c.scope)
	}
	_, _, err := s.Authorize(t.Context(), authorizeQuery("redirect_uri", device, "scope", "account"), testAddress)
	var refused *httpapi.RedirectError
	if !errors.As(err, &refused) || !strings.Contains(refused.Location, "error="+codeInvalidScope) {
		t.Errorf("account alone: %v", err)
	}
}

func TestAuthorizeTellsTheClientOfItsFaults(t *testing.T) {
	t.Parallel()
	s, _, _ := newTestServer(t)
	for query, want := range map[string]string{
		authorizeQuery("response_type", ""):                        codeInvalidRequest,
		authorizeQuery("response_type", "token"):                   codeUnsupportedAnswer,
		authorizeQuery("response_type", "code token"):              codeUnsupportedAnswer,
		authorizeQuery("response_mode", "fragment"):                codeInvalidRequest,
		authorizeQuery("code_challenge", ""):                       codeInvalidRequest,
		authorizeQuery("code_challenge", strings.Repeat("a", 42)):  codeInvalidRequest,
		authorizeQuery("code_challenge", strings.Repeat("a", 44)):  codeInvalidRequest,
		authorizeQuery("code_challenge", strings.Repeat("=", 43)):  codeInvalidRequest,
		authorizeQuery("code_challenge_method", ""):                codeInvalidRequest,
		authorizeQuery("code_challenge_method", "s256"):            codeInvalidRequest,
		authorizeQuery("scope", "mcp:tools"):                       codeInvalidScope,
		authorizeQuery("resource", testIssuer):                     codeInvalidTarget,
		authorizeQuery("resource", testIssuer+"/mcp/x"):            codeInvalidTarget,
		authorizeQuery("resource", testIssuer+"/%6dcp"):            codeInvalidTarget,
		authorizeQuery("resource", testIssuer+":444/mcp"):          codeInvalidTarget,
		authorizeQuery("resource", "http://loci.example.org/mcp"):  codeInvalidTarget,
		authorizeQuery("resource", testIssuer+"/mcp?api_key=x"):    codeInvalidTarget,
		authorizeQuery("resource", testIssuer+"/mcp#"):             codeInvalidTarget,
		authorizeQuery("request", "x"):                             "request_not_supported",
		authorizeQuery("request_uri", "x"):                         "request_uri_not_supported",
		authorizeQuery("prompt", "none"):                           "consent_required",
		authorizeQuery("state", strings.Repeat("s", maxState+1)):   codeInvalidRequest,
		authorizeQuery() + "&resource=&resource=https%3A%2F%2Fx.y": codeInvalidTarget,
	} {
		_, _, err := s.Authorize(t.Context(), query, testAddress)
		var redirect *httpapi.RedirectError
		if !errors.As(err, &redirect) {
			t.Errorf("%s: %v", query, err)
			continue
		}
		answer, err := url.Parse(redirect.Location)
		given, _ := url.ParseQuery(query)
		if q := answer.Query(); err != nil || !strings.HasPrefix(redirect.Location, "https://app.example/cb?x=1&") ||
			q.Get("error") != want || q.Get("state") != given.Get("state") || q.Get("iss") != testIssuer ||
			q.Has("code") ||
			!isDescription(q.Get("error_description")) || redirect.Reason != q.Get("error_description") {
			t.Errorf("%s: %s, want %s", query, redirect.Location, want)
		}
	}
}

func TestAuthorizeTellsThePersonOfOtherFaults(t *testing.T) {
	t.Parallel()
	s, _, _ := newTestServer(t)
	for _, query := range []string{"", "%zz", "a=b;c=d", authorizeQuery("client_id", ""),
		authorizeQuery("client_id", "other"),
		authorizeQuery("client_id", "https://a.example/client.json"), authorizeQuery("redirect_uri", ""),
		authorizeQuery("redirect_uri", "https://evil.example/cb"), authorizeQuery() + "&state=t",
		authorizeQuery() + "&client_id=client", authorizeQuery("redirect_uri", "") + "&redirect_uri=", "request=x.y",
		"request=", "request=a&request=b"} {
		_, _, err := s.Authorize(t.Context(), query, testAddress)
		if !loci.Is(err, loci.CodeInvalidQuery) || strings.Contains(loci.AsError(err).Message, "..") {
			t.Errorf("%s: %v", query, err)
		}
	}
}

func TestBoundRequestIsOfOneSignIn(t *testing.T) {
	t.Parallel()
	s, _, _ := newTestServer(t)
	signed, _, err := s.Authorize(t.Context(), authorizeQuery(), testAddress)
	if err != nil {
		t.Fatal(err)
	}
	bound, _, err := s.Bind(signed, "ann")
	if err != nil {
		t.Fatal(err)
	}
	testenv.Equal(t, testenv.Must(s.Open(bound, "ann"))(t).RedirectHost, "app.example")
	if location, err := s.Deny(bound, "ann"); err != nil || !strings.Contains(location, "error=access_denied") {
		t.Errorf("%s, %v", location, err)
	}
	for request, signIn := range map[string]loci.ID{bound: "bob", signed: "", "x": "ann"} {
		if _, err := s.Open(request, signIn); err == nil {
			t.Errorf("%q opens it", signIn)
		}
		if location, err := s.Deny(request, signIn); err == nil || location != "" {
			t.Errorf("%q denies it", signIn)
		}
		location, err := s.Approve(t.Context(), request, signIn, "ann", httpapi.Reach{})
		if err == nil || location != "" {
			t.Errorf("%q approves it", signIn)
		}
	}
	if _, _, err := s.Bind(bound, "bob"); err == nil {
		t.Error("a bound request is bound again")
	}
}

// callEndpoint posts a body.
func callEndpoint(h http.Handler, path, kind, body string) *httptest.ResponseRecorder {
	r, w := httptest.NewRequest("POST", path, strings.NewReader(body)), httptest.NewRecorder()
	r.Header.Set("Content-Type", kind)
	h.ServeHTTP(w, r)
	return w
}

func TestEndpointsRefuseInOneShape(t *testing.T) {
	t.Parallel()
	_, _, h := newTestServer(t)
	const form = "application/x-www-form-urlencoded"
	for _, c := range []struct {
		path, kind, body string
		status           int
		code             string
	}{
		{"/oauth/token", "application/json", `{}`, 400, codeInvalidRequest},
		{"/oauth/token", form, ``, 400, codeInvalidRequest},
		{"/oauth/token", form, `grant_type=password`, 400, codeInvalidRequest},
		{"/oauth/token", form, `grant_type=password&client_id=client`, 400, codeUnsupportedGrant},
		{"/oauth/token", form, `grant_type=password&client_id=x`, 401, codeInvalidClient},
		{"/oauth/token", form, `grant_type=refresh_token&client_id=x&refresh_token=y`, 401, codeInvalidClient},
		{"/oauth/token", form, `grant_type=refresh_token&client_id=client`, 400, codeInvalidRequest},
		{"/oauth/token", form, `grant_type=refresh_token&client_id=client&refresh_token=`, 400, codeInvalidRequest},
		{"/oauth/token", form, `grant_type=refresh_token&client_id=client&refresh_token=x`, 400, codeInvalidGrant},
		{"/oauth/token", form, `grant_type=refresh_token&client_id=client&refresh_token=x&scope=y`, 400, codeInvalidScope},
		{"/oauth/token", form, `grant_type=authorization_code&client_id=client&code=x`, 400, codeInvalidRequest},
		{"/oauth/token", form, `grant_type=authorization_code&client_id=https://a.example/x&code=x`, 401, codeInvalidClient},
		{"/oauth/token", form, `a=1&a=2&grant_type=refresh_token&client_id=client`, 400, codeInvalidRequest},
		{"/oauth/token", form, `%zz`, 400, codeInvalidRequest},
		{"/oauth/token", form, strings.Repeat("x", maxBody+1), 413, codeInvalidRequest},
		{"/oauth/revoke", form, `client_id=client`, 400, codeInvalidRequest},
		{"/oauth/revoke", form, `token=x`, 400, codeInvalidRequest},
		{"/oauth/revoke", form, `token=x&client_id=y`, 401, codeInvalidClient},
		{"/oauth/register", form, `{}`, 400, codeInvalidMetadata},
		{"/oauth/register", "application/json", `{}`, 400, codeInvalidRedirect},
	} {
		w := callEndpoint(h, c.path, c.kind, c.body)
		var v map[string]string
		if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil || w.Code != c.status || v["error"] != c.code ||
			!isDescription(v["error_description"]) || len(v) != 2 || w.Header().Get("Cache-Control") != "no-store" ||
			w.Header().Get("Pragma") != "no-cache" || w.Header().Get("WWW-Authenticate") != "" ||
			w.Header().Get("X-Request-Id") == "" {
			t.Errorf("%s %.80s: %d %v %s", c.path, c.body, w.Code, w.Header(), w.Body)
		}
	}
	if w := callEndpoint(h, "/oauth/token", form, strings.Repeat("x", maxBody+1)); !strings.Contains(w.Body.String(),
		"larger than 64 KiB") {
		t.Errorf("a large form: %s", w.Body)
	}
	for _, body := range []string{"token=made-up&client_id=client", "token=x&token_type_hint=y&client_id=client"} {
		if w := callEndpoint(h, "/oauth/revoke", form+"; charset=utf-8", body); w.Code != 200 {
			t.Errorf("%s: %d %s", body, w.Code, w.Body)
		}
	}
}

func FuzzAuthorizeQuery(f *testing.F) {
	s, _, _ := newTestServer(f)
	for _, query := range []string{authorizeQuery(), authorizeQuery("scope", "x"), authorizeQuery("redirect_uri", "x"),
		authorizeQuery("state", "\x00\xff&="), authorizeQuery("resource", testIssuer+"/mcp/?toolset=core"),
		"request=a.b"} {
		f.Add(query)
	}
	f.Fuzz(func(t *testing.T, query string) {
		signed, _, err := s.Authorize(t.Context(), query, testAddress)
		params, parseErr := url.ParseQuery(query)
		var redirect *httpapi.RedirectError
		switch {
		case err == nil:
			r, err := s.signer.open(signed, "")
			if err != nil || r.RedirectURI != params.Get("redirect_uri") || string(r.State) != params.Get("state") ||
				r.Challenge != params.Get("code_challenge") || params.Get("code_challenge_method") != "S256" {
				t.Errorf("%q: %+v, %v", query, r, err)
			}
		case errors.As(err, &redirect):
			answer, err := url.Parse(redirect.Location)
			if err != nil || parseErr != nil || !strings.HasPrefix(redirect.Location, params.Get("redirect_uri")) ||
				answer.Host != "app.example" && answer.Hostname() != "127.0.0.1" ||
				answer.Query().Get("state") != params.Get("state") || answer.Query().Get("iss") != testIssuer {
				t.Errorf("%q leads to %s", query, redirect.Location)
			}
		case loci.AsError(err).Code.Status() >= 500:
			t.Errorf("%q: %v", query, err)
		}
	})
}

func FuzzForm(f *testing.F) {
	_, _, h := newTestServer(f)
	for _, body := range []string{"grant_type=refresh_token&client_id=client&refresh_token=x&resource=",
		"grant_type=authorization_code&client_id=client&code=x&redirect_uri=y&code_verifier=z",
		"token=x&client_id=client",
		"a=1&a=2", "%"} {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		for _, path := range []string{"/oauth/token", "/oauth/revoke"} {
			w := callEndpoint(h, path, "application/x-www-form-urlencoded", body)
			var v map[string]any
			if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil || w.Header().Get("Cache-Control") != "no-store" {
				t.Fatalf("%q: %d %s", body, w.Code, w.Body)
			}
			switch code, _ := v["error"].(string); {
			case w.Code == 200 && path == "/oauth/revoke" && len(v) == 0:
			case w.Code == 401 && code == codeInvalidClient, (w.Code == 400 || w.Code == 413) && code != "":
			default:
				t.Errorf("%s %q: %d %s", path, body, w.Code, w.Body)
			}
		}
	})
}

func TestNewRefusesAnAddressWithAPath(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"", "https://loci.example.org/", "https://loci.example.org/x", "/x"} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%q is an issuer", address)
				}
			}()
			New(Options{PublicURL: address})
		}()
	}
}

// A loggedCaller is a client whose calls are logged.
type loggedCaller struct {
	t       *testing.T
	server  *Server
	handler http.Handler
	client  string
	log     logtest.Buffer
	user    loci.ID
	team    loci.ID
	secrets []string // every code, token and verifier of the run
}

// A loggedAnswer is the answer to a call, with the grant of its line in the log.
type loggedAnswer struct {
	Access  string `json:"access_token"`
	Refresh string `json:"refresh_token"`
	grant   string
}

func newLoggedCaller(t *testing.T, clock loci.Clock) *loggedCaller {
	c := &loggedCaller{t: t}
	c.server, c.client, c.handler = newTestServerAt(t, clock)
	c.server.Host = &op.Host{Log: slog.New(slog.NewTextHandler(&c.log, nil))}
	ann := storetest.User(t, c.server.Store, "ann")
	c.user, c.team = ann.UserID, storetest.Team(t, c.server.Store, ann, nil)
	return c
}

// call calls an endpoint, and checks the status and the user of its line in the log.
func (c *loggedCaller) call(path, status string, form url.Values) (a loggedAnswer) {
	c.t.Helper()
	form.Set("client_id", c.client)
	w := callEndpoint(c.handler, path, "application/x-www-form-urlencoded", form.Encode())
	testenv.NoError(c.t, json.Unmarshal(w.Body.Bytes(), &a))
	lines := strings.Split(strings.TrimSpace(c.log.String()), "\n")
	line := lines[len(lines)-1]
	for _, text := range []string{"op=oauth." + strings.TrimPrefix(path, "/oauth/"), "status=" + status,
		"user=" + string(c.user)} {
		testenv.Contains(c.t, line, text, "no")
	}
	_, after, _ := strings.Cut(line, "credential=")
	a.grant, _, _ = strings.Cut(after, " ")
	c.secrets = append(c.secrets, a.Access, a.Refresh)
	return a
}

// code returns the form that redeems a new code.
func (c *loggedCaller) code() url.Values {
	c.t.Helper()
	consent, r := storetest.Consent(c.user, storetest.SignIn(c.t, c.server.Store, c.user), c.client, c.team)
	consent.Resource = c.server.resource
	code := testenv.Must(storetest.Authorize(c.server.Store, consent))(c.t)
	c.secrets = append(c.secrets, code, r.Verifier)
	return url.Values{"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {r.RedirectURI},
		"code_verifier": {r.Verifier}}
}

func (c *loggedCaller) refresh(token, status string) loggedAnswer {
	c.t.Helper()
	return c.call("/oauth/token", status, url.Values{"grant_type": {"refresh_token"}, "refresh_token": {token}})
}

// TestCallsAreLoggedWithUserAndGrant checks that the log says whose grant a call used or ended, refused ones too, and
// that it holds no code, token or verifier.
func TestCallsAreLoggedWithUserAndGrant(t *testing.T) {
	t.Parallel()
	var offset atomic.Int64
	c := newLoggedCaller(t, func() time.Time { return time.Now().Add(time.Duration(offset.Load())) })
	same := func(what string, first, second loggedAnswer) {
		t.Helper()
		if !loci.ID(first.grant).Valid() || first.grant != second.grant {
			t.Errorf("%s is logged as of grant %s, want %s", what, second.grant, first.grant)
		}
	}

	form := c.code()
	first := c.call("/oauth/token", "200", form)
	same("a refresh", first, c.refresh(first.Refresh, "200"))
	same("the second use of a code", first, c.call("/oauth/token", "400", form))

	first = c.call("/oauth/token", "200", c.code())
	same("a revocation", first, c.call("/oauth/revoke", "200", url.Values{"token": {first.Access}}))

	first = c.call("/oauth/token", "200", c.code())
	c.refresh(first.Refresh, "200")
	offset.Store(int64(3 * time.Minute))
	same("a stolen token", first, c.refresh(first.Refresh, "400"))

	form = c.code()
	form.Set("code_verifier", identity.NewSecret())
	testenv.Equal(t, c.call("/oauth/token", "400", form).grant, `""`, "a refused code has the grant")
	for _, secret := range c.secrets {
		if secret != "" && strings.Contains(c.log.String(), secret) {
			t.Error("the log holds a secret")
		}
	}
}
