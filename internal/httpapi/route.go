package httpapi

import (
	"net/http"
	"strings"

	"github.com/loci-memory/loci"
)

// A Route is written by hand, because what it does is no operation of REST.
type Route struct {
	Pattern string // of net/http: "GET /health"
	Handler http.Handler
	Reason  string // why it is no operation
	// Describe is the OpenAPI operation object of the route; without it the document does not list the route.
	Describe map[string]any
	CORS     CORS // which pages may read the responses of its path
}

// CORS says which pages of other origins may read the responses of a path.
type CORS int

// The zero value allows the origins of the operator.
const (
	CORSConfigured CORS = iota // those of the origins that the operator allows
	CORSAny                    // all: the responses are public
	CORSNone                   // none: it is for people, or for navigation
)

// Path returns the path of the route's pattern.
func (r Route) Path() string {
	return strings.TrimSuffix(r.Pattern[strings.IndexByte(r.Pattern, '/'):], "{$}")
}

// ErrNoRoute returns the error for a path that does not exist.
func ErrNoRoute() error {
	return loci.Errorf(loci.CodeNotFound, "There is no such route: /openapi.json lists them all.")
}

// An Unmatched is a kind of request that names nothing that the server has.
type Unmatched string

// The kinds of unmatched requests.
const (
	UnmatchedPath   Unmatched = "path"   // 404: no route has it
	UnmatchedMethod Unmatched = "method" // 405: its path has others
	UnmatchedTool   Unmatched = "tool"   // of MCP
)

// UnmatchedKinds are the kinds of unmatched requests.
var UnmatchedKinds = []Unmatched{UnmatchedPath, UnmatchedMethod, UnmatchedTool}

// An UnmatchedFunc counts unmatched requests. Nil counts none.
type UnmatchedFunc func(Unmatched)

// Count counts a request.
func (f UnmatchedFunc) Count(kind Unmatched) {
	if f != nil {
		f(kind)
	}
}
