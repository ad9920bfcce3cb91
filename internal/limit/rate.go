package limit

import (
	"context"
	"sync"
	"time"
)

// A Rate bounds the call rate of each key by the generic cell rate algorithm (ITU-T I.371, annex A). For each key it
// stores the time at which the next call would be due if all were evenly spaced.
//
// Where several servers share a store, each admits a few calls before it charges them to the shared state. The limit is
// exact but for those few, and most calls need no query.
type Rate[K comparable] struct {
	Interval  time.Duration // between evenly spaced calls; 0 turns the limit off
	Tolerance time.Duration // how far calls may be ahead of that
	// Charge charges calls that were admitted to the shared state, and one more if it may be admitted now. It returns
	// when the next call is due. Without it this server is alone.
	Charge       func(ctx context.Context, key K, now time.Time, admitted int) (due time.Time, more bool, err error)
	MaxUncharged int // the most calls that are not charged yet

	mu      sync.Mutex
	buckets map[K]*bucket
	shared  bucket // of the keys that do not fit into buckets, charged to the zero key
	evicted time.Time
}

// bucket is this server's state of one key.
type bucket struct {
	mu         sync.Mutex
	due        time.Time
	uncharged  int       // calls that are not charged yet
	localUntil time.Time // this server counts alone until then, because the last charge failed
}

// maxKeys is the number of keys of a limit in memory.
const maxKeys = 100_000

// localFallback is how long a server counts alone after a charge failed.
const localFallback = 5 * time.Second

// lock returns the locked bucket of a key.
func (r *Rate[K]) lock(key K, now time.Time) *bucket {
	r.mu.Lock()
	b := r.buckets[key]
	if b == nil {
		b = r.add(key, now)
	}
	r.mu.Unlock()
	b.mu.Lock()
	if b.due.Before(now) {
		b.due = now
	}
	return b
}

// add adds a bucket. Keys share the last one while too many others are active.
func (r *Rate[K]) add(key K, now time.Time) *bucket {
	if len(r.buckets) >= maxKeys && now.Sub(r.evicted) >= time.Second {
		r.evictIdle(now)
	}
	if len(r.buckets) >= maxKeys {
		return &r.shared
	}
	if r.buckets == nil {
		r.buckets = map[K]*bucket{}
	}
	b := &bucket{}
	r.buckets[key] = b
	return b
}

// Allow admits a call, or returns how long it must wait. Failed is the error of a charge, after which this server
// counts alone for a while.
func (r *Rate[K]) Allow(ctx context.Context, key K, now time.Time) (wait time.Duration, failed error) {
	if r.Interval == 0 {
		return 0, nil
	}
	b := r.lock(key, now)
	if r.Charge != nil && b.uncharged >= r.MaxUncharged && b.wait(now, r.Tolerance) == 0 {
		return r.chargeAndUnlock(ctx, b, key, now, 1)
	}
	if wait = b.wait(now, r.Tolerance); wait == 0 {
		b.count(1, r.Interval)
	}
	b.mu.Unlock() // not deferred, which takes a tenth of the time of this function
	return wait, nil
}

func (b *bucket) wait(now time.Time, tolerance time.Duration) time.Duration {
	return max(0, b.due.Sub(now)-tolerance)
}

// Add counts calls that are admitted already, but at most a burst together with the call that they belong to. Later
// calls wait for them. The shared state is charged at once. A later charge would count from its own time, not from that
// of the calls, and later calls would wait too long.
func (r *Rate[K]) Add(ctx context.Context, key K, now time.Time, calls int) (failed error) {
	if r.Interval == 0 {
		return nil
	}
	b := r.lock(key, now)
	if calls = min(calls, int(r.Tolerance/r.Interval)); r.Charge != nil && calls > 0 {
		_, failed = r.chargeAndUnlock(ctx, b, key, now, calls)
		return failed
	}
	b.count(calls, r.Interval)
	b.mu.Unlock()
	return nil
}

func (b *bucket) count(calls int, interval time.Duration) {
	b.due, b.uncharged = b.due.Add(time.Duration(calls)*interval), b.uncharged+calls
}

// chargeAndUnlock charges the calls of a bucket, or counts them here after a failure. It returns how long the last one
// must wait, which the shared state may not admit.
func (r *Rate[K]) chargeAndUnlock(ctx context.Context, b *bucket, key K, now time.Time,
	calls int) (wait time.Duration, failed error) {
	defer b.mu.Unlock()
	if !now.Before(b.localUntil) {
		if b == &r.shared {
			key = *new(K)
		}
		due, more, err := r.Charge(ctx, key, now, b.uncharged+calls-1)
		if err == nil {
			if b.due, b.uncharged = due, 0; !more {
				wait = due.Sub(now) - r.Tolerance
			}
			return wait, nil
		}
		b.localUntil, failed = now.Add(localFallback), err
	}
	b.count(calls, r.Interval)
	return 0, failed
}

// EvictIdle evicts the keys whose calls need not wait. Their uncharged calls are forgotten.
func (r *Rate[K]) EvictIdle(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.evictIdle(now)
}

func (r *Rate[K]) evictIdle(now time.Time) {
	r.evicted = now
	for key, b := range r.buckets {
		if b.mu.TryLock() {
			if b.due.Before(now) {
				delete(r.buckets, key)
			}
			b.mu.Unlock()
		}
	}
}
