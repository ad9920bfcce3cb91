package oauth

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/secret"
	"github.com/loci-memory/loci/internal/store/grantdb"
	"github.com/loci-memory/loci/internal/strictjson"
)

// Limits of what a client says of itself.
const (
	maxRedirects  = 10
	maxClientName = 200 // characters
)

// metadata is what a client says of itself (RFC 7591, section 2), of which this server keeps name and addresses. The
// others, such as a logo, are neither stored nor loaded.
type metadata struct {
	ID            string
	Name          string
	URI           string
	RedirectURIs  []string
	GrantTypes    []string
	ResponseTypes []string
	TokenAuth     string
}

// parseMetadata reads and checks the metadata of a client. Unknown members are ignored (RFC 7591, section 2).
func parseMetadata(body []byte) (m metadata, err error) {
	if err := strictjson.Walk(body, nil); err != nil {
		return m, errorf(codeInvalidMetadata, "The body must be one object of valid JSON")
	}
	members, err := strictjson.Object(body)
	if err != nil {
		return m, errorf(codeInvalidMetadata, "The body must be one object of valid JSON")
	}
	fields := map[string]any{"client_id": &m.ID, "client_name": &m.Name, "client_uri": &m.URI,
		"redirect_uris": &m.RedirectURIs, "grant_types": &m.GrantTypes, "response_types": &m.ResponseTypes,
		"token_endpoint_auth_method": &m.TokenAuth}
	for _, member := range members {
		field := fields[member.Name]
		if field == nil {
			continue
		}
		if err := json.Unmarshal(member.Value, field); err != nil {
			code := codeInvalidMetadata
			if member.Name == "redirect_uris" {
				code = codeInvalidRedirect
			}
			return m, errorf(code, "%s has the wrong type", member.Name)
		}
	}
	return m, m.check()
}

// check checks the metadata, and cleans the name.
func (m *metadata) check() error {
	if n := len(m.RedirectURIs); n < 1 || n > maxRedirects {
		return errorf(codeInvalidRedirect, "redirect_uris must have 1 to %d items", maxRedirects)
	}
	for _, uri := range m.RedirectURIs {
		if err := checkRedirect(uri); err != nil {
			return err
		}
	}
	if m.GrantTypes != nil && !slices.Contains(m.GrantTypes, grantTypes[0]) {
		return errorf(codeInvalidMetadata, "grant_types must contain %s", grantTypes[0])
	}
	if m.ResponseTypes != nil && !slices.Contains(m.ResponseTypes, "code") {
		return errorf(codeInvalidMetadata, "response_types must contain code")
	}
	if m.Name = cleanName(m.Name); utf8.RuneCountInString(m.Name) > maxClientName {
		return errorf(codeInvalidMetadata, "client_name must have at most %d characters", maxClientName)
	}
	for _, x := range []struct{ field, text string }{{"client_name", m.Name}, {"client_uri", m.URI}} {
		if err := secret.Reject(loci.SecretsReject, x.field, x.text); err != nil {
			return errorf(codeInvalidMetadata, "%s", loci.AsError(err).Message)
		}
	}
	if u, ok := parseURI(m.URI); m.URI != "" && (!ok || u.Scheme != "https" && u.Scheme != "http") {
		return errorf(codeInvalidMetadata, "client_uri must be a web address of at most %d ASCII characters", maxURI)
	}
	return nil
}

// client returns the client that metadata describes.
func (m *metadata) client(id string, now loci.Time) grantdb.Client {
	return grantdb.Client{ID: id, Name: m.Name, URI: m.URI, RedirectURIs: m.RedirectURIs, CreatedAt: now}
}

// cleanName returns a name without characters that change how a page reads: control characters, and those that are
// invisible or turn the direction of text. White space becomes single spaces.
func cleanName(name string) string {
	name = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r):
			return -1
		}
		return r
	}, name)
	return strings.Join(strings.Fields(name), " ")
}
