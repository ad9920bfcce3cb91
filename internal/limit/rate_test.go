package limit

import (
	"context"
	"errors"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/loci-memory/loci/internal/testenv"
)

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
		if got := Network(address); got.id != want {
			t.Errorf("%q is of %q, want %q", address, got.id, want)
		}
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
