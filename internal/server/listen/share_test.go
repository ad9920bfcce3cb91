package listen

import (
	"fmt"
	"net/http"
	"net/netip"
	"testing"

	"github.com/loci-memory/loci/internal/httpapi"
	"github.com/loci-memory/loci/internal/limit"
	"github.com/loci-memory/loci/internal/testenv"
)

// TestSlowBodiesOfNetworkLeaveConnectionsToOthers holds 76 slow bodies of one address at a server of 16 connections, as
// fast as it accepts them. A user who has proved a credential keeps its call, and others are answered.
func TestSlowBodiesOfNetworkLeaveConnectionsToOthers(t *testing.T) {
	t.Parallel()
	s := startServer(t, 16, 0)
	defer s.release()
	held := s.mustDial(t)
	if _, err := fmt.Fprint(held, "GET /held HTTP/1.1\r\nHost: x\r\nAuthorization: ann\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	<-s.held
	var slow []*testConn
	for i := range 76 {
		c := s.mustDial(t)
		testenv.NoError(t, c.send(fmt.Sprint("/slow/", i), "{"))
		if slow = append(slow, c); i%8 == 7 {
			if _, err := s.mustDial(t).call("/health"); err != nil {
				t.Fatalf("beside %d slow bodies: %v", i, err)
			}
		}
	}
	ended := make(chan error, len(slow))
	for _, c := range slow {
		go func() { _, err := c.answer(); ended <- err }()
	}
	for range len(slow) - limit.Share(16) {
		if err := <-ended; err == nil {
			t.Error("the body of a network at its share was awaited")
		}
	}
	s.release()
	if _, err := held.answer(); err != nil {
		t.Errorf("the call with a credential: %v", err)
	}
}

// TestUserAtItsShareOfConnectionsIsRefused holds four calls of a user at a server of 16 connections.
func TestUserAtItsShareOfConnectionsIsRefused(t *testing.T) {
	t.Parallel()
	s := startServer(t, 16, 0)
	defer s.release()
	call := func(path, user string) *testConn {
		c := s.mustDial(t)
		if _, err := fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: x\r\nAuthorization: %s\r\n\r\n", path, user); err != nil {
			t.Fatal(err)
		}
		return c
	}
	for range 4 {
		call("/held", "ann")
		<-s.held
	}
	res, err := http.ReadResponse(call("/more", "ann").in, nil)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusTooManyRequests || !res.Close {
		t.Errorf("%d, closes %v", res.StatusCode, res.Close)
	}
	if _, err := call("/more", "bob").answer(); err != nil {
		t.Errorf("another user: %v", err)
	}
}

// TestTrustedProxyHasNoShareOfItsOwn compares the keys of connections from peers.
func TestTrustedProxyHasNoShareOfItsOwn(t *testing.T) {
	t.Parallel()
	proxies := httpapi.Proxies{netip.MustParsePrefix("10.0.0.0/8")}
	for peer, want := range map[string]limit.Key{"10.1.2.3:5": {}, "192.0.2.7:5": limit.Subnet("192.0.2.1"),
		"[2001:db8::1]:5": limit.Subnet("2001:db8::2"), "pipe": limit.Subnet("pipe")} {
		testenv.Equal(t, proxies.Subnet(peer), want, peer)
	}
}
