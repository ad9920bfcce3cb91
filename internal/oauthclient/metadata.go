package oauthclient

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/loci-memory/loci"
)

// A Server is a Loci server that signs people in, as its two metadata documents describe it.
type Server struct {
	Issuer       string `json:"issuer"` // its address, without a trailing slash
	Resource     string `json:"-"`      // of the other document
	Authorize    string `json:"authorization_endpoint"`
	Token        string `json:"token_endpoint"`
	Registration string `json:"registration_endpoint"`
	Revocation   string `json:"revocation_endpoint"`
}

// The scopes of Loci. Without accountScope beside scope a grant reaches some workspaces alone.
const (
	scope        = "mcp"
	accountScope = "account"
)

// The documents of a server, RFC 9728 and RFC 8414.
const (
	resourcePath = "/.well-known/oauth-protected-resource/mcp"
	serverPath   = "/.well-known/oauth-authorization-server"
)

type resourceMetadata struct {
	Resource string   `json:"resource"`
	Servers  []string `json:"authorization_servers"`
}

type serverMetadata struct {
	Server
	Challenges []string `json:"code_challenge_methods_supported"`
	HasIssuer  bool     `json:"authorization_response_iss_parameter_supported"`
}

// Discover reads and checks the metadata of the server at an address. The address must be the one that the server
// names itself, and every endpoint must be its own: else another server could get the code or the tokens.
func Discover(ctx context.Context, address string) (Server, error) {
	base, err := normalizeAddress(address)
	if err != nil {
		return Server{}, err
	}
	var r resourceMetadata
	if err := getJSON(ctx, base+resourcePath, &r); err != nil {
		return Server{}, explainMissing(base, err)
	}
	own, _ := strings.CutSuffix(r.Resource, "/mcp")
	if err := checkName(base, own); err != nil {
		return Server{}, err
	}
	if own+"/mcp" != r.Resource || !slices.Contains(r.Servers, own) {
		return Server{}, badServer(base, "its metadata names another server")
	}
	var m serverMetadata
	if err := getJSON(ctx, base+serverPath, &m); err != nil {
		return Server{}, explainMissing(base, err)
	}
	if why := m.problem(own); why != "" {
		return Server{}, badServer(base, why)
	}
	m.Resource = r.Resource
	return m.Server, nil
}

// normalizeAddress returns an address as the server writes it: lower case, without a default port and trailing slash.
func normalizeAddress(address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.RawQuery != "" ||
		u.Fragment != "" {
		return "", loci.Errorf(loci.CodeInvalidQuery, "the server's address must be like https://loci.example.org")
	}
	host := strings.ToLower(u.Host)
	if port := map[string]string{"http": ":80", "https": ":443"}[u.Scheme]; u.Port() != "" {
		host = strings.TrimSuffix(host, port)
	}
	return u.Scheme + "://" + host + strings.TrimRight(u.EscapedPath(), "/"), nil
}

// checkName compares the address in use with the one that the server names itself.
func checkName(base, own string) error {
	named, err := normalizeAddress(own)
	switch {
	case err != nil:
		return badServer(base, "its metadata names no resource")
	case named != base:
		return loci.Errorf(loci.CodeInvalidQuery,
			"%s names itself %s: use loci login %[2]s, or let its operator set LOCI_PUBLIC_URL", base, clip(named, 200))
	}
	return nil
}

// problem returns the reason why the metadata cannot be used, or "".
func (m *serverMetadata) problem(issuer string) string {
	switch {
	case m.Issuer != issuer:
		return "its metadata names another issuer"
	case !slices.Contains(m.Challenges, "S256"):
		return "it does not support PKCE with S256"
	case !m.HasIssuer:
		return "it does not name itself in the answer (RFC 9207)"
	}
	for _, endpoint := range []string{m.Authorize, m.Token, m.Registration, m.Revocation} {
		u, err := url.Parse(endpoint)
		if err != nil || u.RawQuery != "" || u.Fragment != "" || !strings.HasPrefix(endpoint, issuer+"/") ||
			!isPrintable(endpoint, 2048) {
			return "an endpoint is missing or on another host, or no address"
		}
	}
	return ""
}

// explainMissing returns the error for a server without these documents.
func explainMissing(base string, err error) error {
	if e, ok := err.(*statusError); ok && e.status == http.StatusNotFound {
		return loci.Errorf(loci.CodeUnavailable, "%s has no sign-in by browser: check the address, "+
			"or use an API key: loci login %[1]s --key -", base)
	}
	return err
}
