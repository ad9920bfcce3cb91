package httpapi

import (
	"crypto/tls"
	"net/http/httptest"
	"net/netip"
	"testing"

	"github.com/loci-memory/loci"
)

func TestAllowedHostsRejectOtherNames(t *testing.T) {
	t.Parallel()
	hosts := NewAllowedHosts("https://Loci.example.org:8443", []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
		"Box")
	for _, c := range []struct {
		host, forwarded, peer string
		pass                  bool
	}{
		{host: "127.0.0.1:7007", pass: true},
		{host: "[::1]:7007", pass: true},
		{host: "192.168.1.5", pass: true},
		{host: "LOCALHOST:1", pass: true},
		{host: "a.localhost:1", pass: true},
		{host: "loci.EXAMPLE.org", pass: true},
		{host: "loci.example.org:7007", pass: true},
		{host: "box", pass: true},
		{host: "evil.example"},
		{host: "evil.example:7007"},
		{host: "127.0.0.1.evil.example"},
		{host: "localhost.evil.example"},
		{host: "loci.example.org.evil.example"},
		{host: ""},
		{host: "upstream", forwarded: "loci.example.org", peer: "127.0.0.1:5", pass: true},
		{host: "upstream", forwarded: "evil.example", peer: "127.0.0.1:5"},
		{host: "upstream", forwarded: "loci.example.org", peer: "10.0.0.1:5"},
		{host: "upstream", forwarded: "localhost", peer: "127.0.0.1:5"},
		{host: "upstream", forwarded: "a.localhost:7007", peer: "127.0.0.1:5"},
		{host: "upstream", forwarded: "127.0.0.1:7007", peer: "127.0.0.1:5"},
		{host: "upstream", forwarded: "[::1]", peer: "127.0.0.1:5"},
		{host: "upstream", forwarded: "box", peer: "127.0.0.1:5"},
		{host: "upstream", forwarded: "", peer: "127.0.0.1:5"},
		{host: "127.0.0.1", forwarded: "unknown.example", peer: "127.0.0.1:5", pass: true},
	} {
		r := httptest.NewRequest("GET", "/v1/status", nil)
		r.Host = c.host
		if c.peer != "" {
			r.RemoteAddr = c.peer
		}
		if c.forwarded != "" {
			r.Header.Set("X-Forwarded-Host", c.forwarded)
		}
		if err := hosts.Check(r); (err == nil) != c.pass || err != nil && !loci.Is(err, loci.CodeForbidden) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func TestAllowedHostsIgnoreForwardedAddresses(t *testing.T) {
	t.Parallel()
	for _, public := range []string{"", "http://localhost:7007", "http://127.0.0.1:7007", "http://[::1]:7007"} {
		hosts := NewAllowedHosts(public, []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")})
		for _, forwarded := range []string{"", "localhost", "localhost:7007", "127.0.0.1:7007", "[::1]:7007"} {
			r := httptest.NewRequest("GET", "/v1/status", nil)
			r.Host, r.RemoteAddr = "rebound.example:7007", "127.0.0.1:5"
			r.Header.Set("X-Forwarded-Host", forwarded)
			if err := hosts.Check(r); !loci.Is(err, loci.CodeForbidden) {
				t.Errorf("with the public URL %q, %q is forwarded: %v", public, forwarded, err)
			}
		}
	}
}

func TestCookieNameFollowsScheme(t *testing.T) {
	t.Parallel()
	proxies := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	for name, c := range map[string]struct {
		public, host, peer, proto string
		tls                       bool
		cookie, base              string
	}{
		"an address of the network": {host: "192.168.1.5:7204", cookie: insecureCookieName,
			base: "http://192.168.1.5:7204"},
		"a name of the network": {host: "box.lan:7204", cookie: insecureCookieName, base: "http://box.lan:7204"},
		"this machine":          {host: "127.0.0.1:7204", cookie: secureCookieName, base: "http://127.0.0.1:7204"},
		"localhost":             {host: "localhost:7204", cookie: secureCookieName, base: "http://localhost:7204"},
		"TLS":                   {host: "box.lan", tls: true, cookie: secureCookieName, base: "https://box.lan"},
		"a proxy with TLS": {host: "loci.lan", peer: "10.0.0.1:9", proto: "https", cookie: secureCookieName,
			base: "https://loci.lan"},
		"a proxy without": {host: "loci.lan", peer: "10.0.0.1:9", proto: "http", cookie: insecureCookieName,
			base: "http://loci.lan"},
		"two proxies": {host: "loci.lan", peer: "10.0.0.1:9", proto: "https, http", cookie: secureCookieName,
			base: "https://loci.lan"},
		"https, says the operator": {public: "https://loci.lan", host: "loci.lan", peer: "10.0.0.1:9", proto: "http",
			cookie: secureCookieName, base: "https://loci.lan"},
		"a stranger says https": {host: "loci.lan", peer: "192.0.2.9:9", proto: "https", cookie: insecureCookieName,
			base: "http://loci.lan"},
		"a public URL with https": {public: "https://loci.example.org", host: "127.0.0.1:7007",
			cookie: secureCookieName,
			base:   "https://loci.example.org"},
		"a public URL with http": {public: "http://loci.lan", host: "loci.lan", cookie: insecureCookieName,
			base: "http://loci.lan"},
		"a proxy that writes Host": {public: "http://loci.lan", host: "127.0.0.1:7007", cookie: insecureCookieName,
			base: "http://loci.lan"},
		"a public URL of loopback": {public: "http://127.0.0.1:7007", host: "127.0.0.1:7007", cookie: secureCookieName,
			base: "http://127.0.0.1:7007"},
		"a public URL is not it": {public: "http://127.0.0.1:7007", host: "192.168.1.5:7007",
			cookie: insecureCookieName,
			base:   "http://127.0.0.1:7007"},
		"a Host for a shell": {host: "x$(id).lan", cookie: insecureCookieName, base: "http://localhost"},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.Host = c.host
		if c.peer != "" {
			r.RemoteAddr = c.peer
		}
		if c.proto != "" {
			r.Header.Set("X-Forwarded-Proto", c.proto)
		}
		if c.tls {
			r.TLS = &tls.ConnectionState{}
		}
		s := &Site{PublicURL: c.public, TrustedProxies: proxies}
		if got, base := s.cookieName(r), s.BaseURL(r); got != c.cookie || base != c.base {
			t.Errorf("%s: %s %s, want %s %s", name, got, base, c.cookie, c.base)
		}
	}
}
