package oauthclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/oauthclient/oauthtest"
	"github.com/loci-memory/loci/internal/testenv"
)

// signIn runs the whole sign-in. visit stands for the browser.
func signIn(t *testing.T, s *oauthtest.Server, visit func(in *SignIn)) (Client, Tokens, error) {
	t.Helper()
	server, err := Discover(t.Context(), s.URL+"/")
	if err != nil {
		return Client{}, Tokens{}, err
	}
	c, err := server.Register(t.Context(), "Loci on a test")
	if err != nil {
		return Client{}, Tokens{}, err
	}
	in := testenv.Must(server.Start(c, true))(t)
	defer in.Close()
	go visit(in)
	tokens, err := in.Wait(t.Context())
	return c, tokens, err
}

// register registers a client at a server.
func register(t *testing.T, s *oauthtest.Server) (Server, Client) {
	t.Helper()
	server := testenv.Must(Discover(t.Context(), s.URL))(t)
	c := testenv.Must(server.Register(t.Context(), "Loci on a test"))(t)
	return server, c
}

// browse opens an address and returns the status and text of the page at its end.
func browse(address string) (int, string, http.Header) {
	res, err := testenv.Client.Get(address)
	if err != nil {
		return 0, err.Error(), nil
	}
	defer res.Body.Close()
	text, _ := io.ReadAll(res.Body)
	return res.StatusCode, string(text), res.Header
}

func visitPage(in *SignIn) { browse(in.Address()) }

func TestSignInReturnsTokensAndTellsBrowser(t *testing.T) {
	t.Parallel()
	s := oauthtest.New(t)
	page := make(chan string, 1)
	c, tokens, err := signIn(t, s, func(in *SignIn) {
		status, text, header := browse(in.Address())
		if status != 200 || header.Get("Cache-Control") != "no-store" ||
			!strings.HasPrefix(header.Get("Content-Security-Policy"), "default-src 'none'") {
			t.Errorf("%d %v", status, header)
		}
		page <- text
	})
	if err != nil || !s.Accepts(tokens.Access) || tokens.Refresh == "" || !tokens.Account || c.Issuer != s.URL ||
		time.Until(tokens.ExpiresAt) < 59*time.Minute || time.Until(tokens.ExpiresAt) > time.Hour {
		t.Fatalf("%+v %v", tokens, err)
	}
	if text := <-page; !strings.Contains(text, "You may close this window") || strings.Contains(text, "code-") {
		t.Error(text)
	}
	renewed, err := c.Refresh(t.Context(), tokens.Refresh)
	if err != nil || renewed.Access == tokens.Access || !s.Accepts(renewed.Access) {
		t.Errorf("%+v %v", renewed, err)
	}
	if err := c.Revoke(t.Context(), renewed.Refresh); err != nil || s.Accepts(renewed.Access) {
		t.Errorf("after revocation: %v", err)
	}
	if _, err := c.Refresh(t.Context(), renewed.Refresh); !errors.Is(err, ErrEnded) {
		t.Error(err)
	}
}

func TestSignInReportsFaultsOfServer(t *testing.T) {
	t.Parallel()
	status := func(code int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(code)
			_, _ = io.WriteString(w, body)
		}
	}
	const resource, metadata = resourcePath, serverPath
	set := func(name string, value any) func(*oauthtest.Server) {
		return func(s *oauthtest.Server) { s.Metadata = func(d map[string]any) { d[name] = value } }
	}
	add := func(name, text string) func(*oauthtest.Server) {
		return func(s *oauthtest.Server) {
			s.Metadata = func(d map[string]any) { d[name] = d[name].(string) + text }
		}
	}
	fail := func(path string, h http.HandlerFunc) func(*oauthtest.Server) {
		return func(s *oauthtest.Server) { s.Fail(path, h) }
	}
	answer := func(changes ...string) func(*oauthtest.Server) {
		return func(s *oauthtest.Server) {
			s.Redirect = func(a url.Values) {
				for i := 0; i < len(changes); i += 2 {
					a.Del(changes[i])
					if changes[i+1] != "" {
						a.Set(changes[i], changes[i+1])
					}
				}
			}
		}
	}
	token := func(fields map[string]any) func(*oauthtest.Server) {
		whole := map[string]any{"access_token": "a", "refresh_token": "r", "token_type": "Bearer", "expires_in": 60}
		for name, value := range fields {
			whole[name] = value
		}
		return fail("/oauth/token", func(w http.ResponseWriter, _ *http.Request) { oauthtest.Reply(w, 200, whole) })
	}
	for name, c := range map[string]struct {
		fault func(*oauthtest.Server)
		want  string
	}{
		"no document":         {fail(resource, status(404, "no")), "has no sign-in by browser"},
		"a page":              {fail(resource, status(200, "<html>")), "not the expected JSON"},
		"an endless document": {fail(metadata, status(200, strings.Repeat(" ", MaxResponse+1))), "more than 64 KiB"},
		"a redirect": {fail(resource, http.RedirectHandler("/elsewhere", http.StatusFound).ServeHTTP),
			"answered 302"},
		"a failing document":  {fail(metadata, status(500, "")), "answered 500"},
		"no server metadata":  {fail(metadata, status(404, "")), "has no sign-in by browser"},
		"a foreign issuer":    {set("issuer", "https://evil.example"), "another issuer"},
		"a foreign token":     {set("token_endpoint", "https://evil.example/oauth/token"), "on another host"},
		"a foreign page":      {set("authorization_endpoint", "https://evil.example/a"), "on another host"},
		"no registration":     {set("registration_endpoint", ""), "on another host"},
		"an endpoint's query": {add("revocation_endpoint", "?a=b"), "on another host"},
		"a page of controls":  {add("authorization_endpoint", "\u009b31m"), "no address"},
		"no PKCE":             {set("code_challenge_methods_supported", []string{"plain"}), "PKCE"},
		"no iss":              {set("authorization_response_iss_parameter_supported", false), "RFC 9207"},
		"metadata of a type":  {set("issuer", 7), "not the expected JSON"},
		"a refused client": {fail("/oauth/register", status(400, `{"error":"invalid_client_metadata"}`)),
			"invalid_client_metadata"},
		"a client without id":  {fail("/oauth/register", status(201, `{}`)), "no client_id"},
		"too many clients":     {fail("/oauth/register", status(429, "")), "rate_limited"},
		"wrong iss":            {answer("iss", "https://evil.example"), "another server"},
		"no iss in the answer": {answer("iss", ""), "another server"},
		"denied":               {answer("code", "", "error", "access_denied"), "denied in the browser"},
		"a refused scope": {answer("code", "", "error", "invalid_scope", "error_description", "a\x1b\nb"),
			"refused the sign-in: invalid_scope (a\x1b b); try again: loci login"},
		"no code":             {answer("code", ""), "without a code"},
		"an unknown code":     {answer("code", "another"), "invalid_grant"},
		"a lost code":         {fail("/oauth/token", status(502, "")), "answered 502"},
		"garbage for tokens":  {fail("/oauth/token", status(200, "{")), "not the expected JSON"},
		"no refresh token":    {token(map[string]any{"refresh_token": ""}), "no refresh token"},
		"no access token":     {token(map[string]any{"access_token": ""}), "no bearer token"},
		"another type":        {token(map[string]any{"token_type": "mac"}), "no bearer token"},
		"a broken token":      {token(map[string]any{"access_token": "a\nb"}), "no bearer token"},
		"another scope":       {token(map[string]any{"scope": "files"}), "lacks the scope"},
		"a token without end": {token(map[string]any{"expires_in": 0}), "when the token ends"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := oauthtest.New(t)
			c.fault(s)
			if name == "an endpoint's query" {
				set("revocation_endpoint", s.URL+"/oauth/revoke?all=1")(s)
			}
			_, _, err := signIn(t, s, visitPage)
			if err == nil || !strings.Contains(err.Error(), c.want) ||
				loci.Is(err, loci.CodeInternalError) || errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%v, want %s", err, c.want)
			}
			if n := s.Count("/oauth/token"); n > 1 {
				t.Errorf("a code was sent %d times", n)
			}
		})
	}
}

func TestDiscoverRejectsServerOfAnotherName(t *testing.T) {
	t.Parallel()
	s := oauthtest.New(t)
	for resource, want := range map[string]string{
		"https://evil.example/mcp": "names itself https://evil.example: use loci login https://evil.example",
		s.URL + "/other":           "names itself", "": "names no resource", s.URL: "names another server",
	} {
		s.Resource = func(d map[string]any) { d["resource"] = resource }
		if _, err := Discover(t.Context(), s.URL); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", resource, err)
		}
	}
	s.Resource = func(d map[string]any) { d["authorization_servers"] = []string{"https://evil.example"} }
	if _, err := Discover(t.Context(), s.URL); err == nil || !strings.Contains(err.Error(), "another server") {
		t.Error(err)
	}
	s.Resource = nil
	testenv.Equal(t, testenv.Must(Discover(t.Context(), strings.Replace(s.URL, "http://", "HTTP://",
		1)+"//"))(t).Issuer, s.URL, "another spelling")
	for _, address := range []string{"", "loci.example.org", "ftp://127.0.0.1", s.URL + "/?a=1",
		"http://a:b@127.0.0.1"} {
		if _, err := Discover(t.Context(), address); !loci.Is(err, loci.CodeInvalidQuery) {
			t.Errorf("%q: %v", address, err)
		}
	}
	s.Close()
	if _, err := Discover(t.Context(), s.URL); !loci.Is(err, loci.CodeUnavailable) ||
		!strings.Contains(err.Error(), "cannot be reached") {
		t.Error(err)
	}
}

func TestIsRegisteredAsksServer(t *testing.T) {
	t.Parallel()
	s := oauthtest.New(t)
	server, c := register(t, s)
	foreign := c
	foreign.Issuer = "https://evil.example"
	for _, one := range []struct {
		client Client
		want   bool
	}{{c, true}, {Client{}, false}, {foreign, false}} {
		testenv.Equal(t, testenv.Must(server.IsRegistered(t.Context(), one.client))(t), one.want, one.client)
	}
	s.Forget()
	if got, err := server.IsRegistered(t.Context(), c); got || err != nil {
		t.Errorf("forgotten: %v %v", got, err)
	}
	s.Fail("/oauth/token", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) })
	if got, err := server.IsRegistered(t.Context(), c); got || err == nil {
		t.Errorf("a broken server: %v %v", got, err)
	}
}

func TestRefreshRepeatsOnlyTemporaryFailures(t *testing.T) {
	t.Parallel()
	refuse := func(status int, code string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { oauthtest.Refuse(w, status, code) }
	}
	for name, c := range map[string]struct {
		fault http.HandlerFunc
		calls int
		ended bool
	}{
		"5xx":         {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) }, refreshTries, false},
		"garbage":     {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<p>") }, refreshTries, false},
		"a broken":    {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, refreshTries, false},
		"a long wait": {longWait, 1, false},
		"a bad form":  {refuse(400, "invalid_request"), 1, false},
		"the end":     {refuse(400, "invalid_grant"), 1, true},
		"no client":   {refuse(401, "invalid_client"), 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := oauthtest.New(t)
			s.Fail("/oauth/token", c.fault)
			_, err := Client{ID: "c", Token: s.URL + "/oauth/token"}.Refresh(t.Context(), "r")
			if got := s.Count("/oauth/token"); err == nil || errors.Is(err, ErrEnded) != c.ended || got != c.calls {
				t.Errorf("%v after %d requests", err, got)
			}
		})
	}
}

func longWait(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Retry-After", "60")
	w.WriteHeader(429)
}

// TestRefreshEndsFarWithinReuseWindow adds up the longest requests and pauses.
func TestRefreshEndsFarWithinReuseWindow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		for try := 1; try < refreshTries; try++ {
			time.Sleep(requestTimeout)
			if !pause(t.Context(), try, maxPause) {
				t.Error("no retry")
			}
		}
		if last := time.Since(began); last > ReuseWindow/2 {
			t.Errorf("the last repetition begins after %v", last)
		}
	})
}
