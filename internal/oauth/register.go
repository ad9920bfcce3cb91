package oauth

import (
	"net/http"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/httpapi"
	"github.com/loci-memory/loci/internal/limit"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/grantdb"
)

// registration is the answer to a client that registered itself (RFC 7591, section 3.2.1). It replaces what the client
// asked for by what it has.
type registration struct {
	ID            string   `json:"client_id"`
	IssuedAt      int64    `json:"client_id_issued_at"` // seconds
	Name          string   `json:"client_name,omitempty"`
	URI           string   `json:"client_uri,omitempty"`
	RedirectURIs  []string `json:"redirect_uris"`
	GrantTypes    []string `json:"grant_types"`
	ResponseTypes []string `json:"response_types"`
	TokenAuth     string   `json:"token_endpoint_auth_method"`
	Scope         string   `json:"scope"`
}

// register answers the registration endpoint.
func (s *Server) register(w http.ResponseWriter, r *http.Request, _ *op.Call) (any, error) {
	if !hasMediaType(r.Header, "application/json") {
		return nil, errorf(codeInvalidMetadata, "The body must be application/json")
	}
	body, err := httpapi.ReadBody(w, r, maxBody)
	if err != nil {
		return nil, asProtocolError(err, codeInvalidMetadata)
	}
	m, err := parseMetadata(httpapi.TrimBOM(body))
	if err != nil {
		return nil, err
	}
	release, err := s.registrations.Take([]limit.Key{limit.Network(s.TrustedProxies.ClientIP(r))})
	if err != nil {
		return nil, err
	}
	c := m.client(string(loci.NewID(s.Store.Now().Std())), s.Store.Now())
	if _, err = store.System(r.Context(), s.Store, "register a client", func(t *store.SystemTx) (loci.Empty, error) {
		return loci.Empty{}, t.Grants().AddClient(c)
	}); err != nil {
		release() // the client will try again
		return nil, err
	}
	return created{newRegistration(c)}, nil
}

func newRegistration(c grantdb.Client) registration {
	return registration{ID: c.ID, IssuedAt: c.CreatedAt.Std().Unix(), Name: c.Name, URI: c.URI,
		RedirectURIs: c.RedirectURIs, GrantTypes: grantTypes, ResponseTypes: []string{"code"}, TokenAuth: "none",
		Scope: scope}
}
