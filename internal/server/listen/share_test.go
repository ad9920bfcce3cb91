package listen

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loci-memory/loci/internal/httpapi"
	"github.com/loci-memory/loci/internal/limit"
	"github.com/loci-memory/loci/internal/testenv"
)

// TestSlowBodiesOfNetworkLeaveConnectionsToOthers holds 32 slow requests of one address at a server of 16 connections,
// and opens others in place of those that end. Every call of that address is answered, and a call with a credential
// goes on.
func TestSlowBodiesOfNetworkLeaveConnectionsToOthers(t *testing.T) {
	t.Parallel()
	s := startServer(t, 16, 0)
	defer s.release()
	held := s.mustDial(t)
	if _, err := fmt.Fprint(held, "GET /held HTTP/1.1\r\nHost: x\r\nAuthorization: ann\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	<-s.held
	flood, endFlood := context.WithCancel(t.Context())
	var slow sync.WaitGroup
	var ended atomic.Int64
	for i := range 32 {
		slow.Go(func() {
			for ; flood.Err() == nil; ended.Add(1) {
				s.stall(flood, i)
			}
		})
	}
	for i := 0; i < 8 || ended.Load() == 0; i++ {
		if _, err := s.mustDial(t).call("/health"); err != nil {
			t.Errorf("call %d beside slow requests: %v", i, err)
		}
	}
	endFlood()
	slow.Wait()
	s.release()
	if _, err := held.answer(); err != nil {
		t.Errorf("the call with a credential: %v", err)
	}
}

// stall sends a part of a request, and returns once the server or the context has ended it.
func (s *testServer) stall(ctx context.Context, kind int) {
	c, err := s.dial()
	if err != nil {
		return
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { c.Close() })()
	switch kind % 3 {
	case 0:
		err = c.send("/slow/body", "{")
	case 1:
		_, err = fmt.Fprint(c, "GET /slow/head HTTP/1.1\r\nHost:")
	}
	if err == nil {
		_, _ = c.answer()
	}
}

// TestConnectionsStayWhileOthersAreFree holds as many slow requests of one address as may be open before connections
// are scarce.
func TestConnectionsStayWhileOthersAreFree(t *testing.T) {
	t.Parallel()
	s := startServer(t, 16, 0)
	defer s.release()
	var slow []*testConn
	for i := range 11 {
		c := s.mustDial(t)
		testenv.NoError(t, c.send(fmt.Sprint("/late/", i), "{"))
		slow = append(slow, c)
	}
	other := s.mustDial(t)
	for range 3 {
		if closes, err := other.call("/health"); err != nil || closes {
			t.Errorf("closes %v: %v", closes, err)
		}
	}
	for _, c := range slow {
		testenv.Must(c.Write([]byte("}")))(t)
		if _, err := c.answer(); err != nil {
			t.Errorf("a late body: %v", err)
		}
	}
}

// TestUserAboveItsShareLosesStalledCalls holds slow bodies and whole requests of a user at a server of 16 connections.
func TestUserAboveItsShareLosesStalledCalls(t *testing.T) {
	t.Parallel()
	s := startServer(t, 16, 0)
	defer s.release()
	call := func(path, user string, length int) *testConn {
		c := s.mustDial(t)
		if _, err := fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: x\r\nAuthorization: %s\r\nContent-Length: %d\r\n\r\n",
			path, user, length); err != nil {
			t.Fatal(err)
		}
		return c
	}
	var held, slow []*testConn
	for range 6 {
		held = append(held, call("/held", "ann", 0))
		<-s.held
	}
	for range 10 {
		slow = append(slow, call("/slow/body", "ann", 2))
	}
	for range 4 {
		if _, err := call("/more", "bob", 0).answer(); err != nil {
			t.Errorf("another user: %v", err)
		}
	}
	ended := 0
	for _, c := range slow {
		testenv.NoError(t, c.SetReadDeadline(time.Now().Add(time.Millisecond)))
		if _, err := c.answer(); !errors.Is(err, os.ErrDeadlineExceeded) {
			ended++
		}
	}
	if ended == 0 {
		t.Error("no stalled call has ended")
	}
	s.release()
	for _, c := range held {
		if _, err := c.answer(); err != nil {
			t.Errorf("a whole request of the user: %v", err)
		}
	}
}

// TestStalledCallsOfUsersCountForTheirNetwork holds a server of 16 connections by calls of five users, each within its
// share of four. Their bodies or the reading of their responses stall.
func TestStalledCallsOfUsersCountForTheirNetwork(t *testing.T) {
	t.Parallel()
	for name, request := range map[string]string{
		"bodies":    "POST /slow/body HTTP/1.1\r\nHost: x\r\nAuthorization: user%d\r\nContent-Length: 2\r\n\r\n{",
		"responses": "GET /large HTTP/1.1\r\nHost: x\r\nAuthorization: user%d\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startServer(t, 16, 0)
			defer s.release()
			moving := s.mustDial(t)
			_, err := fmt.Fprint(moving, "GET /held HTTP/1.1\r\nHost: x\r\nAuthorization: ann\r\n\r\n")
			testenv.NoError(t, err)
			<-s.held
			for i := range 20 {
				_, err := fmt.Fprintf(s.mustDial(t), request, i%5)
				testenv.NoError(t, err)
			}
			for range 4 {
				if _, err := s.mustDial(t).call("/health"); err != nil {
					t.Errorf("another call: %v", err)
				}
			}
			s.release()
			if _, err := moving.answer(); err != nil {
				t.Errorf("a call that does not stall: %v", err)
			}
		})
	}
}

// TestStallEndsWhenClientTakesMore writes a response whose client pauses. It counts for its network in the pauses
// alone, of which the network may hold one.
func TestStallEndsWhenClientTakesMore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		network := limit.Subnet("192.0.2.1")
		shares := limit.NewShares[limit.Key](8, 1)
		s := newConnShare(shares.Add(limit.Key{}, nil))
		defer s.end()
		s.begin(network, false)
		s.prove(limit.User("ann"))
		for i, stalls := range []bool{false, true, false, true, true, false} {
			s.write(false)
			if stalls {
				time.Sleep(2 * stallAfter)
			}
			synctest.Wait()
			other := shares.TryAdd(network, time.Hour, nil)
			testenv.Equal(t, other == nil, stalls, "part", i, "counts for the network")
			if other != nil {
				other.Remove()
			}
		}
		s.write(true)
	})
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
