// Package rest is the door of Loci to HTTP. Each operation of the table is one
// route, and one OpenAPI document describes them all. Nothing is decided here
// that would hold at another door too: that stands in package op.
package rest

import (
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/httpapi"
	"github.com/loci-memory/loci/internal/op"
)

// Options are what the door needs to know of the house.
type Options struct {
	Table *op.Table
	Host  *op.Host
	Log   *slog.Logger

	// ServiceVersion is the version of the program; that of the contract is Version.
	ServiceVersion string
	PublicURL      string // where clients reach the service; empty is wherever they did
	// Guessed reports that PublicURL follows from the listener alone, so that the Host
	// of a request knows better.
	Guessed bool
	Origins []string // whose pages may ask from a browser: "https://app.example.org"
	// TrustedProxies are the peers that are believed when they say, in
	// X-Forwarded-For, for whom they ask, and in X-Forwarded-Proto, how.
	TrustedProxies httpapi.Proxies
	// Hosts refuses requests to names of other servers; nil answers to every name.
	Hosts *httpapi.Hosts
	Pages Pages // nil serves no pages
	Extra []Route
	// Absent are operations that this variant of the contract does not have:
	// their routes are not there, whatever other methods their paths have.
	Absent []*op.Op
	// Flow bounds the answers that clients do not read; nil is without bounds.
	Flow *httpapi.Flow
}

// A Route is written by hand, because what it does is no operation.
type Route struct {
	Pattern string // of net/http: "GET /health"
	Handler http.Handler
	Reason  string // why it is no operation
	// Describe is the OpenAPI operation object of the route; without it the
	// document does not list the route.
	Describe any
}

type door struct {
	Options
	mux     *http.ServeMux
	foreign *http.CrossOriginProtection
	origins map[string][]string // an allowed origin, as the header that allows it
	refused map[string]bool     // patterns of methods that a path does not have: see narrow
}

// New returns a handler for every operation of the table, the extra routes and
// those of this package. It panics on routes that contradict one another and
// on an origin that is none.
func New(o Options) http.Handler {
	d := &door{Options: o, mux: http.NewServeMux(), foreign: http.NewCrossOriginProtection(), origins: map[string][]string{}, refused: map[string]bool{}}
	for _, origin := range o.Origins {
		d.trust(origin)
		d.origins[origin] = []string{origin}
	}
	if u, err := url.Parse(o.PublicURL); err == nil && u.Host != "" {
		d.trust(u.Scheme + "://" + u.Host)
	}
	for _, o := range o.Table.Ops {
		d.mux.Handle(o.Method+" "+o.Path, d.operation(o))
	}
	for _, r := range d.routes() {
		d.mux.Handle(r.Pattern, r.Handler)
	}
	for _, o := range o.Absent {
		d.mux.HandleFunc(o.Method+" "+o.Path, func(w http.ResponseWriter, r *http.Request) { d.fail(w, r, &op.Call{}, noRoute()) })
	}
	d.narrow()
	d.mux.HandleFunc(everything, d.unknown)
	return d
}

// methods are those that a path may have.
var methods = []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"}

// narrow keeps what a path without a field lacks from going to another one, which has
// a field in that place: GET /v1/memories/search is not the memory "search".
func (d *door) narrow() {
	has := map[string][]string{}
	for _, o := range d.Table.Ops {
		if strings.Contains(o.Path, "{") {
			continue
		}
		if has[o.Path] = append(has[o.Path], o.Method); o.Method == http.MethodGet {
			has[o.Path] = append(has[o.Path], http.MethodHead)
		}
	}
	for path, own := range has {
		for _, m := range methods {
			if slices.Contains(own, m) {
				continue
			}
			probe := &http.Request{Method: m, URL: &url.URL{Path: path}}
			if _, pattern := d.mux.Handler(probe); pattern != "" && !d.refused[pattern] {
				pattern = m + " " + path
				d.refused[pattern] = true
				d.mux.HandleFunc(pattern, d.unknown)
			}
		}
	}
}

func (d *door) trust(origin string) {
	if err := d.foreign.AddTrustedOrigin(origin); err != nil {
		panic("rest: " + err.Error())
	}
}

// operation returns the handler of one operation.
func (d *door) operation(o *op.Op) http.HandlerFunc {
	var names []string
	for _, f := range o.Fields() {
		if f.Place == op.InPath {
			names = append(names, f.Name)
		}
	}
	return func(w http.ResponseWriter, r *http.Request) {
		c := d.call(w, r)
		in := inputs.Get().(*input)
		out, err := d.Host.Run(r.Context(), o, c, func() (op.Args, error) { return in.read(w, r, o, names) })
		in.release() // a client that reads slowly does not keep its request in memory
		if err != nil {
			d.fail(w, r, c, err)
			return
		}
		if s, ok := out.(op.Stream); ok {
			d.stream(w, r, c, s)
			return
		}
		d.reply(w, r, c, out, o.Reads)
	}
}

var (
	noSniff = []string{"nosniff"}
	noStore = []string{"no-store"}
)

func (d *door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h["X-Request-Id"] = []string{requestID(r)}
	h["X-Content-Type-Options"] = noSniff
	h["Cache-Control"] = noStore
	if d.Hosts != nil {
		if err := d.Hosts.Check(r); err != nil {
			d.fail(w, r, &op.Call{}, err)
			return
		}
	}
	if len(d.origins) > 0 && d.cors(w, r) {
		return
	}
	if !clean(r.URL) {
		d.fail(w, r, &op.Call{}, noRoute())
		return
	}
	d.mux.ServeHTTP(w, r)
}

// everything is the pattern of what no other one takes. With it, the mux never
// answers a wrong path or method in its own words.
const everything = "/"

// unknown refuses a path that does not exist, or a method that it does not have.
func (d *door) unknown(w http.ResponseWriter, r *http.Request) {
	var allowed []string
	probe := r.WithContext(r.Context())
	for _, m := range methods {
		probe.Method = m
		if _, pattern := d.mux.Handler(probe); pattern != everything && !d.refused[pattern] {
			allowed = append(allowed, m)
		}
	}
	if allowed == nil {
		d.fail(w, r, &op.Call{}, noRoute())
		return
	}
	w.Header()["Allow"] = []string{strings.Join(allowed, ", ")}
	d.fail(w, r, &op.Call{}, loci.Fail(loci.MethodNotAllowed))
}

func noRoute() error {
	return loci.Fail(loci.NotFound, "There is no such route: /openapi.json lists them all.")
}

// clean reports whether a path is one that the mux takes as it is: what holds
// empty or dotted segments would be redirected, and a slash within a segment
// would end up in an id.
func clean(u *url.URL) bool {
	if !strings.HasPrefix(u.Path, "/") || u.RawPath != "" && strings.Contains(strings.ToLower(u.RawPath), "%2f") {
		return false
	}
	for i := 0; i < len(u.Path)-1; i++ {
		if u.Path[i] != '/' {
			continue
		}
		switch rest := u.Path[i+1:]; {
		case rest[0] == '/':
			return false
		case rest[0] == '.' && (rest == "." || rest == ".." || strings.HasPrefix(rest, "./") || strings.HasPrefix(rest, "../")):
			return false
		}
	}
	return true
}
