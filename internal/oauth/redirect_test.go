package oauth

import (
	"bytes"
	"encoding/base64"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/testenv"
)

func TestRedirectsAreCheckedAtRegistration(t *testing.T) {
	t.Parallel()
	for uri, want := range map[string]bool{
		"https://app.example/cb": true, "https://app.example:8443/cb?x=1&y=": true, "https://app.example": true,
		"http://127.0.0.1/cb": true, "http://127.0.0.1:1/cb": true, "http://[::1]:65535/cb": true,
		"http://localhost:8080/": true, "http://LOCALHOST/cb": true, "https://xn--bcher-kva.example/cb": true,
		"cursor://anysphere.cursor-mcp/oauth/callback": true, "com.example.app:/cb": true, "vscode://x.y/z": true,
		"https://93.184.216.34/cb": true, "https://[2606:4700::1111]/cb": true,

		"": false, "not a uri": false, "/cb": false, "//evil.example/cb": false, "https:evil.example/cb": false,
		"https:///cb": false, "https:/evil.example/cb": false, "http:/cb": false, "cursor:cb": false,
		"http://app.example/cb": false, "http://127.0.0.1.evil.example/cb": false, "http://0.0.0.0/cb": false,
		"http://127.0.0.2/cb": false, "http://127.1/cb": false, "http://2130706433/cb": false,
		"http://[::ffff:127.0.0.1]/cb": false, "http://localhost.evil.example/cb": false, "http://localhost./cb": false,
		"https://app.example/cb#": false, "https://app.example/cb#x": false, "https://*.example/cb": false,
		"https://app.example/*": false, "https://user@app.example/cb": false, "https://a:b@app.example/cb": false,
		"https://app.example\\@evil.example/cb": false, "https://app.example /cb": false,
		"https://app.example/c b": false, "https://app.example/\x00": false, "https://app.example/\r\nX: y": false,
		"https://app.example:0/cb": false, "https://app.example:65536/cb": false, "https://app.example:/cb": false,
		"https://app.example:080/cb": false, "https://bücher.example/cb": false, "https://a..b/cb": false,
		"https://ex%61mple.org/cb": false, "https://app.example/%zz": false, "https://[::1/cb": false,
		"javascript:alert(1)": false, "javascript://app.example/%0aalert(1)": false, "JavaScript:/x": false,
		"data:text/html,x": false, "data:/x": false, "file:///etc/passwd": false, "blob:/x": false,
		"vbscript:/x": false, "view-source:/x": false, "intent://x/y": false, "ftp://app.example/x": false,
		"https://app.example/cb?code=1": false, "https://app.example/cb?a=1&state=2": false,
		"https://app.example/cb?%63ode=1":                    false,
		"https://app.example/cb?code=%zz":                    false,
		"https://app.example/cb?a=1;code=2":                  false,
		"https://app.example/" + strings.Repeat("a", maxURI): false,
	} {
		testenv.Equal(t, checkRedirect(uri) == nil, want, uri)
	}
}

func TestRedirectsMatchExactlyButForLoopbackPorts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		registered, given string
		want              bool
	}{
		{"https://app.example/cb", "https://app.example/cb", true},
		{"https://app.example/cb", "https://app.example:443/cb", false},
		{"https://app.example/cb", "https://APP.example/cb", false},
		{"https://app.example/cb", "https://app.example/cb/", false},
		{"https://app.example/cb", "https://app.example/cb?", false},
		{"https://app.example/cb", "https://app.example/cb/../cb", false},
		{"https://app.example/cb", "https://app.example/c%62", false},
		{"https://app.example/cb", "https://app.example/cb#", false},
		{"https://app.example:1/cb", "https://app.example:2/cb", false},
		{"http://127.0.0.1/cb", "http://127.0.0.1:5000/cb", true},
		{"http://127.0.0.1:4000/cb", "http://127.0.0.1:5000/cb", true},
		{"http://127.0.0.1:4000/cb", "http://127.0.0.1/cb", true},
		{"http://127.0.0.1:4000/cb?a=1", "http://127.0.0.1:5000/cb?a=1", true},
		{"http://127.0.0.1:4000/cb", "http://127.0.0.1:5000/cb?a=1", false},
		{"http://127.0.0.1:4000/cb", "http://127.0.0.1:99999/cb", false},
		{"http://127.0.0.1:4000/cb", "http://localhost:4000/cb", false},
		{"http://127.0.0.1:4000/cb", "http://[::1]:4000/cb", false},
		{"http://127.0.0.1:4000/cb", "https://127.0.0.1:4000/cb", false},
		{"https://127.0.0.1:4000/cb", "https://127.0.0.1:5000/cb", false},
		{"http://127.0.0.1:4000/cb", "http://127.0.0.1.evil.example:4000/cb", false},
		{"http://127.0.0.1:4000/cb", "http://x@127.0.0.1:4000/cb", false},
		{"http://127.0.0.1:4000/cb", "http://127.0.0.1:4000@evil.example/cb", false},
		{"http://[::1]:4000/cb", "http://[::1]:5000/cb", true},
		{"http://localhost/cb", "http://localhost:61234/cb", true},
		{"cursor://a:1/cb", "cursor://a:2/cb", false},
		{"cursor://a/cb", "cursor://a/cb", true},
	} {
		testenv.Equal(t, matchesRedirect([]string{"https://other.example/x", c.registered}, c.given), c.want,
			"registered", c.registered, c.given)
	}
	if matchesRedirect(nil, "https://app.example/cb") {
		t.Error("a client without redirects has one")
	}
}

func TestWithParamsAddsToTheQuery(t *testing.T) {
	t.Parallel()
	for uri, want := range map[string]string{
		"https://a.example/cb":      "https://a.example/cb?state=a%26b%3D+%25&iss=x",
		"https://a.example/cb?q=1":  "https://a.example/cb?q=1&state=a%26b%3D+%25&iss=x",
		"cursor://a/cb":             "cursor://a/cb?state=a%26b%3D+%25&iss=x",
		"https://a.example/cb?q=%2": "https://a.example/cb?q=%2&state=a%26b%3D+%25&iss=x",
	} {
		testenv.Equal(t, withParams(uri, "state", "a&b= %", "iss", "x"), want)
	}
}

// FuzzRedirect checks properties of accepted redirects: every reader finds the same host, and an answer leaves it.
func FuzzRedirect(f *testing.F) {
	for _, pair := range [][2]string{{"https://a.example/cb", "https://a.example/cb"},
		{"http://127.0.0.1:1/cb", "http://127.0.0.1:2/cb"}, {"http://[::1]/", "http://[::1]:3/"},
		{"cursor://x/y?z", "cursor://x/y?z"}, {"http://localhost:1", "http://localhost:1@evil.example"},
		{"https://a\\b/", "https:a"}} {
		f.Add(pair[0], pair[1], "code")
	}
	f.Fuzz(func(t *testing.T, registered, given, value string) {
		if !matchesRedirect([]string{registered}, given) {
			return
		}
		a, err := url.Parse(registered)
		if err != nil {
			t.Skip() // it was never registered
		}
		b, err := url.Parse(given)
		if err != nil || b.User != nil || b.Fragment != "" || b.Opaque != "" || a.Hostname() != b.Hostname() ||
			a.Scheme != b.Scheme || a.Path != b.Path || a.RawQuery != b.RawQuery {
			t.Fatalf("%q matches %q", given, registered)
		}
		if a.Port() != b.Port() && (b.Scheme != "http" || !isLoopbackHost(b.Hostname())) {
			t.Errorf("the port of %q differs from %q", given, registered)
		}
		answer, err := url.Parse(withParams(given, "code", value))
		if err != nil || answer.Host != b.Host || answer.Path != b.Path {
			t.Fatalf("the answer goes to %v, %v", answer, err)
		}
		if values, err := url.ParseQuery(answer.RawQuery); err == nil &&
			(len(values["code"]) != 1 || values.Get("code") != value) {
			t.Errorf("the answer has the codes %q", values["code"])
		}
	})
}

// testSigner returns a signer and the control of its clock.
func testSigner(secret string) (s signer, pass func(time.Duration)) {
	now := loci.Time(1_800_000_000_000_000)
	return signer{func() []byte { return []byte(secret) }, func() loci.Time { return now }},
		func(d time.Duration) { now += loci.Time(d.Microseconds()) }
}

func sealed(t *testing.T, s signer, r request) string {
	t.Helper()
	return testenv.Must(s.seal(r))(t)
}

func TestSignedRequestKeepsEveryByte(t *testing.T) {
	t.Parallel()
	s, _ := testSigner("instance")
	want := request{ClientID: "c", ClientName: "Ü <b>", RedirectURI: "cursor://x", Challenge: "ch",
		State: []byte("\x00\xff&=+% \r\n\"")}
	got, err := s.open(sealed(t, s, want), "")
	if err != nil || !bytes.Equal(got.State, want.State) || got.ClientName != want.ClientName ||
		got.RedirectURI != want.RedirectURI || got.Challenge != want.Challenge || got.ClientID != want.ClientID {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestSignedRequestExpires(t *testing.T) {
	t.Parallel()
	s, pass := testSigner("instance")
	text := sealed(t, s, request{ClientID: "c"})
	pass(requestTTL - time.Microsecond)
	testenv.Equal(t, testenv.ErrorOf(s.open(text, "")), nil, "before its end")
	pass(time.Microsecond)
	if _, err := s.open(text, ""); err != errExpired {
		t.Errorf("at its end: %v", err)
	}
}

func TestSignedRequestIsBoundToOneSignIn(t *testing.T) {
	t.Parallel()
	s, _ := testSigner("instance")
	bound := sealed(t, s, request{ClientID: "c", SignIn: "ann"})
	testenv.Equal(t, testenv.ErrorOf(s.open(bound, "ann")), nil)
	for _, other := range []loci.ID{"", "bob", "an"} {
		if _, err := s.open(bound, other); err != errOtherSignIn {
			t.Errorf("%q: %v", other, err)
		}
	}
	if _, err := s.open(sealed(t, s, request{}), "ann"); err != errOtherSignIn {
		t.Errorf("an unbound one: %v", err)
	}
}

func TestSignedRequestCannotBeChanged(t *testing.T) {
	t.Parallel()
	s, _ := testSigner("instance")
	other, _ := testSigner("another instance")
	text := sealed(t, s, request{ClientID: "c"})
	body, signature, _ := strings.Cut(text, ".")
	forged := base64.RawURLEncoding.EncodeToString([]byte(`{"client":"d","expires":9000000000000000}`))
	for name, changed := range map[string]string{"empty": "", "no signature": body, "empty signature": body + ".",
		"other body": forged + "." + signature, "cut": text[:len(text)-1], "longer": text + "A",
		"new line":     text + "\n",
		"other secret": sealed(t, other, request{ClientID: "c"}), "body of nothing": "." + signature,
		"other text": strings.Replace(text, body[:1], "f", 1)} {
		if _, err := s.open(changed, ""); err != errNotSigned {
			t.Errorf("%s: %v", name, err)
		}
	}
}
