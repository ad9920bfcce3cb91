package oauth

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/grantdb"
)

// grantTypes are the grants of the token endpoint.
var grantTypes = []string{"authorization_code", "refresh_token"}

// tokenAnswer is a successful answer of the token endpoint (RFC 6749, section 5.1).
type tokenAnswer struct {
	AccessToken  string `json:"access_token"`
	TokenType    string `json:"token_type"`
	ExpiresIn    int64  `json:"expires_in"` // seconds
	RefreshToken string `json:"refresh_token"`
	Scope        string `json:"scope"`
}

// exchanged are the tokens of a grant; without ok they are refused, and what the refusal ended is stored.
type exchanged struct {
	tokens grantdb.Tokens
	ok     bool
}

// token answers the token endpoint.
func (s *Server) token(w http.ResponseWriter, r *http.Request, c *op.Call) (any, error) {
	params, err := s.readClientForm(w, r, "grant_type", "client_id")
	if err != nil {
		return nil, err
	}
	var exchange func(grantdb.Tx) (exchanged, error)
	switch params.Get("grant_type") {
	case grantTypes[0]:
		exchange, err = s.redemption(params)
	case grantTypes[1]:
		exchange, err = refresh(params)
	default:
		err = errorf(codeUnsupportedGrant, "grant_type must be one of %s", strings.Join(grantTypes, ", "))
	}
	if err == nil {
		err = checkScope(params.Get("scope"))
	}
	if err == nil {
		err = s.checkResources(params)
	}
	result, err := withClient(r, s, params.Get("client_id"), err, exchange)
	if err != nil {
		return nil, err
	}
	c.UserID, c.CredentialID = result.tokens.UserID, result.tokens.GrantID
	if !result.ok {
		return nil, errorf(codeInvalidGrant, "The code or token is unknown, used, expired or of another request")
	}
	return tokenAnswer{result.tokens.Access, "Bearer", int64(result.tokens.ExpiresIn.Seconds()), result.tokens.Refresh,
		result.tokens.Scope}, nil
}

// redemption returns the exchange of an authorization code.
func (s *Server) redemption(params url.Values) (func(grantdb.Tx) (exchanged, error), error) {
	err := requireParams(params, "code", "redirect_uri", "code_verifier")
	return func(t grantdb.Tx) (x exchanged, err error) {
		x.tokens, x.ok, err = t.Redeem(grantdb.Redemption{Code: params.Get("code"), ClientID: params.Get("client_id"),
			RedirectURI: params.Get("redirect_uri"), Verifier: params.Get("code_verifier"), Resource: s.resource})
		return x, err
	}, err
}

// refresh returns the exchange of a refresh token.
func refresh(params url.Values) (func(grantdb.Tx) (exchanged, error), error) {
	err := requireParams(params, "refresh_token")
	return func(t grantdb.Tx) (x exchanged, err error) {
		x.tokens, x.ok, err = t.Refresh(params.Get("refresh_token"), params.Get("client_id"))
		asked := strings.Fields(params.Get("scope"))
		if err == nil && len(asked) > 0 && !slices.Contains(asked, accountScope) &&
			slices.Contains(strings.Fields(x.tokens.Scope), accountScope) {
			err = errorf(codeInvalidScope, "scope must be that of the grant, or be left out: a refresh changes none")
		}
		return x, err
	}, err
}

// revoke answers the revocation endpoint (RFC 7009). A token that is unknown is revoked already.
func (s *Server) revoke(w http.ResponseWriter, r *http.Request, c *op.Call) (any, error) {
	params, err := s.readClientForm(w, r, "client_id")
	if err != nil {
		return nil, err
	}
	id := params.Get("client_id")
	ended, err := withClient(r, s, id, requireParams(params, "token"),
		func(t grantdb.Tx) (grantdb.Subject, error) { return t.RevokeToken(params.Get("token"), id) })
	c.UserID, c.CredentialID = ended.UserID, ended.GrantID
	return loci.Empty{}, err
}

// readClientForm reads a form of a client, and requires parameters of it. Clients have no secret: one that sends a
// secret is not one of this server.
func (s *Server) readClientForm(w http.ResponseWriter, r *http.Request, required ...string) (url.Values, error) {
	params, err := readForm(w, r)
	if err != nil {
		return nil, err
	}
	scheme, _, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if strings.EqualFold(scheme, "Basic") {
		w.Header().Set("WWW-Authenticate", "Basic") // RFC 6749, section 5.2
		return nil, errorf(codeInvalidClient, "Clients of this server have no secret: send client_id in the form alone")
	}
	if params.Get("client_secret") != "" {
		return nil, errorf(codeInvalidClient, "Clients of this server have no secret: leave client_secret out")
	}
	return params, requireParams(params, required...)
}

// withClient runs a transaction of a known client. An unknown client is told so before anything else, because it must
// register again; invalid, an error of its other parameters, comes second. Neither waits for a writer.
func withClient[Out any](r *http.Request, s *Server, id string, invalid error,
	f func(grantdb.Tx) (Out, error)) (out Out, err error) {
	if err = s.requireClient(r.Context(), id); err == nil {
		err = invalid
	}
	if err != nil {
		return out, err
	}
	return store.System(r.Context(), s.Store, "exchange or revoke tokens for a client",
		func(t *store.SystemTx) (Out, error) { return f(t.Grants()) })
}

// requireClient refuses a client that is not registered. A metadata document is not fetched for that: codes and tokens
// are bound to its client.
func (s *Server) requireClient(ctx context.Context, id string) error {
	if isDocumentID(id) && s.documents != nil {
		if _, err := checkDocumentID(id); err == nil {
			return nil
		}
	}
	_, err := store.SystemRead(ctx, s.Store, "find the client of a token request",
		func(t *store.SystemTx) (grantdb.Client, error) { return t.Grants().Client(id) })
	if loci.Is(err, loci.CodeNotFound) {
		return errorf(codeInvalidClient, "The client is not registered: register it again")
	}
	return err
}
