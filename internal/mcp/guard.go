package mcp

import (
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/loci-memory/loci"
)

// A guard keeps pages of other sites out. A page can point its own name at
// this server and is then of the same origin as it (DNS rebinding), so that
// the name by which the server is called must be one of its own. An address
// of numbers is one: there is no name to rebind.
type guard struct {
	hosts   []string // without port, in lower case
	origins []string
}

func (d *Door) guard() guard {
	g := guard{hosts: []string{"localhost"}, origins: d.Origins}
	if u, err := url.Parse(d.PublicURL); err == nil && u.Host != "" {
		g.hosts = append(g.hosts, strings.ToLower(u.Hostname()))
		g.origins = append(slices.Clone(g.origins), u.Scheme+"://"+u.Host)
	}
	for _, h := range d.Hosts {
		g.hosts = append(g.hosts, strings.ToLower(h))
	}
	return g
}

func (g guard) check(r *http.Request) error {
	if host := name(r.Host); net.ParseIP(host) == nil && !strings.HasSuffix(host, ".localhost") && !slices.Contains(g.hosts, host) {
		return loci.Fail(loci.Forbidden, "The server does not know itself by the name of the Host header: its operator sets the public URL.")
	}
	for _, origin := range r.Header.Values("Origin") {
		if u, err := url.Parse(origin); slices.Contains(g.origins, origin) || err == nil && (u.Scheme == "http" || u.Scheme == "https") && strings.EqualFold(u.Host, r.Host) {
			continue
		}
		return loci.Fail(loci.Forbidden, "Pages of this origin may not call: the server's operator can allow the origin.")
	}
	return nil
}

// name returns the host of a Host header without port and brackets.
func name(hostport string) string {
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		hostport = h
	}
	return strings.ToLower(strings.Trim(hostport, "[]"))
}
