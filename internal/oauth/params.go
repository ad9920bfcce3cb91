package oauth

import (
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/httpapi"
	"github.com/loci-memory/loci/internal/store/grantdb"
)

// maxBody is the most bytes of a form or a registration.
const maxBody = 64 << 10

// resourceParam is the only parameter that may be given several times (RFC 8707, section 2).
const resourceParam = "resource"

// parseParams reads the parameters of a query or form.
func parseParams(raw string) (url.Values, error) {
	params, err := url.ParseQuery(raw)
	if err != nil {
		return nil, errorf(codeInvalidRequest, "The parameters are not percent-encoded as a form")
	}
	for name, values := range params {
		if len(values) > 1 && name != resourceParam {
			return nil, errorf(codeInvalidRequest, "A parameter is given twice")
		}
	}
	return params, nil
}

// readForm reads the form of a request to an endpoint of programs.
func readForm(w http.ResponseWriter, r *http.Request) (url.Values, error) {
	if !hasMediaType(r.Header, "application/x-www-form-urlencoded") {
		return nil, errorf(codeInvalidRequest, "The body must be a form: application/x-www-form-urlencoded")
	}
	body, err := httpapi.ReadBody(w, r, maxBody)
	if err != nil {
		return nil, err
	}
	return parseParams(string(body))
}

// hasMediaType reports whether a body has the type, uncompressed.
func hasMediaType(h http.Header, want string) bool {
	types := h.Values("Content-Type")
	if len(types) != 1 || h.Get("Content-Encoding") != "" {
		return false
	}
	media, _, err := mime.ParseMediaType(types[0])
	return err == nil && media == want
}

// requireParams returns an error for the first parameter that is absent. One that is empty is absent, too (RFC 6749,
// section 3.1).
func requireParams(params url.Values, names ...string) error {
	for _, name := range names {
		if params.Get(name) == "" {
			return errorf(codeInvalidRequest, "%s is missing", name)
		}
	}
	return nil
}

// scope is the scope of every grant: tools and data of MCP. accountScope beside it asks for everything that the person
// may do.
const (
	scope        = grantdb.MCPScope
	accountScope = "account"
)

// checkScope refuses a list of scopes without ours. Others beside it are dropped.
func checkScope(list string) error {
	if list != "" && !slices.Contains(strings.Fields(list), scope) {
		return errorf(codeInvalidScope, "scope must contain %s, or be left out", scope)
	}
	return nil
}

// asksForAccount reports whether a list of scopes asks for the whole account, and the client may: its answer stays on
// the device of the person.
func asksForAccount(list, redirect string) bool {
	return slices.Contains(strings.Fields(list), accountScope) && withoutLoopbackPort(redirect) != ""
}

// checkResources refuses a resource that is not the MCP endpoint of this server (RFC 8707, section 2).
func (s *Server) checkResources(params url.Values) error {
	for _, given := range params[resourceParam] {
		if given != "" && !s.isResource(given) {
			return errorf(codeInvalidTarget, "resource must be %s, or be left out", s.resource)
		}
	}
	return nil
}

// isResource reports whether an address is that of the MCP endpoint: with or without a slash at its end, or a toolset.
func (s *Server) isResource(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.User != nil || u.Host == "" || strings.Contains(address, "#") ||
		httpapi.OriginOf(u) != s.origin || u.EscapedPath() != "/mcp" && u.EscapedPath() != "/mcp/" {
		return false
	}
	query, err := url.ParseQuery(u.RawQuery)
	toolset := query["toolset"]
	return err == nil && (len(query) == 0 || len(query) == 1 && len(toolset) == 1)
}

// unbound returns an error of a request for a person, on a page.
func unbound(err error) error {
	e := asProtocolError(err, codeInvalidRequest)
	if e.cause != nil {
		return err
	}
	return loci.Errorf(loci.CodeInvalidQuery, "The program that sent you here made a mistake (%s). %s.", e.code,
		strings.TrimSuffix(e.description, "."))
}
