package cli

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/cli/console"
	"github.com/loci-memory/loci/internal/cli/profile"
	"github.com/loci-memory/loci/internal/testenv"
)

func TestResolveTargetFollowsPrecedence(t *testing.T) {
	t.Parallel()
	const a, b = "https://a.example.org", "https://b.example.org"
	login := &profile.Login{URL: a, Key: "stored"}
	for name, c := range map[string]struct {
		args     []string
		environ  []string
		login    *profile.Login
		url, key string
		why      string
	}{
		"nothing": {why: "no --server"},
		"a login": {login: login, url: a, key: "stored", why: "the login"},
		"a variable before a login": {environ: []string{"LOCI_URL=" + b, "LOCI_API_KEY=env"}, login: login, url: b,
			key: "env", why: "LOCI_URL"},
		"a flag before a variable": {args: []string{"--server", "https://c.example.org"},
			environ: []string{"LOCI_URL=" + b, "LOCI_API_KEY=env"}, login: login, url: "https://c.example.org",
			why: "--server"},
		"local before all": {args: []string{"--local"}, environ: []string{"LOCI_URL=" + b}, login: login,
			why: "--local"},
		"a flag with the login's key": {args: []string{"--server", a + "/"}, login: login, url: a + "/", key: "stored",
			why: "--server"},
		"a flag with the default port": {args: []string{"--server", "HTTPS://A.example.org:443"}, login: login,
			url: "HTTPS://A.example.org:443", key: "stored", why: "--server"},
		"a flag with another port": {args: []string{"--server", a + ":80"}, login: login, url: a + ":80",
			why: "--server"},
		"a flag with the only key": {args: []string{"--server", b}, environ: []string{"LOCI_API_KEY=env"}, url: b,
			key: "env", why: "--server"},
		"a variable without a key": {environ: []string{"LOCI_URL=" + b}, login: login, url: b, why: "LOCI_URL"},
		"a variable of the login": {environ: []string{"LOCI_URL=" + a}, login: login, url: a, key: "stored",
			why: "LOCI_URL"},
		"a key and this device": {args: []string{"--local"}, environ: []string{"LOCI_API_KEY=env"}, login: login,
			why: "--local"},
		"a key keeps to its own place": {args: []string{"--server", a},
			environ: []string{"LOCI_URL=" + b, "LOCI_API_KEY=env"}, url: a, why: "--server"},
	} {
		d := newTestTerminal(t, c.environ...)
		if c.login != nil {
			if _, _, err := d.profile().Save(t.Context(), *c.login); err != nil {
				t.Fatal(err)
			}
		}
		testenv.NoError(t, d.root().ParseFlags(c.args))
		got, err := d.resolveTarget()
		if err != nil || got.url != c.url || got.key != c.key || !strings.Contains(got.reason, c.why) ||
			(got.url == "") != (got.dir != "") {
			t.Errorf("%s: %+v %v", name, got, err)
		}
	}
}

func TestResolveTargetRejectsKeyWithoutServer(t *testing.T) {
	t.Parallel()
	d := newTestTerminal(t, "LOCI_API_KEY=loci_live_alone")
	for _, login := range []bool{false, true} {
		if login {
			stored := profile.Login{URL: "https://a.example.org", Key: "stored"}
			if _, _, err := d.profile().Save(t.Context(), stored); err != nil {
				t.Fatal(err)
			}
		}
		for _, args := range [][]string{{"memory", "list"}, {"mcp"}} {
			if code := d.run(args...); code != 1 || d.openCount != 0 ||
				!strings.Contains(d.err.String(), "set LOCI_URL") {
				t.Errorf("%v: %d %s", args, code, d.err.String())
			}
		}
		code := d.run("doctor")
		if got := d.out.String(); code != 1 || !strings.Contains(got, "key       BROKEN") ||
			!strings.Contains(got, "set LOCI_URL") || strings.Contains(got, "loci_live") {
			t.Errorf("%d %s", code, got)
		}
	}
	d.expectRun(t, 0, "", "memory", "list", "--local")
}

func TestLocalDirFollowsXDGAndIsPrivate(t *testing.T) {
	t.Parallel()
	d := newTestTerminal(t)
	for data, want := range map[string]string{"": filepath.Join(d.home, ".local/share/loci/local"),
		"relative": filepath.Join(d.home, ".local/share/loci/local"), "/data": "/data/loci/local"} {
		p := &program{Console: console.Console{Environ: append(d.Environ, "XDG_DATA_HOME="+data)}}
		if got, err := p.resolveTarget(); err != nil || got.dir != want {
			t.Errorf("%q: %s %v", data, got.dir, err)
		}
	}
	if code := d.run("memory", "list"); code != 0 || d.openCount != 1 {
		t.Fatal(code, d.err.String())
	}
	for _, dir := range []string{".local/share/loci", ".local/share/loci/local"} {
		if info, err := os.Stat(filepath.Join(d.home, dir)); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v %v", dir, info, err)
		}
	}
	open := filepath.Join(d.home, "open")
	testenv.NoError(t, errors.Join(os.Mkdir(open, 0o755), ensurePrivateDir(open)))
	if info, _ := os.Stat(open); info.Mode().Perm() != 0o700 {
		t.Errorf("an open folder stays open: %v", info.Mode())
	}
}

func TestLocalDirIsNeverRelative(t *testing.T) {
	t.Parallel()
	d := newTestTerminal(t)
	for _, environ := range [][]string{nil, {"HOME="}, {"HOME=here"},
		{"HOME=here", "XDG_DATA_HOME=there", "XDG_CONFIG_HOME=there"}} {
		d.Environ = environ
		got, err := d.resolveTarget()
		if (err == nil) != filepath.IsAbs(got.dir) || d.profile().Path != "" && !filepath.IsAbs(d.profile().Path) {
			t.Errorf("%v: %+v, %v, %q", environ, got, err, d.profile().Path)
		}
	}
	if err := (target{}).requireDir(); !loci.Is(err, loci.CodeInvalidQuery) ||
		!strings.Contains(err.Error(), "set HOME") {
		t.Error(err)
	}
}

func TestLoginWithoutKeyPrintsHint(t *testing.T) {
	t.Parallel()
	d := newTestTerminal(t)
	d.expectRun(t, 2, "then: loci login https://loci.example.org --key -", "login", "https://loci.example.org", "--key",
		"-")
	d.expectRun(t, 1, "--plain-http", "login", "http://loci.example.org", "--key", "k")
}

func TestLoginStoresKeyInKeyring(t *testing.T) {
	t.Parallel()
	d := newTestTerminal(t)
	held := map[string]string{}
	d.keyring = &profile.Keyring{
		Set: func(service, user, secret string) error { held[service+" "+user] = secret; return nil },
		Get: func(service, user string) (string, error) {
			if s, ok := held[service+" "+user]; ok {
				return s, nil
			}
			return "", errors.New("locked")
		},
		Delete: func(service, user string) error { delete(held, service+" "+user); return nil },
	}
	server := newFakeServer(t, d.service)
	if code := d.run("login", server.URL, "--key", fakeKey); code != 0 || held["loci "+server.URL] != fakeKey {
		t.Fatalf("%d %v %s", code, held, d.err.String())
	}
	if b, err := os.ReadFile(d.profile().Path); err != nil || strings.Contains(string(b), fakeKey) {
		t.Errorf("%s %v", b, err)
	}
	d.expectRun(t, 0, "ada@example.org", "account", "me")
	taken := held["loci "+server.URL]
	delete(held, "loci "+server.URL)
	d.expectRun(t, 1, "keyring", "account", "me")
	held["loci "+server.URL] = taken
	second := newFakeServer(t, d.service)
	if code := d.run("login", second.URL, "--key", fakeKey); code != 0 || len(held) != 1 ||
		held["loci "+second.URL] != fakeKey {
		t.Errorf("a second login: %d %v %s", code, held, d.err.String())
	}
	if code := d.run("logout"); code != 0 || len(held) != 0 {
		t.Errorf("%d %v", code, held)
	}
}

func TestDamagedLoginIsReportedAndRemoved(t *testing.T) {
	t.Parallel()
	d := newTestTerminal(t)
	path := d.profile().Path
	testenv.NoError(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte("{"), 0o600)))
	if _, err := d.resolveTarget(); !loci.Is(err, loci.CodeInvalidQuery) {
		t.Errorf("%v", err)
	}
	d.expectRun(t, 1, "BROKEN", "doctor")
	d.expectRun(t, 0, "", "logout")
	if _, err := d.resolveTarget(); err != nil {
		t.Error(err)
	}
}
