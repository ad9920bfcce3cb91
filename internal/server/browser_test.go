package server

import (
	"context"
	"html"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/logtest"
)

// A browser opens pages and sends their forms. It reaches the test's server under the name of another address.
type browser struct {
	t      *testing.T
	base   string
	origin string // of the page that sends forms
	client *http.Client
}

// newBrowser returns a browser with host in its address bar.
func newBrowser(t *testing.T, address, host string) *browser {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	dialer := &net.Dialer{}
	transport := &http.Transport{DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return dialer.DialContext(ctx, network, u.Host)
	}}
	t.Cleanup(transport.CloseIdleConnections)
	base := "http://" + host + ":" + u.Port()
	return &browser{t, base, base, &http.Client{Jar: jar, Transport: transport}}
}

func (b *browser) do(r *http.Request) (status int, path, text string) {
	b.t.Helper()
	r.Header.Set("Accept", "text/html")
	res, err := b.client.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return res.StatusCode, res.Request.URL.RequestURI(), html.UnescapeString(string(raw))
}

func (b *browser) get(path string) (status int, at, text string) {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), http.MethodGet, b.base+path, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	return b.do(r)
}

// postForm sends a form as a browser without Sec-Fetch-Site does.
func (b *browser) postForm(path string, fields ...string) (status int, at, text string) {
	b.t.Helper()
	f := url.Values{}
	for i := 0; i < len(fields); i += 2 {
		f.Set(fields[i], fields[i+1])
	}
	r, err := http.NewRequestWithContext(b.t.Context(), http.MethodPost, b.base+path, strings.NewReader(f.Encode()))
	if err != nil {
		b.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Origin", b.origin)
	return b.do(r)
}

// cookie returns the name of the browser's one cookie.
func (b *browser) cookie() string {
	b.t.Helper()
	u, err := url.Parse(b.base)
	if err != nil {
		b.t.Fatal(err)
	}
	var names []string
	for _, c := range b.client.Jar.Cookies(u) {
		names = append(names, c.Name)
	}
	return strings.Join(names, " ")
}

var shownKey = regexp.MustCompile(`loci_live_[0-9A-Za-z]{43}`)

const password = "correct horse battery"

// setupToken returns the token of the link that a server has printed.
func setupToken(t *testing.T, out *logtest.Buffer) string {
	t.Helper()
	m := regexp.MustCompile(`/setup\?token=(\S+)`).FindStringSubmatch(out.String())
	if m == nil {
		t.Fatal("no setup link: ", out)
	}
	return m[1]
}

// startOnNetwork runs a server that listens on all addresses.
func startOnNetwork(t *testing.T) (string, *logtest.Buffer) {
	t.Helper()
	address, out, _, _ := start(t, map[string]string{"listen": "0.0.0.0:0"})
	return strings.Replace(address, "0.0.0.0", "127.0.0.1", 1), out
}

// A person opens the setup link from another machine, over plain http.
func TestSetupOverNetworkCreatesWorkingKey(t *testing.T) {
	t.Parallel()
	address, out := startOnNetwork(t)
	if !strings.Contains(out.String(), "Warning: passwords, cookies and keys travel over plain http") {
		t.Errorf("no warning: %s", out)
	}
	token := setupToken(t, out)
	b := newBrowser(t, address, "192.168.1.5")
	if status, _, text := b.get("/setup?token=" + token + "x"); status != 404 ||
		!strings.Contains(text, "does not work") {
		t.Errorf("a wrong token: %d %s", status, text)
	}
	foreign := newBrowser(t, address, "192.168.1.5")
	foreign.origin = "http://evil.example"
	if status, _, _ := foreign.postForm("/setup", "token", token, "email", "eve@example.com", "password",
		password); status != 403 {
		t.Errorf("a page of another origin: %d", status)
	}
	if status, _, text := b.get("/setup?token=" + token); status != 200 || !strings.Contains(text, "not encrypted") {
		t.Fatalf("the page: %d %s", status, text)
	}
	fields := []string{"token", token, "email", "ann@example.com", "name", "", "password", "short"}
	if status, _, text := b.postForm("/setup", fields...); status != 400 ||
		!strings.Contains(text, `value="ann@example.com"`) || !strings.Contains(text, "Password must have at least 10 characters.") {
		t.Fatalf("a short password: %d %s", status, text)
	}
	fields[7] = password
	status, _, text := b.postForm("/setup", fields...)
	key := shownKey.FindString(text)
	if status != 200 || key == "" || !strings.Contains(text, "loci login "+b.base+" --key - --plain-http") ||
		!strings.Contains(text, "loci setup claude") {
		t.Fatalf("the account: %d %s", status, text)
	}
	if strings.Contains(text, "shown once") || !strings.Contains(text, "reload this page in this browser to see") {
		t.Errorf("the page does not say what a reload does: %s", text)
	}
	if got := b.cookie(); got != "loci_session" {
		t.Errorf("the browser keeps %q", got)
	}
	if status, v := callAPI(t, "GET", address+"/v1/me", key, ""); status != 200 {
		t.Errorf("the key: %d %v", status, v)
	}
	if status, _, text := b.postForm("/setup", fields...); status != 200 || shownKey.FindString(text) != key {
		t.Errorf("a reload shows another key than %s: %d %s", key, status, text)
	}
	if status, at, text := b.postForm("/setup", "token", token+"x"); status != 200 || at != "/app" ||
		shownKey.MatchString(text) {
		t.Errorf("another token: %d %s %s", status, at, text)
	}
	if status, at, text := b.get("/setup?token=" + token); status != 200 || at != "/app" ||
		!strings.Contains(text, "Search memories") {
		t.Errorf("the link, when all is done: %d %s %s", status, at, text)
	}
	if _, v := callAPI(t, "GET", address+"/v1/api-keys", key, ""); len(v["keys"].([]any)) != 1 {
		t.Errorf("a reload has made keys: %v", v)
	}
	other := newBrowser(t, address, "192.168.1.5")
	if status, _, text := other.postForm("/setup", fields...); status != 404 ||
		!strings.Contains(text, `href="/signin"`) {
		t.Errorf("another browser: %d %s", status, text)
	}
}

func TestHomePageCreatesKey(t *testing.T) {
	t.Parallel()
	address, out, _, _ := start(t, nil)
	token := setupToken(t, out)
	first := newBrowser(t, address, "127.0.0.1")
	if status, _, text := first.postForm("/setup", "token", token, "email", "ann@example.com", "password",
		password); status != 200 || !strings.Contains(text, "loci login "+address+" --key -\n") &&
		!strings.Contains(text, "loci login "+address+" --key -<") {
		t.Fatalf("%d %s", status, text)
	}
	b := newBrowser(t, address, "localhost")
	if _, at, text := b.postForm("/key", "name", "laptop", "idempotencyKey", "1"); at != "/signin?next=%2F" ||
		shownKey.MatchString(text) {
		t.Errorf("a stranger gets to %s: %s", at, text)
	}
	if status, _, text := b.postForm("/signin", "email", "ann@example.com", "password", "wrong"); status != 401 ||
		!strings.Contains(text, "wrong") || strings.Contains(text, "Authorization") {
		t.Errorf("a wrong password: %d %s", status, text)
	}
	status, at, text := b.postForm("/signin", "email", "ann@example.com", "password", password, "next",
		"https://evil.example/")
	if status != 200 || at != "/app" || !strings.Contains(text, "ann@example.com") {
		t.Fatalf("sign-in: %d %s %s", status, at, text)
	}
	_, _, text = b.postForm("/key", "name", "laptop", "idempotencyKey", "1")
	_, _, again := b.postForm("/key", "name", "laptop", "idempotencyKey", "1")
	_, _, another := b.postForm("/key", "name", "laptop", "idempotencyKey", "2")
	key := shownKey.FindString(text)
	if key == "" || shownKey.FindString(again) != key || shownKey.FindString(another) == key {
		t.Errorf("keys %q, %q, %q", key, shownKey.FindString(again), shownKey.FindString(another))
	}
	if status, _, _ := b.postForm("/key", "name", "", "idempotencyKey", ""); status != 400 {
		t.Errorf("no idempotency key: %d", status)
	}
	if _, at, text := b.postForm("/signout", "idempotencyKey", "3"); at != "/signin?next=%2Fapp" ||
		strings.Contains(text, "ann@example.com") {
		t.Errorf("sign-out: %s %s", at, text)
	}
	if _, at, text := b.get("/"); at != "/signin?next=%2Fapp" {
		t.Errorf("still signed in: %s", text)
	}
}

func TestConsoleCanBeSwitchedOff(t *testing.T) {
	t.Parallel()
	address, _, _, _ := start(t, map[string]string{"console": "off"})
	b := newBrowser(t, address, "127.0.0.1")
	if status, at, _ := b.get("/"); status != 200 || at != "/" {
		t.Errorf("the start page: %d at %s", status, at)
	}
	for _, path := range []string{"/app", "/app/memories", "/app/connect"} {
		if status, _, _ := b.get(path); status != 404 {
			t.Errorf("%s: %d", path, status)
		}
	}
}
