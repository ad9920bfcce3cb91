package rest

import (
	"net/http"
	"regexp"
	"strings"

	"github.com/loci-memory/loci/internal/httpapi"
)

// The cookies of a signed-in browser. The first one is Secure: a browser keeps it only from a server over https or on
// this machine.
const (
	secureCookieName   = "__Host-loci"
	insecureCookieName = "loci_session"
)

// isSecure reports whether a browser reached the server in a way in which it keeps Secure cookies: over https, or on a
// loopback address. The first of these decides:
//   - TLS, or a public URL with https, because the last of several proxies may say http
//   - the X-Forwarded-Proto of a trusted proxy
//   - a public URL that is not secure, because a proxy may have written a loopback address into Host
//   - the Host
func (d *handler) isSecure(r *http.Request) bool {
	public := d.configuredURL()
	if r.TLS != nil || strings.HasPrefix(public, "https://") {
		return true
	}
	if proto := r.Header.Values("X-Forwarded-Proto"); len(proto) == 1 && d.TrustedProxies.FromTrustedProxy(r) {
		first, _, _ := strings.Cut(proto[0], ",")
		return strings.EqualFold(strings.TrimSpace(first), "https")
	}
	return httpapi.IsSecureURL(public) && httpapi.IsLoopback(r.Host)
}

// configuredURL returns the public URL if the operator set one.
func (d *handler) configuredURL() string {
	if d.PublicURLInferred {
		return ""
	}
	return d.PublicURL
}

// cookieName returns the name of the cookie that the browser of a request keeps.
func (d *handler) cookieName(r *http.Request) string { return cookieName(d.isSecure(r)) }

func cookieName(secure bool) string {
	if secure {
		return secureCookieName
	}
	return insecureCookieName
}

// safeHost is a Host header that may be a word of a shell command.
var safeHost = regexp.MustCompile(`^[A-Za-z0-9.\-_:\[\]]+$`)

// baseURL returns the address of the server as the browser of a request reached it.
func (d *handler) baseURL(r *http.Request) string {
	switch {
	case d.configuredURL() != "":
		return d.configuredURL()
	case !safeHost.MatchString(r.Host):
		return "http://localhost"
	case d.isSecure(r) && !httpapi.IsLoopback(r.Host):
		return "https://" + r.Host
	}
	return "http://" + r.Host
}
