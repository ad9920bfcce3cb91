package rest

import (
	"net/http"
	"regexp"
	"strings"

	"github.com/loci-memory/loci/internal/httpapi"
)

// The cookies of a signed-in browser. The first one is Secure: a browser keeps it
// only where the server is reached over https or on this machine.
const (
	secureCookie = "__Host-loci"
	plainCookie  = "loci_session"
)

// secure reports whether a browser reached the server in a way in which it keeps
// Secure cookies: over https, or on a loopback address. A public URL with https holds
// for every request, because the last of several proxies may say http. Otherwise a
// trusted proxy says how it was reached, and then the public URL, because a proxy may
// have written a loopback address into Host.
func (d *door) secure(r *http.Request) bool {
	public := d.given()
	if r.TLS != nil || strings.HasPrefix(public, "https://") {
		return true
	}
	if proto := r.Header["X-Forwarded-Proto"]; len(proto) == 1 && d.TrustedProxies.Forwarded(r) {
		first, _, _ := strings.Cut(proto[0], ",")
		return strings.EqualFold(strings.TrimSpace(first), "https")
	}
	return securePublicly(public) && httpapi.Loopback(r.Host)
}

// given returns the public URL if the operator set one.
func (d *door) given() string {
	if d.Guessed {
		return ""
	}
	return d.PublicURL
}

// securePublicly reports whether a browser keeps Secure cookies at a public URL.
// Without one the Host of a request decides.
func securePublicly(publicURL string) bool {
	host, plain := strings.CutPrefix(publicURL, "http://")
	return publicURL == "" || !plain || httpapi.Loopback(host)
}

// cookieName returns the name of the cookie that the browser of a request keeps.
func (d *door) cookieName(r *http.Request) string { return cookieName(d.secure(r)) }

func cookieName(secure bool) string {
	if secure {
		return secureCookie
	}
	return plainCookie
}

// plainHost is a Host header that may be a word of a shell command.
var plainHost = regexp.MustCompile(`^[A-Za-z0-9.\-_:\[\]]+$`)

// base returns the address of the server as the browser of a request reached it.
func (d *door) base(r *http.Request) string {
	switch {
	case d.given() != "":
		return d.given()
	case !plainHost.MatchString(r.Host):
		return "http://localhost"
	case d.secure(r) && !httpapi.Loopback(r.Host):
		return "https://" + r.Host
	}
	return "http://" + r.Host
}
