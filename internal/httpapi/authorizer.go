package httpapi

import (
	"context"

	"github.com/loci-memory/loci"
)

// AuthorizePath is the path of the authorization endpoint, whose pages ask the person.
const AuthorizePath = "/oauth/authorize"

// RequestField is the parameter of the authorization endpoint and the field of its form that carry a signed request.
const RequestField = "request"

// An Authorization is the checked request of an OAuth client. Its texts are bounded and have no control characters.
type Authorization struct {
	ClientName   string // as the client says of itself, unverified; never empty
	ClientURI    string // home page as the client says, http or https, or ""
	ClientHost   string // host of the client's metadata document, which proves it, or ""
	RedirectURI  string // where the answer goes, byte for byte as the client sent it
	RedirectHost string // its host with port, or its scheme with a colon ("cursor:") where a program takes it over
	Account      bool   // the client asks for everything that the person may do
}

// A Reach is what a person lets a client use: some workspaces, or the whole account.
type Reach struct {
	Account    bool
	Workspaces []loci.ID // without Account
}

// An Authorizer checks requests of OAuth clients and answers them. An error other than a *RedirectError is for the
// person: it is shown, and never redirects. Request and bound are opaque signed texts that work for ten minutes;
// nothing is stored before the person consents.
type Authorizer interface {
	// Authorize checks the query of the authorization endpoint. It is the request of a client, or nothing but the
	// signed request of an earlier answer in RequestField. An error that the client learns is a *RedirectError. What it
	// fetches counts for the IP address of the browser.
	Authorize(ctx context.Context, rawQuery, address string) (request string, a Authorization, err error)
	// Bind binds a signed request to the sign-in of a browser.
	Bind(request string, signIn loci.ID) (bound string, a Authorization, err error)
	// Open returns the request that is bound to this sign-in.
	Open(bound string, signIn loci.ID) (Authorization, error)
	// Approve stores the consent of a user, and returns the address of the client with code, state and iss. It refuses
	// the whole account to a client that did not ask for it.
	Approve(ctx context.Context, bound string, signIn, user loci.ID, reach Reach) (location string, err error)
	// Deny returns the address of the client with error=access_denied, state and iss.
	Deny(bound string, signIn loci.ID) (location string, err error)
}

// A RedirectError is an error in the request of a known client with a registered redirect: the client learns it there.
type RedirectError struct {
	Location string // with error, error_description, state and iss
	Reason   string // the error_description
}

func (e *RedirectError) Error() string { return e.Reason }
