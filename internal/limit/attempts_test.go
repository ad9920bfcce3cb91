package limit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/testenv"
)

// newAttempts returns a limit of attempts and the control of its clock.
func newAttempts(limit, keys int) (a *Attempts[string], pass func(time.Duration)) {
	now := epoch
	a = NewAttempts[string](func() time.Time { return now }, limit, "tests", "Too many.")
	a.maxKeys = keys
	return a, func(d time.Duration) { now = now.Add(d) }
}

func take(a *Attempts[string], keys ...string) error {
	_, err := a.Take(keys)
	return err
}

// TestAttemptsBoundEveryWindow draws attempts, and compares those in each window with the limit.
func TestAttemptsBoundEveryWindow(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 4).Draw(t, "limit")
		a, pass := newAttempts(limit, 1000)
		counted := map[string][]time.Time{} // those that were not released
		recent := func(key string) (list []time.Time) {
			for _, at := range counted[key] {
				if a.clock().Sub(at) < AttemptWindow {
					list = append(list, at)
				}
			}
			return list
		}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			pass(time.Duration(rapid.IntRange(0, 10).Draw(t, "minutes")) * time.Minute)
			names := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c"}), 1, 2, rapid.ID).Draw(t, "keys")
			wait := time.Duration(0)
			for _, key := range names {
				if list := recent(key); len(list) >= limit && wait == 0 {
					wait = AttemptWindow - a.clock().Sub(list[len(list)-limit])
				}
			}
			release, err := a.Take(names)
			if got := loci.AsError(err); (err != nil) != (wait > 0) || err != nil &&
				(got.RetryAfter != wait || got.Code != loci.CodeRateLimited || got.Message != "Too many.") {
				t.Fatalf("%v of %v: %v, want a wait of %v", names, counted, err, wait)
			}
			switch {
			case err != nil:
			case rapid.Bool().Draw(t, "release"):
				release()
			default:
				for _, key := range names {
					counted[key] = append(counted[key], a.clock())
				}
			}
			testenv.RequireEqual(t, a.below.Len()+a.reached.Len(), len(a.logs), "keys in lists in the map")
		}
		pass(AttemptWindow)
		if err := take(a, "new"); err != nil || len(a.logs) != 1 {
			t.Fatalf("%d keys are kept: %v", len(a.logs), err)
		}
	})
}

func TestAttemptsEvictLeastRecentWhenFull(t *testing.T) {
	t.Parallel()
	a, pass := newAttempts(1, 3)
	for _, key := range []string{"a", "b", "c", "d"} {
		testenv.NoError(t, take(a, key))
		pass(time.Second)
	}
	for _, key := range []string{"b", "c", "d"} {
		if err := take(a, key); !loci.Is(err, loci.CodeRateLimited) {
			t.Errorf("%s: %v", key, err)
		}
	}
	if err := take(a, "a"); err != nil || len(a.logs) != 3 {
		t.Errorf("the oldest of %d: %v", len(a.logs), err)
	}
}

// Attempts under many keys must not free a key that is at its limit, although it is idle for longest.
func TestAttemptsKeepKeysAtTheirLimit(t *testing.T) {
	t.Parallel()
	a, pass := newAttempts(2, 3)
	for range 2 {
		testenv.NoError(t, take(a, "victim"))
	}
	for i := range 100 {
		pass(time.Second)
		if err := take(a, fmt.Sprint(i)); err != nil || len(a.logs) > 3 {
			t.Fatalf("%d keys: %v", len(a.logs), err)
		}
	}
	if err := take(a, "victim"); !loci.Is(err, loci.CodeRateLimited) {
		t.Errorf("the key is forgotten: %v", err)
	}
}

// A released attempt leaves a key behind others whose attempts are newer. A refused call then finds it expired.
func TestAttemptsForgetExpiredKeyOfRefusedCall(t *testing.T) {
	t.Parallel()
	a, pass := newAttempts(2, 10)
	testenv.NoError(t, take(a, "ann"))
	pass(5 * time.Minute)
	testenv.NoError(t, take(a, "other"))
	pass(5 * time.Minute)
	release := testenv.Must(a.Take([]string{"ann"}))(t)
	release()
	for range 2 {
		testenv.NoError(t, take(a, "full"))
	}
	pass(6 * time.Minute)
	if err := take(a, "ann", "full"); !loci.Is(err, loci.CodeRateLimited) {
		t.Error(err)
	}
	pass(AttemptWindow)
	if err := take(a, "ann"); err != nil || len(a.logs) != 1 {
		t.Errorf("%v, %d keys", err, len(a.logs))
	}
}

func TestAttemptsCountNoRefusedAttempt(t *testing.T) {
	t.Parallel()
	a, _ := newAttempts(1, 10)
	testenv.NoError(t, take(a, "second"))
	for range 3 {
		if err := take(a, "first", "second"); !loci.Is(err, loci.CodeRateLimited) {
			t.Error(err)
		}
	}
	testenv.Equal(t, len(a.logs), 1, "keys")
	testenv.NoError(t, take(a, "first"))
}

func TestAttemptsCountUncheckedKeys(t *testing.T) {
	t.Parallel()
	a, pass := newAttempts(2, 10)
	for i := range 5 {
		testenv.Must(a.Take([]string{fmt.Sprint(i)}, "also"))(t)
		pass(time.Minute)
	}
	err := take(a, "also")
	testenv.Equal(t, loci.AsError(err).RetryAfter, AttemptWindow-2*time.Minute, err)
}

func TestSignInsKeepFewNetworksOfAccount(t *testing.T) {
	t.Parallel()
	s := NewSignIns(time.Now, 1, nil)
	account, other := User("ada"), User("bea")
	network := func(i int) Key { return Network(fmt.Sprint("192.0.2.", i)) }
	for i := range maxKnownNetworks + 1 {
		s.RecordSuccess(account, network(i))
	}
	s.RecordSuccess(account, network(1)) // again: now the most recent one
	s.RecordSuccess(account, Network(""))
	known := s.networks.Get(account)
	if len(known) != maxKnownNetworks || known[maxKnownNetworks-1] != network(1) ||
		slices.Contains(known, network(0)) || slices.Contains(known, Network("")) || len(s.networks.Get(other)) > 0 {
		t.Errorf("known are %v", known)
	}
}

var epoch = time.Unix(1_800_000_000, 0)

// TestRateBoundsEveryWindow draws times of calls, and evicts idle keys at times.
func TestRateBoundsEveryWindow(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		burst := rapid.IntRange(1, 5).Draw(t, "burst")
		r := &Rate[string]{Interval: time.Second, Tolerance: time.Duration(burst-1) * time.Second}
		admitted, now := map[string][]time.Time{}, epoch
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 3000).Draw(t, "ms")) * time.Millisecond)
			key := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "key")
			if wait := testenv.Must(r.Allow(t.Context(), key, now))(t); wait > 0 {
				if again, _ := r.Allow(t.Context(), key, now.Add(wait-1)); again != 1 {
					t.Fatalf("a wait of %v, and shortly before its end one of %v", wait, again)
				}
				now = now.Add(wait)
				if again, _ := r.Allow(t.Context(), key, now); again != 0 {
					t.Fatalf("after a wait of %v another one of %v", wait, again)
				}
			}
			admitted[key] = append(admitted[key], now)
			for i, first := range admitted[key] {
				if calls, most := len(admitted[key])-i, burst+int(now.Sub(first)/r.Interval); calls > most {
					t.Fatalf("%d calls in %v, at most %d are allowed", calls, now.Sub(first), most)
				}
			}
			if rapid.Bool().Draw(t, "evict") {
				r.EvictIdle(now)
			}
		}
		if r.EvictIdle(now.Add(time.Hour)); len(r.buckets) > 0 {
			t.Fatalf("%d idle keys are kept", len(r.buckets))
		}
	})
}

func TestRateSharesOneBucketWhenTooManyKeysAreActive(t *testing.T) {
	t.Parallel()
	r := &Rate[int]{Interval: time.Second}
	allow := func(key int, now time.Time, want time.Duration) {
		t.Helper()
		if wait, _ := r.Allow(t.Context(), key, now); wait != want {
			t.Fatalf("key %d waits %v, want %v", key, wait, want)
		}
	}
	for key := range maxKeys {
		allow(key+1, epoch, 0)
	}
	allow(-1, epoch, 0)
	allow(-2, epoch, time.Second)
	allow(1, epoch, time.Second) // is not forgotten
	later := epoch.Add(time.Second + 1)
	allow(-3, later, 0)
	allow(-4, later, 0)
	testenv.Equal(t, len(r.buckets), 2, "keys are kept")
}

// TestRateChargesInParts counts calls that a shared state is charged for.
func TestRateChargesInParts(t *testing.T) {
	t.Parallel()
	var charged []int
	var failure error
	r := &Rate[string]{Interval: time.Second, Tolerance: time.Minute, MaxUncharged: 2}
	r.Charge = func(_ context.Context, _ string, now time.Time, admitted int) (time.Time, bool, error) {
		charged = append(charged, admitted)
		return now.Add(time.Duration(len(charged)*len(charged)) * 10 * time.Second), len(charged) < 3, failure
	}
	for i := range 9 {
		wait, err := r.Allow(t.Context(), "a", epoch)
		if wantWait := map[int]time.Duration{8: 30 * time.Second}[i]; wait != wantWait || err != nil {
			t.Errorf("call %d waits %v, want %v: %v", i, wait, wantWait, err)
		}
	}
	if len(charged) != 3 || charged[0] != 2 || charged[1] != 2 || charged[2] != 2 {
		t.Errorf("charged %v", charged)
	}
	failure = errors.New("away")
	later := epoch.Add(time.Hour)
	for i := range 10 {
		if _, err := r.Allow(t.Context(), "a", later); (err != nil) != (i == 2) {
			t.Errorf("call %d: %v", i, err)
		}
	}
	if err := r.Add(t.Context(), "a", later.Add(localFallback), 4); err != failure || charged[len(charged)-1] != 13 {
		t.Errorf("%v, charged %v", err, charged)
	}
}

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
		testenv.Equal(t, Network(address).id, want, address)
	}
}

func TestKeysOfKindsDiffer(t *testing.T) {
	t.Parallel()
	keys := map[Key]bool{}
	for _, id := range []string{"", "a", "b"} {
		keys[User(id)], keys[Network(id)] = true, true
		for _, in := range []string{"x", "y"} {
			keys[User(id).In(Network(in))] = true
		}
	}
	keys[Key{}] = true
	testenv.Equal(t, len(keys), 13, "keys want 13")
}
