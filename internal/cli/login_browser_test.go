package cli

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/cli/console"
	"github.com/loci-memory/loci/internal/oauthclient/oauthtest"
	"github.com/loci-memory/loci/internal/testenv"
)

// newOAuthServer serves the fake service to tokens of an authorization server.
func newOAuthServer(t *testing.T, s *fakeService) *oauthtest.Server {
	server, routes := oauthtest.New(t), s.routes()
	server.Fallback = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if server.Accepts(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")) {
			r.Header.Set("Authorization", "Bearer "+fakeKey)
		}
		routes.ServeHTTP(w, r)
	})
	return server
}

// visit opens an address as a browser does.
func visit(_ *console.Console, address string) error {
	go func() {
		if res, err := testenv.Client.Get(address); err == nil {
			_ = res.Body.Close()
		}
	}()
	return nil
}

// expectRun runs a command and checks its exit code and a part of its text.
func (d *testTerminal) expectRun(t *testing.T, want int, text string, args ...string) {
	t.Helper()
	if code := d.run(args...); code != want || !strings.Contains(d.out.String()+d.err.String(), text) {
		t.Errorf("%q: %d %s%s, want %d %s", args, code, d.out.String(), d.err.String(), want, text)
	}
}

// TestAddressOfMCPNamesItsServer takes the address that clients have in their files.
func TestAddressOfMCPNamesItsServer(t *testing.T) {
	t.Parallel()
	d := newTestTerminal(t)
	d.browse = visit
	server := newOAuthServer(t, d.service)
	const want = "Signed in to "
	d.expectRun(t, 0, want+server.URL+" as", "login", server.URL+"/mcp")
	d.expectRun(t, 0, "Rock", "memory", "get", fakeID, "--server", server.URL+"/mcp/")
	d.expectRun(t, 0, want+server.URL+" as", "login", server.URL+"/mcp", "--key", fakeKey)
	d.expectRun(t, 0, "Rock", "memory", "get", fakeID)
	d.Environ = append(d.Environ, "LOCI_URL="+server.URL+"/mcp", "LOCI_API_KEY="+fakeKey)
	d.expectRun(t, 0, "Rock", "memory", "get", fakeID)
}

func TestSecondLoginByBrowserKeepsClientAndEndsFirstGrant(t *testing.T) {
	t.Parallel()
	d := newTestTerminal(t)
	d.browse = visit
	server := newOAuthServer(t, d.service)
	for range 2 {
		d.expectRun(t, 0, `"kind":"token"`, "login", server.URL, "--json")
	}
	if server.Count("/oauth/register") != 1 || len(server.Live()) != 1 {
		t.Errorf("%d clients, grants %q", server.Count("/oauth/register"), server.Live())
	}
	server.Forget()
	d.expectRun(t, 0, "Signed in", "login", server.URL)
	testenv.Equal(t, server.Count("/oauth/register"), 2)
	d.expectRun(t, 0, "The key is stored", "login", server.URL, "--key", fakeKey)
	if left := server.Live(); len(left) != 0 {
		t.Errorf("a key replaces a login whose grant is left: %q", left)
	}
	d.expectRun(t, 0, "ada@example.org", "account", "me")
}

func TestLoginByBrowserFailsWithoutTrace(t *testing.T) {
	t.Parallel()
	refuse := func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(403)
		_, _ = io.WriteString(w, `{"code":"forbidden","message":"Not you."}`)
	}
	for name, c := range map[string]struct {
		prepare func(*testTerminal, *oauthtest.Server)
		want    string
	}{
		"denied": {func(_ *testTerminal, s *oauthtest.Server) {
			s.Redirect = func(a url.Values) { a.Del("code"); a.Set("error", "access_denied") }
		}, "denied in the browser"},
		"a refused token": {func(_ *testTerminal, s *oauthtest.Server) { s.Fail("/v1/me", refuse) }, "Not you"},
		"an older server": {func(_ *testTerminal, s *oauthtest.Server) {
			s.Fail("/.well-known/oauth-authorization-server", http.NotFound)
		}, "loci login http://127.0.0.1"},
		"nobody": {func(d *testTerminal, _ *oauthtest.Server) {
			d.signInTimeout = 50 * time.Millisecond
			d.browse = func(*console.Console, string) error { return nil }
		}, "nobody signed in within 50ms: try again"},
		"no folder": {func(d *testTerminal, _ *oauthtest.Server) {
			_ = os.WriteFile(filepath.Join(d.home, ".config"), nil, 0o600)
		}, "not a directory"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newTestTerminal(t)
			d.browse = visit
			server := newOAuthServer(t, d.service)
			c.prepare(d, server)
			d.expectRun(t, 1, c.want, "login", server.URL)
			if _, err := os.Stat(d.profile().Path); err == nil || len(server.Live()) != 0 {
				t.Errorf("a login or grant is left: %q", server.Live())
			}
		})
	}
	d := newTestTerminal(t)
	d.expectRun(t, 1, "--plain-http", "login", "http://loci.example.org")
	d.expectRun(t, 1, "must be like https://", "login", "loci.example.org")
}

func TestLoginByBrowserTakesPastedAddressAndMissingBrowser(t *testing.T) {
	t.Parallel()
	d := newTestTerminal(t)
	server := newOAuthServer(t, d.service)
	d.browse = func(c *console.Console, address string) error {
		_ = visit(c, address)
		return errors.New("none")
	}
	d.expectRun(t, 0, "Open this address to sign in:", "login", server.URL)
	d.browse = func(*console.Console, string) error { t.Error("--no-browser opens one"); return nil }
	in, lines := io.Pipe()
	address, printed := io.Pipe()
	d.in = in
	go func() {
		text := make([]byte, 4096)
		n, _ := address.Read(text)
		go func() { _, _ = io.Copy(io.Discard, address) }()
		elsewhere := http.Client{Transport: testenv.Transport,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
		_, at, _ := strings.Cut(string(text[:n]), "\n\n")
		at, _, _ = strings.Cut(at, "\n")
		res, err := elsewhere.Get(at)
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = io.WriteString(lines, "\nhttps://evil.example\n"+res.Header.Get("Location")+"\n")
	}()
	p := &program{Console: console.Console{In: in, Out: &d.out, Err: printed, Environ: d.Environ}, deps: d.deps}
	if code := p.run(t.Context(), []string{"login", server.URL, "--no-browser"}); code != 0 {
		t.Errorf("a pasted address: %d", code)
	}
	d.expectRun(t, 0, "ada@example.org", "account", "me")
}

func TestInterruptedLoginByBrowserEnds(t *testing.T) {
	t.Parallel()
	d := newTestTerminal(t)
	server := newOAuthServer(t, d.service)
	ctx, interrupt := context.WithCancel(t.Context())
	d.browse = func(*console.Console, string) error { interrupt(); return nil }
	p := &program{Console: console.Console{In: strings.NewReader(""), Out: &d.out, Err: &d.err, Environ: d.Environ},
		deps: d.deps}
	if code := p.run(ctx, []string{"login", server.URL}); code != exitInterrupted ||
		!strings.Contains(d.err.String(), "interrupted") {
		t.Errorf("%d %s", code, d.err.String())
	}
}
