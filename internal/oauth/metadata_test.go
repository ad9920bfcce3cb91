package oauth

import (
	"bufio"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/loci-memory/loci/internal/testenv"
)

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
	if _, err := parseMetadata([]byte(`{` + redirects + `,"client_name":"` + strings.Repeat("é", maxClientName) +
		`"}`)); err != nil {
		t.Error(err)
	}
}

// TestMetadataOfRealClients registers what programs sent to another server.
func TestMetadataOfRealClients(t *testing.T) {
	t.Parallel()
	f := testenv.Must(os.Open("testdata/registrations.jsonl"))(t)
	defer f.Close()
	names := []string{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		m, err := parseMetadata(lines.Bytes())
		if err != nil || len(m.RedirectURIs) != 1 {
			t.Errorf("%s: %v", lines.Text(), err)
		}
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
