package httpapi

import (
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/loci-memory/loci"
)

// AllowedHosts are the names of a server. A page of another site can point its own name at the server and then has the
// same origin (DNS rebinding). So the Host header must hold one of these names or a numeric address, which has no name
// to rebind.
type AllowedHosts struct {
	names   []string // without port, in lower case
	public  string   // the name of them that a proxy may forward, or ""
	proxies Proxies
}

// NewAllowedHosts returns the hosts of a server: localhost, the host of its public URL and further names. Trusted
// proxies may send the public host in X-Forwarded-Host, but no other name, because a page can set the header too.
func NewAllowedHosts(publicURL string, proxies Proxies, more ...string) *AllowedHosts {
	h := &AllowedHosts{names: []string{"localhost"}, proxies: proxies}
	if u, err := url.Parse(publicURL); err == nil && u.Host != "" {
		public := strings.ToLower(u.Hostname())
		h.names = append(h.names, public)
		if net.ParseIP(public) == nil && !IsLoopback(public) {
			h.public = public
		}
	}
	for _, name := range more {
		h.names = append(h.names, strings.ToLower(name))
	}
	return h
}

// Check refuses a request whose Host header holds a name of another server.
func (h *AllowedHosts) Check(r *http.Request) error {
	if h.contains(r.Host) {
		return nil
	}
	forwarded := r.Header["X-Forwarded-Host"]
	if len(forwarded) == 1 && h.public != "" && hostname(forwarded[0]) == h.public && h.proxies.FromTrustedProxy(r) {
		return nil
	}
	return loci.Errorf(loci.CodeForbidden,
		"The Host header does not name this server: its operator sets the name with LOCI_PUBLIC_URL.")
}

func (h *AllowedHosts) contains(hostport string) bool {
	host := hostname(hostport)
	return net.ParseIP(host) != nil || strings.HasSuffix(host, ".localhost") || slices.Contains(h.names, host)
}

// hostname returns the host of a Host header without port and brackets, in lower case.
func hostname(hostport string) string {
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		hostport = h
	}
	return strings.ToLower(strings.Trim(hostport, "[]"))
}

// IsLoopback reports whether the host of a Host header or of a listener's address is this machine.
func IsLoopback(hostport string) bool {
	host := hostname(hostport)
	ip := net.ParseIP(host)
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || ip != nil && ip.IsLoopback()
}

// IsSecureURL reports whether traffic to a URL is encrypted or stays on this machine: browsers keep Secure cookies
// there. An empty URL is secure.
func IsSecureURL(address string) bool {
	host, plain := strings.CutPrefix(address, "http://")
	return !plain || IsLoopback(host)
}
