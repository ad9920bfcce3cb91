package limit

import (
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
			if n := a.below.Len() + a.reached.Len(); n != len(a.logs) {
				t.Fatalf("%d keys in lists, %d in the map", n, len(a.logs))
			}
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
	s := NewSignIns(time.Now, 1)
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
