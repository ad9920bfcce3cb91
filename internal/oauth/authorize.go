package oauth

import (
	"cmp"
	"context"
	"net/url"
	"regexp"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/httpapi"
	"github.com/loci-memory/loci/internal/limit"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/grantdb"
)

// maxState is the length of a client's state, in bytes. Longer addresses fail in proxies.
const maxState = 2048

// challengeText is a SHA-256 hash in base64url (RFC 7636, section 4.2).
var challengeText = regexp.MustCompile(`^[A-Za-z0-9_-]{43}$`)

var _ httpapi.Authorizer = (*Server)(nil)

// Authorize checks the query of the authorization endpoint.
func (s *Server) Authorize(ctx context.Context, rawQuery, address string) (string, httpapi.Authorization, error) {
	params, err := parseParams(rawQuery)
	if err != nil {
		return "", httpapi.Authorization{}, unbound(err)
	}
	if signed := params.Get(httpapi.RequestField); signed != "" && !params.Has("client_id") {
		r, err := s.signer.open(signed, "")
		return signed, r.authorization(), err
	}
	r, err := s.newRequest(ctx, params, address)
	if err != nil {
		return "", httpapi.Authorization{}, err
	}
	if err := s.checkParams(params); err != nil {
		e := asProtocolError(err, codeInvalidRequest)
		return "", httpapi.Authorization{}, &httpapi.RedirectError{Location: s.refusal(r, e), Reason: e.description}
	}
	signed, err := s.signer.seal(r)
	return signed, r.authorization(), err
}

// newRequest finds the client of a request and checks its redirect. Its errors are for the person: no address is known
// that may get them.
func (s *Server) newRequest(ctx context.Context, params url.Values, address string) (r request, err error) {
	if err := requireParams(params, "client_id", "redirect_uri"); err != nil {
		return r, unbound(err)
	}
	c, host, err := s.findClient(ctx, params.Get("client_id"), address)
	if err != nil {
		return r, err
	}
	redirect := params.Get("redirect_uri")
	if !matchesRedirect(c.RedirectURIs, redirect) {
		return r, loci.Errorf(loci.CodeInvalidQuery, "The program that sent you here asks for an answer at an address "+
			"that it did not register (redirect_uri). Do not continue unless you know why.")
	}
	return request{ClientID: c.ID, ClientName: cmp.Or(c.Name, "Unnamed program"), ClientURI: c.URI, ClientHost: host,
		RedirectURI: redirect, Challenge: params.Get("code_challenge"), State: []byte(params.Get("state")),
		Account: asksForAccount(params.Get("scope"), redirect)}, nil
}

// errUnknownClient is the refusal of a client that is not known, for the person.
var errUnknownClient = loci.Errorf(loci.CodeInvalidQuery, "The program that sent you here is not registered with this "+
	"server, or was not used for a week after its registration. Let it forget its earlier login.")

// findClient returns the client with an id, and the host of its metadata document if it has one. A fetch of the
// document counts for the network of an address.
func (s *Server) findClient(ctx context.Context, id, address string) (c grantdb.Client, host string, err error) {
	if isDocumentID(id) && s.documents != nil {
		return s.documents.find(ctx, id, limit.Network(address))
	}
	c, err = store.SystemRead(ctx, s.Store, "find the client of an authorization request",
		func(t *store.SystemTx) (grantdb.Client, error) { return t.Grants().Client(id) })
	if loci.Is(err, loci.CodeNotFound) {
		err = errUnknownClient
	}
	return c, "", err
}

// checkParams checks the parameters whose errors the client learns.
func (s *Server) checkParams(params url.Values) error {
	switch {
	case len(params.Get("state")) > maxState:
		return errorf(codeInvalidRequest, "state must have at most %d bytes", maxState)
	case params.Has("request"):
		return errorf("request_not_supported", "request objects are not supported: send the parameters")
	case params.Has("request_uri"):
		return errorf("request_uri_not_supported", "request_uri is not supported: send the parameters")
	case params.Get("response_type") == "":
		return errorf(codeInvalidRequest, "response_type is missing: it must be code")
	case params.Get("response_type") != "code":
		return errorf(codeUnsupportedAnswer, "response_type must be code")
	case params.Get("response_mode") != "" && params.Get("response_mode") != "query":
		return errorf(codeInvalidRequest, "response_mode must be query, or be left out")
	case params.Get("code_challenge_method") != "S256":
		return errorf(codeInvalidRequest, "code_challenge_method must be S256")
	case !challengeText.MatchString(params.Get("code_challenge")):
		return errorf(codeInvalidRequest, "code_challenge must be a SHA-256 hash in base64url: 43 characters")
	case params.Get("prompt") == "none":
		return errorf("consent_required", "prompt must not be none: this server asks each time")
	}
	if err := checkScope(params.Get("scope")); err != nil {
		return err
	}
	return s.checkResources(params)
}

// Bind binds a signed request to the sign-in of a browser.
func (s *Server) Bind(signed string, signIn loci.ID) (string, httpapi.Authorization, error) {
	r, err := s.signer.open(signed, "")
	if err != nil {
		return "", httpapi.Authorization{}, err
	}
	r.SignIn = signIn
	bound, err := s.signer.seal(r)
	return bound, r.authorization(), err
}

// Open returns the request that is bound to a sign-in.
func (s *Server) Open(bound string, signIn loci.ID) (httpapi.Authorization, error) {
	r, err := s.openBound(bound, signIn)
	return r.authorization(), err
}

// openBound refuses a request without a sign-in: an unbound one is bound to none.
func (s *Server) openBound(bound string, signIn loci.ID) (request, error) {
	if signIn == "" {
		return request{}, errOtherSignIn
	}
	return s.signer.open(bound, signIn)
}

// Approve stores the consent of a user, and returns the address that tells the client.
func (s *Server) Approve(ctx context.Context, bound string, signIn, user loci.ID,
	reach httpapi.Reach) (string, error) {
	r, err := s.openBound(bound, signIn)
	if err != nil {
		return "", err
	}
	consent := grantdb.Consent{ClientID: r.ClientID, ClientName: r.ClientName, ClientURI: r.ClientURI,
		RedirectURI: r.RedirectURI, Challenge: r.Challenge, Resource: s.resource, Scope: scope, UserID: user,
		SignInID: signIn, Workspaces: reach.Workspaces}
	if reach.Account {
		if !r.Account {
			return "", loci.Errorf(loci.CodeInvalidQuery, "The program did not ask for everything that you may do.")
		}
		consent.Scope = grantdb.AccountScope
	}
	code, err := store.System(ctx, s.Store, "store the consent of a user", func(t *store.SystemTx) (string, error) {
		return t.Grants().AddCode(consent)
	})
	if err != nil {
		return "", err
	}
	return s.answer(r, "code", code), nil
}

// Deny returns the address that tells the client of a refusal.
func (s *Server) Deny(bound string, signIn loci.ID) (string, error) {
	r, err := s.openBound(bound, signIn)
	if err != nil {
		return "", err
	}
	return s.refusal(r, errorf(codeAccessDenied, "The person did not allow it")), nil
}

func (s *Server) refusal(r request, e *protocolError) string {
	return s.answer(r, "error", e.code, "error_description", e.description)
}

// answer returns the address of a client with an answer, its state, and the issuer, which tells the client from whom it
// is (RFC 9207).
func (s *Server) answer(r request, params ...string) string {
	if len(r.State) > 0 {
		params = append(params, "state", string(r.State))
	}
	return withParams(r.RedirectURI, append(params, "iss", s.PublicURL)...)
}

// authorization returns the part of a request that a page shows.
func (r request) authorization() httpapi.Authorization {
	return httpapi.Authorization{ClientName: r.ClientName, ClientURI: r.ClientURI, ClientHost: r.ClientHost,
		RedirectURI: r.RedirectURI, RedirectHost: grantdb.RedirectHost(r.RedirectURI), Account: r.Account}
}
