package limit

import (
	"fmt"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/testenv"
)

// TestSharesEndOldestHoldingOfNetwork fills the share of a network. Others, and holdings that users proved, stay.
func TestSharesEndOldestHoldingOfSubnet(t *testing.T) {
	t.Parallel()
	s, ended := NewShares(2), []string(nil)
	add := func(name string, key Key) *Holding { return s.Add(key, func() { ended = append(ended, name) }) }
	network, other, ann := Subnet("192.0.2.1"), Subnet("198.51.100.1"), User("ann")
	proved := add("proved", network)
	if !proved.TryMove(ann) {
		t.Fatal("a user without holdings is refused")
	}
	first := add("first", network)
	add("second", network)
	add("other", other)
	testenv.Equal(t, len(ended), 0, "ended within the share", ended)
	first.Move(network, false) // is now the newest
	add("third", Subnet("192.0.2.200"))
	testenv.Equal(t, fmt.Sprint(ended), "[second]", "ended")
	proved.Move(network, true)
	testenv.Equal(t, fmt.Sprint(ended), "[second first]", "ended when a call is over")
	for range 5 {
		add("proxy", Key{})
	}
	first.Move(network, false) // has ended, and counts nowhere
	add("fourth", network)
	testenv.Equal(t, fmt.Sprint(ended), "[second first proved]", "ended is the newer one, which waits")
	proved.Remove()
}

func TestSharesRefuseUserAtItsShare(t *testing.T) {
	t.Parallel()
	s, ann := NewShares(2), User("ann")
	var held []*Holding
	for i := range 3 {
		h := s.Add(Subnet(fmt.Sprintf("192.0.%d.1", i)), func() { t.Error("a holding ends") })
		testenv.Equal(t, h.TryMove(ann), i < 2, i)
		held = append(held, h)
	}
	if !held[0].TryMove(ann) {
		t.Error("a holding of the user is refused again")
	}
	held[1].Remove()
	if !held[2].TryMove(ann) || !held[2].TryMove(User("bob")) {
		t.Error("a free place is refused")
	}
	if err := Prove(t.Context(), ann); err != nil {
		t.Error(err)
	}
	refused := loci.NewError(loci.CodeRateLimited)
	if err := Prove(WithProver(t.Context(), func(Key) error { return refused }), ann); err != refused {
		t.Error(err)
	}
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
	if n := s.users.InUse() + s.networks.InUse(); n != 2 {
		t.Errorf("%d streams are left", n)
	}
}

func TestSubnetOfAddress(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{"192.0.2.1": "192.0.2.0/24", "::ffff:192.0.2.9": "192.0.2.0/24",
		"2001:db8:1:2::1": "2001:db8:1::/56", "2001:db8:1:103::1": "2001:db8:1:100::/56", "": ""} {
		testenv.Equal(t, Subnet(address).id, want, address)
	}
}
