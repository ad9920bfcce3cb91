package httpapi

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/loci-memory/loci"
)

// Origins are the origins whose pages may call a server from a browser: its own, and those that its operator allows.
type Origins struct {
	allowed []string // by the operator
	own     string   // of the public URL, or ""
	csrf    *http.CrossOriginProtection
}

// NewOrigins returns the origins of a server. It panics on a public URL without an origin.
func NewOrigins(publicURL string, allowed ...string) *Origins {
	o := &Origins{allowed: allowed, csrf: http.NewCrossOriginProtection()}
	if u, err := url.Parse(publicURL); err == nil && u.Host != "" {
		o.own = OriginOf(u)
		if err := o.csrf.AddTrustedOrigin(o.own); err != nil {
			panic("httpapi: " + err.Error())
		}
	}
	return o
}

// OriginOf returns the origin of an address in ASCII as browsers send it: in lower case, without a default port
// (RFC 6454, section 6.2).
func OriginOf(u *url.URL) string {
	defaultPort := map[string]string{"http": ":80", "https": ":443"}[u.Scheme]
	return u.Scheme + "://" + strings.TrimSuffix(strings.ToLower(u.Host), defaultPort)
}

// Enabled reports whether pages of other origins may read responses.
func (o *Origins) Enabled() bool { return len(o.allowed) > 0 }

// Allowed returns the origin of a request if the operator allows its pages to read the response (Fetch, section 3.3).
func (o *Origins) Allowed(r *http.Request) (origin string, ok bool) {
	given := r.Header.Values("Origin")
	if len(given) != 1 || !slices.Contains(o.allowed, given[0]) {
		return "", false
	}
	return given[0], true
}

// IsForgeable reports whether a page of another origin may have sent the request with a cookie of the browser. The
// origins of the operator are others too: their pages send keys.
func (o *Origins) IsForgeable(r *http.Request) bool { return o.csrf.Check(r) != nil }

// Check refuses a request of a page of an unknown origin, with any credential and method.
func (o *Origins) Check(r *http.Request) error {
	for _, origin := range r.Header.Values("Origin") {
		u, err := url.Parse(origin)
		isOwn := err == nil && (u.Scheme == "http" || u.Scheme == "https") && strings.EqualFold(u.Host, r.Host)
		if !isOwn && origin != o.own && !slices.Contains(o.allowed, origin) {
			return loci.Errorf(loci.CodeForbidden,
				"Pages of this origin may not call: the server's operator can allow the origin.")
		}
	}
	return nil
}
