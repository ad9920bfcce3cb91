package oauth

import (
	"net/http"
	"net/url"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/httpapi"
	"github.com/loci-memory/loci/internal/limit"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/store"
)

// Options are the settings of the authorization server.
type Options struct {
	Store *store.Store
	// PublicURL is the issuer: the address of the server without a slash at its end.
	PublicURL      string
	Clock          loci.Clock
	Host           *op.Host // logs and counts calls
	TrustedProxies httpapi.Proxies
	// NetworkLimit is the number of registrations, and of fetches of documents, of a network in 15 minutes; 0 is off.
	NetworkLimit    int
	ClientDocuments bool // clients may be known by a metadata document that this server fetches
	DocumentAccess  DocumentAccess
}

// A Server is an authorization server. It is the httpapi.Authorizer of the pages.
type Server struct {
	Options
	origin        string // of PublicURL
	resource      string // address of the MCP endpoint
	signer        signer
	registrations *limit.Attempts[limit.Key]
	documents     *documentCache // nil: no client has a metadata document
}

// New returns an authorization server. It panics on a public URL that is no origin.
func New(o Options) *Server {
	u, err := url.Parse(o.PublicURL)
	if err != nil || u.Host == "" || u.Path != "" {
		panic("oauth: the public URL must be an origin")
	}
	s := &Server{Options: o, origin: httpapi.OriginOf(u), resource: o.PublicURL + "/mcp",
		signer: signer{o.Store.Secret, o.Store.Now},
		registrations: limit.NewAttempts[limit.Key](o.Clock, o.NetworkLimit, "registrations of clients",
			"Too many clients were registered from this address.")}
	if o.ClientDocuments {
		s.documents = newDocumentCache(o.Clock, newDocumentClient(o.DocumentAccess), o.NetworkLimit,
			o.Store.Caches())
	}
	return s
}

// Routes returns the documents and the endpoints of programs.
func (s *Server) Routes() []httpapi.Route {
	const resourcePath = "/.well-known/oauth-protected-resource"
	resource, server := httpapi.StaticJSON(s.resourceDocument()), httpapi.StaticJSON(s.serverDocument())
	endpoint := func(name string, h endpoint, describe map[string]any) httpapi.Route {
		return httpapi.Route{Pattern: "POST /oauth/" + name, Handler: s.endpoint(name, h),
			Reason: "It speaks the language of OAuth.", Describe: describe}
	}
	document := func(path string, h http.Handler, describe map[string]any) httpapi.Route {
		return httpapi.Route{Pattern: "GET " + path, Handler: h, Reason: "It is a document of OAuth.",
			Describe: describe, CORS: httpapi.CORSAny}
	}
	routes := []httpapi.Route{
		document(resourcePath, resource, describeDocument("oauth.resource",
			"Describe the protected resource (RFC 9728)")),
		document(resourcePath+"/mcp", resource, describeDocument("oauth.mcpResource",
			"Describe the protected resource at the address that follows from its path (RFC 9728)")),
		document("/.well-known/oauth-authorization-server", server, describeDocument("oauth.server",
			"Describe the authorization server (RFC 8414)")),
		endpoint("token", s.token, describeToken),
		endpoint("revoke", s.revoke, describeRevoke),
		endpoint("register", s.register, describeRegister),
		document("/mcp"+resourcePath, resource, nil),
	}
	for _, path := range otherServerPaths {
		routes = append(routes, document(path, server, nil))
	}
	return routes
}

// otherServerPaths are the places at which clients look for the authorization server, beside the one of RFC 8414: the
// place of OpenID Connect, and those that follow from the path of /mcp.
var otherServerPaths = []string{"/.well-known/oauth-authorization-server/mcp", "/.well-known/openid-configuration",
	"/.well-known/openid-configuration/mcp", "/mcp/.well-known/oauth-authorization-server",
	"/mcp/.well-known/openid-configuration"}
