package oauth

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/testenv"
)

const credential = "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"

const redirects = `"redirect_uris":["http://127.0.0.1/cb"]`

func TestMetadataIsReplacedByOurs(t *testing.T) {
	t.Parallel()
	m := testenv.Must(parseMetadata([]byte(`{` + redirects + `,"client_name":"  My\u0007 \u202eclient\n\tX\u200b ",` +
		`"client_uri":"https://a.example","logo_uri":"javascript:alert(1)","jwks":{"keys":[]},"scope":"mcp:tools",` +
		`"grant_types":["authorization_code","urn:ietf:params:oauth:grant-type:device_code"],` +
		`"response_types":["code","token"],"token_endpoint_auth_method":"client_secret_basic","Client_Name":"other"}`)))(t)
	got := newRegistration(m.client("id", 1_800_000_000_000_000))
	if got.Name != "My client X" || got.URI != "https://a.example" || got.TokenAuth != "none" || got.Scope != "mcp" ||
		!slices.Equal(got.GrantTypes, []string{"authorization_code", "refresh_token"}) ||
		!slices.Equal(got.ResponseTypes, []string{"code"}) || got.IssuedAt != 1_800_000_000 || got.ID != "id" {
		t.Errorf("%+v", got)
	}
	if text := encode(got); strings.Contains(string(text), "logo") || strings.Contains(string(text), "secret") {
		t.Errorf("%s", text)
	}
}

func TestMetadataIsBounded(t *testing.T) {
	t.Parallel()
	many := `"redirect_uris":[` + strings.TrimSuffix(strings.Repeat(`"https://a.example/cb",`, maxRedirects+1), ",") + `]`
	for body, want := range map[string]string{
		``: codeInvalidMetadata, `[]`: codeInvalidMetadata, `null`: codeInvalidMetadata, `{}`: codeInvalidRedirect,
		`{` + redirects + `} x`: codeInvalidMetadata, `{` + redirects + `,` + redirects + `}`: codeInvalidMetadata,
		`{"redirect_uris":[]}`: codeInvalidRedirect, `{"redirect_uris":"https://a.example"}`: codeInvalidRedirect,
		`{"redirect_uris":[1]}`: codeInvalidRedirect, `{"redirect_uris":null}`: codeInvalidRedirect,
		`{"redirect_uris":["javascript:alert(1)"]}`: codeInvalidRedirect, `{` + many + `}`: codeInvalidRedirect,
		`{` + redirects + `,"grant_types":["password"]}`:                                   codeInvalidMetadata,
		`{` + redirects + `,"grant_types":["refresh_token"]}`:                              codeInvalidMetadata,
		`{` + redirects + `,"grant_types":[]}`:                                             codeInvalidMetadata,
		`{` + redirects + `,"grant_types":"authorization_code"}`:                           codeInvalidMetadata,
		`{` + redirects + `,"response_types":["token"]}`:                                   codeInvalidMetadata,
		`{` + redirects + `,"client_name":5}`:                                              codeInvalidMetadata,
		`{` + redirects + `,"client_name":"` + credential + `"}`:                           codeInvalidMetadata,
		`{` + redirects + `,"client_uri":"https://a.example/?token=` + credential + `"}`:   codeInvalidMetadata,
		`{` + redirects + `,"client_name":"` + strings.Repeat("é", maxClientName+1) + `"}`: codeInvalidMetadata,
		`{` + redirects + `,"client_uri":"javascript:alert(1)"}`:                           codeInvalidMetadata,
		`{` + redirects + `,"client_uri":"//a.example"}`:                                   codeInvalidMetadata,
		`{` + redirects + `,"client_uri":"https://u:p@a.example"}`:                         codeInvalidMetadata,
		`{` + redirects + `,"client_name":"` + "\xff" + `"}`:                               codeInvalidMetadata,
		`{` + redirects + `,"client_name":"\ud800"}`:                                       codeInvalidMetadata,
	} {
		if _, err := parseMetadata([]byte(body)); err == nil || asProtocolError(err, "").code != want {
			t.Errorf("%.80s: %v, want %s", body, err, want)
		}
	}
	testenv.Equal(t, testenv.ErrorOf(parseMetadata([]byte(`{`+redirects+`,"client_name":"`+
		strings.Repeat("é", maxClientName)+`"}`))), nil)
}

// TestMetadataOfRealClients registers what programs sent to another server.
func TestMetadataOfRealClients(t *testing.T) {
	t.Parallel()
	f := testenv.Must(os.Open("testdata/registrations.jsonl"))(t)
	defer f.Close()
	names := []string{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		m := testenv.Must(parseMetadata(lines.Bytes()))(t)
		testenv.Equal(t, len(m.RedirectURIs), 1, lines.Text())
		names = append(names, m.Name)
	}
	if len(names) < 5 || !slices.Contains(names, "Codex") {
		t.Errorf("%q", names)
	}
}

func FuzzMetadata(f *testing.F) {
	f.Add([]byte(`{` + redirects + `,"client_name":"a\u202eb","client_uri":"https://a.example/"}`))
	f.Add([]byte(`{"redirect_uris":["cursor://x/y"],"grant_types":["authorization_code"],"scope":"x"}`))
	f.Add([]byte(`{"redirect_uris":["https://a.example/#"]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		m, err := parseMetadata(body)
		if err != nil {
			if e := asProtocolError(err, ""); e.status != 400 || !isDescription(e.description) {
				t.Errorf("%v", err)
			}
			return
		}
		if !json.Valid(body) || !utf8.Valid(body) || len(m.RedirectURIs) < 1 || len(m.RedirectURIs) > maxRedirects ||
			utf8.RuneCountInString(m.Name) > maxClientName || len(m.URI) > maxURI ||
			strings.TrimSpace(m.Name) != m.Name {
			t.Fatalf("%q: %+v", body, m)
		}
		invisible := func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) }
		if strings.ContainsFunc(m.Name, invisible) {
			t.Errorf("the name is %q", m.Name)
		}
		for _, uri := range m.RedirectURIs {
			if !matchesRedirect(m.RedirectURIs, uri) {
				t.Errorf("%q does not match itself", uri)
			}
		}
	})
}

// isDescription reports whether a text may be an error_description (RFC 6749, section 5.2).
func isDescription(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool {
		return r < ' ' || r > '~' || r == '"' || r == '\\'
	})
}

func TestOnlyPublicAddressesAreDialled(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]bool{
		"93.184.216.34": true, "1.1.1.1": true, "2606:4700:4700::1111": true, "::ffff:1.1.1.1": true,
		"64:ff9b::1.1.1.1": true, "172.32.0.1": true, "100.128.0.1": true,

		"127.0.0.1": false, "127.255.0.1": false, "0.0.0.0": false, "10.1.2.3": false, "172.16.0.1": false,
		"172.31.255.255": false, "192.168.0.1": false, "169.254.169.254": false, "100.64.0.1": false,
		"100.127.255.255": false, "192.0.0.8": false, "192.0.2.1": false, "198.18.0.1": false, "198.51.100.1": false,
		"203.0.113.9": false, "224.0.0.1": false, "239.1.1.1": false, "240.0.0.1": false, "255.255.255.255": false,
		"::": false, "::1": false, "::ffff:127.0.0.1": false, "::ffff:10.0.0.1": false, "::127.0.0.1": false,
		"fe80::1": false, "fc00::1": false, "fd12::1": false, "ff02::1": false, "2001:db8::1": false,
		"2001::1": false, "2002:7f00:1::": false, "2002:0a00:0001::1": false, "64:ff9b::10.0.0.1": false,
		"64:ff9b::169.254.169.254": false, "64:ff9b:1::10.0.0.1": false, "3fff::1": false, "fec0::1": false,
		"2606:4700:4700::1111%eth0": false,
	} {
		testenv.Equal(t, isPublicAddress(netip.MustParseAddr(address)), want, address)
	}
	if isPublicAddress(netip.Addr{}) {
		t.Error("no address is public")
	}
}

// TestEndpointLogsAndCountsCalls checks the fields by which an operator finds a call, and what each level means.
func TestEndpointLogsAndCountsCalls(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err      error
		status   int
		retry    string
		has, not []string
	}{
		{nil, 200, "", []string{"level=INFO msg=call op=oauth.token transport=oauth method=POST request=",
			"user=ann credential=grant-1", "status=200", "us=", `code=""`}, []string{"err="}},
		{errorf(codeInvalidGrant, "A text"), 400, "", []string{"level=INFO", "status=400", "code=invalid_grant"},
			[]string{"A text", "err="}},
		{&loci.Error{Code: loci.CodeUnavailable, Err: errors.New("no route")}, 503, "1",
			[]string{"level=INFO msg=call", "status=503", "code=temporarily_unavailable",
				`level=WARN msg=unavailable op=oauth.token`, `err="no route"`}, []string{"ERROR"}},
		{&loci.Error{Code: loci.CodeStorageFull, Message: "Full.", Err: errors.New("no space")}, 507, "60",
			[]string{"level=ERROR msg=call", "status=507", "code=temporarily_unavailable", `err="no space"`}, nil},
		{errors.New("a flaw"), 500, "", []string{"level=ERROR msg=call", "status=500", "code=server_error",
			`err="a flaw"`}, nil},
	} {
		var log bytes.Buffer
		var counted loci.Code
		s := &Server{Options: Options{Host: &op.Host{Log: slog.New(slog.NewTextHandler(&log, nil)),
			Observe: func(o *op.Op, call *op.Call, code loci.Code, _ time.Duration) {
				counted = loci.Code(o.Name+" "+call.Transport+" ") + code
			}}}}
		w := httptest.NewRecorder()
		s.endpoint("token", func(_ http.ResponseWriter, _ *http.Request, call *op.Call) (any, error) {
			call.UserID, call.CredentialID = "ann", "grant-1"
			return struct{}{}, c.err
		}).ServeHTTP(w, httptest.NewRequest("POST", "/oauth/token", nil))
		if w.Code != c.status || w.Header().Get("Retry-After") != c.retry {
			t.Errorf("%v: %d, Retry-After %q", c.err, w.Code, w.Header().Get("Retry-After"))
		}
		for _, text := range c.has {
			testenv.Contains(t, log.String(), text, c.err)
		}
		for _, text := range c.not {
			if strings.Contains(log.String(), text) {
				t.Errorf("%v: %s in %s", c.err, text, log.String())
			}
		}
		if !strings.HasPrefix(string(counted), "oauth.token oauth ") || !strings.Contains(log.String(),
			"code="+strings.TrimPrefix(string(counted), "oauth.token oauth ")) {
			t.Errorf("%v: counted as %q", c.err, counted)
		}
	}
}
