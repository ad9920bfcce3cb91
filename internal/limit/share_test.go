package limit

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/testenv"
)

// A heldShares is shares of 40, of which a key has ten and more than 30 are scarce. It counts what ends, by key.
type heldShares struct {
	*Shares[Key]
	t     *testing.T
	ended map[Key]int
}

func (s *heldShares) add(key Key, n int) (list []*Holding[Key]) {
	for range n {
		list = append(list, s.Add(key, func() { s.ended[key]++ }))
	}
	return list
}

// expect ends stalled holdings after a pause. So many of a key have then ended, and none of others.
func (s *heldShares) expect(when string, pause time.Duration, key Key, want int) {
	s.t.Helper()
	time.Sleep(pause)
	s.EndStalled()
	if s.ended[key] != want || len(s.ended) > 1 {
		s.t.Errorf("%s: %v have ended, want %d", when, s.ended, want)
	}
}

func TestSharesEndStalledHoldingsWhileScarce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := heldShares{NewShares[Key](40, 10), t, map[Key]int{}}
		network, other := Subnet("192.0.2.1"), Subnet("198.51.100.1")
		held := s.add(network, 30)
		held[0].Move(User("ann"), false)
		held[1].Resume()
		kept := s.add(network, 1)[0]
		kept.Remove()
		s.expect("a quarter is free", time.Hour, network, 0)
		others := s.add(other, 1)
		s.expect("less than a quarter is free", 0, network, 1)
		others = append(others, s.add(other, 9)...) // at its share
		s.expect("keys wait for longest", time.Hour, network, 10)
		for _, h := range held {
			if h.waits {
				h.Wait()
			}
		}
		s.add(Key{}, 10) // as behind a proxy
		s.expect("no holding has waited", 0, network, 10)
		s.expect("nothing is free, shortly before", minStall-1, network, 10)
		s.expect("nothing is free", 1, network, 12) // now two are free, and a longer wait is needed
		s.expect("the key is at its share", maxStall, network, 19)
		if len(held[0].parts) == 0 || len(held[1].parts) == 0 || len(others[0].parts) == 0 {
			t.Error("a holding that does not wait, or of a key at its share, has ended")
		}
		for _, h := range append(held, others...) {
			h.Remove()
			h.Wait() // counts nowhere
		}
		if s.total != 10 || len(s.held) != 1 || len(s.above) != 0 {
			t.Errorf("%d are left, of %d keys, %d above their share", s.total, len(s.held), len(s.above))
		}
	})
}

// TestSharesCountStalledHoldingForNetworkToo holds 38 of 40 by five users of a network, each within its share.
func TestSharesCountStalledHoldingForNetworkToo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		network := Subnet("192.0.2.1")
		s := heldShares{NewShares[Key](40, 10), t, map[Key]int{}}
		held := s.add(network, 38)
		for i, h := range held {
			h.Move(User(fmt.Sprint("user", i%5)), true)
		}
		s.expect("every user is within its share", time.Hour, network, 0)
		for _, h := range held[:20] {
			h.CountFor(network)
			h.CountFor(network) // once
		}
		for _, h := range held[10:20] {
			h.CountForOne()
		}
		s.expect("the network is at its share", 0, network, 0)
		for _, h := range held[10:15] {
			h.CountFor(network)
		}
		s.expect("the network is five above its share", 0, network, 5)
		held[14].Move(User("user4"), false)
		s.expect("one goes on", 0, network, 5)
		for _, h := range held {
			h.Remove()
			h.CountFor(network) // counts nowhere
		}
		if s.total != 0 || len(s.held) != 0 || len(s.above) != 0 {
			t.Errorf("%d are left, of %d keys, %d above their share", s.total, len(s.held), len(s.above))
		}
	})
}

// TestSharesReplaceStalledHolding takes the share of ann, and then all.
func TestSharesReplaceStalledHolding(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const patience = 10 * time.Second
		s, ended := NewShares[Key](16, 4), ""
		held := map[string]*Holding[Key]{}
		try := func(user, name string, want bool, wantEnded string) {
			t.Helper()
			h := s.TryAdd(User(user), patience, func() { ended += name })
			if held[name] = h; (h != nil) != want || ended != wantEnded {
				t.Errorf("%s of %s: %v, %q have ended, want %v, %q", name, user, h != nil, ended, want, wantEnded)
			}
		}
		for _, name := range []string{"a", "b", "c", "d"} {
			try("ann", name, true, "")
		}
		time.Sleep(time.Hour)
		try("ann", "e", false, "") // no other one waits
		held["c"].Wait()
		held["b"].Wait()
		time.Sleep(patience - time.Millisecond)
		try("ann", "e", false, "")
		held["c"].Wait()
		time.Sleep(time.Millisecond)
		try("ann", "e", true, "b")
		try("ann", "f", false, "b")
		for i := range 12 {
			try(fmt.Sprint("user", i), "x", true, "b")
		}
		try("bob", "y", false, "b")
		time.Sleep(patience)
		try("bob", "y", true, "bc")
		testenv.Equal(t, s.total, 16, "holdings")
	})
}

// TestStreamsAreBoundedByUserNetworkAndWhole takes the streams of a server with 662 connections.
func TestStreamsAreBoundedByUserNetworkAndWhole(t *testing.T) {
	t.Parallel()
	s, releases := NewStreams(662), []func(){}
	take := func(user, address string, want loci.Code) {
		t.Helper()
		release, err := s.Acquire(loci.ID(user), address)
		if want == "" && err != nil || want != "" && (!loci.Is(err, want) || loci.AsError(err).RetryAfter == 0) {
			t.Fatalf("%s at %s: %v, want %q", user, address, err, want)
		}
		if err == nil {
			releases = append(releases, release)
		}
	}
	for i := range 64 { // over several networks
		take("ann", fmt.Sprintf("192.0.%d.1", i), "")
	}
	take("ann", "198.51.100.1", loci.CodeRateLimited)
	for i := range 165 {
		take(fmt.Sprint("user", i), fmt.Sprintf("203.0.113.%d", i), "")
	}
	take("eve", "203.0.113.200", loci.CodeUnavailable)
	for i := range 497 - 64 - 165 {
		take(fmt.Sprint("more", i), fmt.Sprintf("10.0.%d.1", i), "")
	}
	take("eve", "198.51.100.1", loci.CodeUnavailable)
	for _, release := range releases {
		release()
	}
	take("ann", "203.0.113.1", "")
	testenv.Equal(t, s.users.InUse()+s.networks.InUse(), 2, "streams are left")
}

func TestSubnetOfAddress(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{"192.0.2.1": "192.0.2.0/24", "::ffff:192.0.2.9": "192.0.2.0/24",
		"2001:db8:1:2::1": "2001:db8:1::/56", "2001:db8:1:103::1": "2001:db8:1:100::/56", "": ""} {
		testenv.Equal(t, Subnet(address).id, want, address)
	}
}
