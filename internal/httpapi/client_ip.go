package httpapi

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/loci-memory/loci/internal/limit"
)

// Proxies are the networks of reverse proxies whose X-Forwarded-For counts.
type Proxies []netip.Prefix

// ClientIP returns the IP address of the client. It is the peer's, or, where the
// peer is a trusted proxy, the last one in X-Forwarded-For that is none.
func (p Proxies) ClientIP(r *http.Request) string {
	if len(p) == 0 {
		host := r.RemoteAddr
		if i := strings.LastIndexByte(host, ':'); i >= 0 {
			host = host[:i]
		}
		return strings.Trim(host, "[]")
	}
	at, ok := parseAddress(r.RemoteAddr)
	if !ok {
		return r.RemoteAddr
	}
	hops := strings.Split(strings.Join(r.Header["X-Forwarded-For"], ","), ",")
	for i := len(hops) - 1; i >= 0 && p.contains(at); i-- {
		before, ok := parseAddress(strings.TrimSpace(hops[i]))
		if !ok {
			break
		}
		at = before
	}
	return at.String()
}

// Subnet returns the network to which a connection from a peer counts. Those of trusted proxies count to none.
func (p Proxies) Subnet(peer string) limit.Key {
	at, ok := parseAddress(peer)
	switch {
	case !ok:
		return limit.Subnet(peer)
	case p.contains(at):
		return limit.Key{}
	}
	return limit.Subnet(at.String())
}

// FromTrustedProxy reports whether a trusted proxy sent the request.
func (p Proxies) FromTrustedProxy(r *http.Request) bool {
	peer, ok := parseAddress(r.RemoteAddr)
	return ok && p.contains(peer)
}

// IgnoresForwarded reports whether a request comes from a likely proxy that is not trusted: a peer on this machine or
// in a private network that sends X-Forwarded-For. All its clients then count as one.
func (p Proxies) IgnoresForwarded(r *http.Request) bool {
	if len(r.Header["X-Forwarded-For"]) == 0 {
		return false
	}
	peer, ok := parseAddress(r.RemoteAddr)
	return ok && (peer.IsLoopback() || peer.IsPrivate()) && !p.contains(peer)
}

// parseAddress reads an address with or without a port.
func parseAddress(s string) (netip.Addr, bool) {
	if both, err := netip.ParseAddrPort(s); err == nil {
		return both.Addr().Unmap(), true
	}
	a, err := netip.ParseAddr(strings.Trim(s, "[]"))
	return a.Unmap(), err == nil
}

func (p Proxies) contains(a netip.Addr) bool {
	return slices.ContainsFunc(p, func(network netip.Prefix) bool { return network.Contains(a) })
}
