package oauth

import (
	"encoding/json"

	"github.com/loci-memory/loci/internal/httpapi"
)

// resourceDocument is the metadata of the protected resource (RFC 9728, section 2).
func (s *Server) resourceDocument() []byte {
	return encode(struct {
		Resource      string   `json:"resource"`
		Name          string   `json:"resource_name"`
		Servers       []string `json:"authorization_servers"`
		Scopes        []string `json:"scopes_supported"`
		BearerMethods []string `json:"bearer_methods_supported"`
	}{s.resource, "Loci", []string{s.PublicURL}, []string{scope}, []string{"header"}})
}

// serverDocument is the metadata of the authorization server (RFC 8414, section 2).
func (s *Server) serverDocument() []byte {
	none := []string{"none"}
	return encode(struct {
		Issuer          string   `json:"issuer"`
		Authorize       string   `json:"authorization_endpoint"`
		Token           string   `json:"token_endpoint"`
		Register        string   `json:"registration_endpoint"`
		Revoke          string   `json:"revocation_endpoint"`
		Scopes          []string `json:"scopes_supported"`
		ResponseTypes   []string `json:"response_types_supported"`
		ResponseModes   []string `json:"response_modes_supported"`
		GrantTypes      []string `json:"grant_types_supported"`
		TokenAuth       []string `json:"token_endpoint_auth_methods_supported"`
		RevokeAuth      []string `json:"revocation_endpoint_auth_methods_supported"`
		Challenges      []string `json:"code_challenge_methods_supported"`
		Iss             bool     `json:"authorization_response_iss_parameter_supported"` // RFC 9207
		ClientDocuments bool     `json:"client_id_metadata_document_supported"`
	}{
		s.PublicURL, s.PublicURL + httpapi.AuthorizePath, s.PublicURL + "/oauth/token", s.PublicURL + "/oauth/register",
		s.PublicURL + "/oauth/revoke", []string{scope}, []string{"code"}, []string{"query"}, grantTypes, none, none,
		[]string{"S256"}, true, s.ClientDocuments,
	})
}

// encode returns the JSON of a document.
func encode(document any) []byte {
	body, err := json.Marshal(document)
	if err != nil {
		panic("oauth: " + err.Error()) // documents consist of texts, lists and booleans
	}
	return body
}
