package httpapi_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"

	"github.com/loci-memory/loci/internal/httpapi"
	"github.com/loci-memory/loci/internal/testenv"
)

func TestIgnoredProxyIsNearAndNotTrusted(t *testing.T) {
	t.Parallel()
	trusted := httpapi.Proxies{netip.MustParsePrefix("10.1.0.0/16")}
	for _, c := range []struct {
		peer, forwarded string
		want            bool
	}{
		{"127.0.0.1:9", "192.0.2.1", true}, {"[::1]:9", "192.0.2.1", true}, {"10.2.0.1:9", "192.0.2.1", true},
		{"10.1.0.1:9", "192.0.2.1", false}, {"127.0.0.1:9", "", false},
		{"192.0.2.7:9", "192.0.2.1", false}, // a client may send the header itself
		{"a pipe", "192.0.2.1", false},
	} {
		r := &http.Request{RemoteAddr: c.peer, Header: http.Header{}}
		if c.forwarded != "" {
			r.Header.Set("X-Forwarded-For", c.forwarded)
		}
		testenv.Equal(t, trusted.IgnoresForwarded(r), c.want, c)
	}
}

func TestClientIPTrustsOnlyConfiguredProxies(t *testing.T) {
	t.Parallel()
	proxies := httpapi.Proxies{netip.MustParsePrefix("10.0.0.0/8")}
	for _, c := range []struct {
		peer string
		sent []string
		want string
	}{
		{"192.0.2.1:5", []string{"203.0.113.9"}, "192.0.2.1"},
		{"10.0.0.1:5", nil, "10.0.0.1"},
		{"10.0.0.1:5", []string{"203.0.113.9"}, "203.0.113.9"},
		{"[::ffff:10.0.0.1]:5", []string{"203.0.113.9"}, "203.0.113.9"},
		{"10.0.0.1:5", []string{"1.1.1.1, 203.0.113.9"}, "203.0.113.9"},
		{"10.0.0.1:5", []string{"1.1.1.1, 203.0.113.9", "10.9.9.9"}, "203.0.113.9"},
		{"10.0.0.1:5", []string{"10.2.2.2, 10.9.9.9"}, "10.2.2.2"},
		{"10.0.0.1:5", []string{"203.0.113.9:80"}, "203.0.113.9"},
		{"10.0.0.1:5", []string{"[2001:db8::1]:80"}, "2001:db8::1"},
		{"10.0.0.1:5", []string{"203.0.113.9, nonsense"}, "10.0.0.1"},
		{"[2001:db8::2]:5", []string{"203.0.113.9"}, "2001:db8::2"},
	} {
		r := httptest.NewRequest("GET", "/v1/things", nil)
		r.RemoteAddr = c.peer
		r.Header["X-Forwarded-For"] = c.sent
		testenv.Equal(t, proxies.ClientIP(r), c.want, c.peer, c.sent)
		host, _, _ := net.SplitHostPort(c.peer)
		testenv.Equal(t, httpapi.Proxies(nil).ClientIP(r), host, "without proxies", c.peer)
	}
}
