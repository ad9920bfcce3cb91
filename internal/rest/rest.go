// Package rest is the HTTP transport of Loci. Each operation of the table is one route, and one OpenAPI document
// describes them all. Rules that apply to other transports too are in package op.
package rest

import (
	"cmp"
	"log/slog"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/httpapi"
	"github.com/loci-memory/loci/internal/op"
)

// Options are the settings of the transport.
type Options struct {
	Table *op.Table
	Host  *op.Host
	Log   *slog.Logger

	// ServiceVersion is the version of the program; that of the contract is Version.
	ServiceVersion string
	httpapi.Site
	// Hosts refuses requests to names of other servers; nil accepts every name.
	Hosts       *httpapi.AllowedHosts
	ExtraRoutes []httpapi.Route
	// OmittedOps are operations that this variant of the contract lacks. Their routes are missing, even if their paths
	// have other methods.
	OmittedOps   []*op.Op
	Deprecations []Deprecation // of operations of the table
	// ErrorPage shows errors to browsers; nil means JSON for all clients.
	ErrorPage httpapi.ErrorPage
	// ResponseLimiter bounds the unread responses of clients; nil means no bound.
	ResponseLimiter *httpapi.ByteLimiter
	// BodyLimiter bounds the bodies of clients that have not arrived yet; nil means no bound.
	BodyLimiter *httpapi.ByteLimiter
	// OnUnmatched is called for each request to an unknown path or method; it may be nil.
	OnUnmatched httpapi.UnmatchedFunc
	// OnIgnoredProxy is called for each request of a likely proxy that is not trusted; it may be nil.
	OnIgnoredProxy func()
}

type handler struct {
	Options
	mux              *http.ServeMux
	methodNotAllowed map[string]bool // patterns of methods that a path does not have: see reserveLiterals
	cors             map[string]httpapi.CORS
	patterns         [][]string // segments of the paths, to name the nearest one
}

// New returns a handler for every operation of the table, the extra routes and
// those of this package. It panics on routes that contradict one another.
func New(o Options) http.Handler {
	d := &handler{Options: o, mux: http.NewServeMux(), methodNotAllowed: map[string]bool{},
		cors: map[string]httpapi.CORS{}}
	d.Origins = cmp.Or(d.Origins, httpapi.NewOrigins(o.PublicURL))
	for _, o := range o.Table.Ops {
		for _, path := range paths(o) {
			d.mux.Handle(o.Method+" "+path, withSunset(d.deprecations(o), d.opHandler(o)))
		}
	}
	routes := d.routes()
	d.patterns = d.routePatterns(routes)
	for _, r := range routes {
		d.mux.Handle(r.Pattern, r.Handler)
		d.cors[r.Path()] = r.CORS
	}
	for _, o := range o.OmittedOps {
		d.mux.HandleFunc(o.Method+" "+o.Path, d.refusePath)
	}
	d.reserveLiterals()
	for _, o := range o.OmittedOps { // after reserveLiterals, which needs their routes
		d.methodNotAllowed[o.Method+" "+o.Path] = true
	}
	d.mux.HandleFunc(catchAll, d.serveNotFound)
	return d
}

// FilePrefixes begin the paths of the operations of files: the first one in the table, and its alias.
var FilePrefixes = []string{"/functions/v1/loci", "/functions/v1/service"}

// paths returns the paths of an operation: that of the table, and the alias that each operation of files has.
func paths(o *op.Op) []string {
	if rest, ok := strings.CutPrefix(o.Path, FilePrefixes[0]+"/"); ok {
		return []string{o.Path, FilePrefixes[1] + "/" + rest}
	}
	return []string{o.Path}
}

// methods are those that a path may have.
var methods = []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"}

// reserveLiterals prevents a literal path from matching a route with a field in that place: GET /v1/memories/search is
// not the memory "search".
func (d *handler) reserveLiterals() {
	has := map[string][]string{}
	for _, o := range d.Table.Ops {
		if strings.Contains(o.Path, "{") {
			continue
		}
		for _, path := range paths(o) {
			if has[path] = append(has[path], o.Method); o.Method == http.MethodGet {
				has[path] = append(has[path], http.MethodHead)
			}
		}
	}
	for literal, own := range has {
		for _, m := range methods {
			if slices.Contains(own, m) {
				continue
			}
			probe := &http.Request{Method: m, URL: &url.URL{Path: literal}}
			if _, pattern := d.mux.Handler(probe); pattern != "" && !d.methodNotAllowed[pattern] {
				pattern = m + " " + literal
				d.methodNotAllowed[pattern] = true
				d.mux.HandleFunc(pattern, d.serveNotFound)
			}
		}
	}
}

// opHandler returns the handler of one operation.
func (d *handler) opHandler(o *op.Op) http.HandlerFunc {
	var names []string
	for _, f := range o.Fields() {
		if f.Location == op.InPath {
			names = append(names, f.Name)
		}
	}
	return func(w http.ResponseWriter, r *http.Request) {
		c := d.newCall(w, r)
		args := func() (op.Args, error) { return d.readArgs(w, r, o, c, names) }
		if o.Streams {
			d.serveStream(w, r, o, c, args)
			return
		}
		out, err := d.Host.Run(r.Context(), o, c, args)
		if err != nil {
			httpapi.WriteError(w, r, c.Quota, err)
			return
		}
		d.writeOutput(w, r, o, c, out)
	}
}

func (d *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	httpapi.InitHeaders(w, r)
	r = httpapi.WithErrorPage(r, d.ErrorPage)
	if d.OnIgnoredProxy != nil && d.TrustedProxies.IgnoresForwarded(r) {
		d.OnIgnoredProxy()
	}
	if d.Hosts != nil {
		if err := d.Hosts.Check(r); err != nil {
			httpapi.WriteError(w, r, nil, err)
			return
		}
	}
	if d.handleCORS(w, r) {
		return
	}
	if !isCleanPath(r.URL) {
		d.refusePath(w, r)
		return
	}
	d.mux.ServeHTTP(w, r)
}

// catchAll is the pattern of all other paths. With it, the mux never responds to a wrong path or method in its own
// words.
const catchAll = "/"

// serveNotFound refuses a path that does not exist, or a method that it does not have.
func (d *handler) serveNotFound(w http.ResponseWriter, r *http.Request) {
	var allowed []string
	probe := r.WithContext(r.Context())
	for _, m := range methods {
		probe.Method = m
		if _, pattern := d.mux.Handler(probe); pattern != catchAll && !d.methodNotAllowed[pattern] {
			allowed = append(allowed, m)
		}
	}
	if allowed == nil {
		d.refusePath(w, r)
		return
	}
	d.OnUnmatched.Count(httpapi.UnmatchedMethod)
	w.Header().Set("Allow", strings.Join(allowed, ", "))
	httpapi.WriteError(w, r, nil, loci.Errorf(loci.CodeMethodNotAllowed, "The path does not have this method: use %s.",
		strings.Join(allowed, " or ")))
}

// refusePath refuses a path that does not exist.
func (d *handler) refusePath(w http.ResponseWriter, r *http.Request) {
	d.OnUnmatched.Count(httpapi.UnmatchedPath)
	httpapi.WriteError(w, r, nil, d.errNoRoute(r.URL.Path))
}

// isCleanPath reports whether the mux routes a path unchanged. It would redirect empty or dotted segments, and a slash
// within a segment would become part of an id.
func isCleanPath(u *url.URL) bool {
	p := strings.TrimSuffix(u.Path, "/")
	return strings.HasPrefix(u.Path, "/") && !strings.Contains(strings.ToLower(u.RawPath), "%2f") &&
		(p == "" || !strings.HasSuffix(p, "/") && path.Clean(p) == p)
}
