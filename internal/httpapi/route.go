package httpapi

import (
	"net/http"

	"github.com/loci-memory/loci"
)

// A Route is written by hand, because what it does is no operation of REST.
type Route struct {
	Pattern string // of net/http: "GET /health"
	Handler http.Handler
	Reason  string // why it is no operation
	// Describe is the OpenAPI operation object of the route; without it the document does not list the route.
	Describe map[string]any
}

// ErrNoRoute returns the error for a path that does not exist.
func ErrNoRoute() error {
	return loci.Errorf(loci.CodeNotFound, "There is no such route: /openapi.json lists them all.")
}
