package attempt

import (
	"testing"
	"time"

	"github.com/loci-memory/loci"
)

func TestNetworkOfAddress(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"192.0.2.1":                "192.0.2.1",
		"::ffff:192.0.2.1":         "192.0.2.1",
		"2001:db8:1:2::1":          "2001:db8:1:2::/64",
		"2001:db8:1:2:ffff::9":     "2001:db8:1:2::/64",
		"2001:db8:1:3::1":          "2001:db8:1:3::/64",
		"fe80::1%eth0":             "fe80::/64",
		"":                         "",
		"a socket of the machine":  "a socket of the machine",
		"::ffff:192.0.2.1%ignored": "192.0.2.1",
	} {
		if got := NetworkOf(address); got != want {
			t.Errorf("%q is of %q, want %q", address, got, want)
		}
	}
}

// tester returns a limiter and the control of its clock.
func tester(limit, names int) (l *Limiter, pass func(time.Duration)) {
	now := time.Unix(1_800_000_000, 0)
	l = NewLimiter(func() time.Time { return now }, limit, "refused")
	l.attempts.max = names
	return l, func(d time.Duration) { now = now.Add(d) }
}

func tryAttempt(l *Limiter, names ...Key) error {
	_, err := l.Attempt(names)
	return err
}

func account(name string) Key { return Key{Account: name} }

func TestLimiterEvictsLeastRecentWhenFull(t *testing.T) {
	t.Parallel()
	l, pass := tester(1, 3)
	for _, name := range []string{"a", "b", "c", "d"} {
		if err := tryAttempt(l, account(name)); err != nil {
			t.Fatal(err)
		}
		pass(time.Second)
	}
	for name, limited := range map[string]bool{"b": true, "c": true, "d": true} {
		if err := tryAttempt(l, account(name)); loci.Is(err, loci.CodeRateLimited) != limited {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := tryAttempt(l, account("a")); err != nil || len(l.attempts.entries) != 3 {
		t.Errorf("the oldest of %d: %v", len(l.attempts.entries), err)
	}
}

func TestLimiterForgetsExpiredNames(t *testing.T) {
	t.Parallel()
	l, pass := tester(2, 1000)
	for i := range 500 {
		if err := tryAttempt(l, account(string(rune('a'+i)))); err != nil {
			t.Fatal(err)
		}
	}
	pass(window)
	if err := tryAttempt(l, account("new")); err != nil || len(l.attempts.entries) != 1 || l.attempts.order.Len() != 1 {
		t.Errorf("%d names, %v", len(l.attempts.entries), err)
	}
}

func TestLimiterCountsNoRefusedAttempt(t *testing.T) {
	t.Parallel()
	l, _ := tester(1, 10)
	first, second := account("first"), account("second")
	if err := tryAttempt(l, second); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := tryAttempt(l, first, second); !loci.Is(err, loci.CodeRateLimited) {
			t.Error(err)
		}
	}
	if len(l.attempts.entries) != 1 {
		t.Errorf("%d names", len(l.attempts.entries))
	}
	if err := tryAttempt(l, first); err != nil {
		t.Error(err)
	}
}

func TestLimiterReleasesAttempt(t *testing.T) {
	t.Parallel()
	l, _ := tester(1, 10)
	for range 3 {
		release, err := l.Attempt([]Key{account("a"), {Network: "n"}})
		if err != nil {
			t.Fatal(err)
		}
		release()
	}
	if len(l.attempts.entries) != 0 {
		t.Errorf("%d names", len(l.attempts.entries))
	}
}

func TestSignInLimiterKeepsFewNetworksOfAccount(t *testing.T) {
	t.Parallel()
	l := NewSignInLimiter(time.Now, 1)
	for i := range maxKnownNetworks + 1 {
		l.RecordSuccess("ada", "192.0.2."+string(rune('0'+i)))
	}
	l.RecordSuccess("ada", "192.0.2.1") // again: now the most recent one
	l.RecordSuccess("ada", "")
	for network, want := range map[string]bool{"192.0.2.0": false, "192.0.2.1": true, "192.0.2.8": true, "": false} {
		if l.isKnownNetwork("ada", network) != want || l.isKnownNetwork("bea", network) {
			t.Errorf("%q: known are %q", network, *l.networks.get("ada"))
		}
	}
	if n := len(*l.networks.get("ada")); n != maxKnownNetworks {
		t.Errorf("%d networks", n)
	}
}
