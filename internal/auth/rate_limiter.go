package auth

import (
	"context"
	"sync"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/accountdb"
)

// rateLimiter limits the call rate of a credential by the generic cell rate algorithm (ITU-T I.371, annex A). For each
// credential it stores the time at which the next call would be due if all were evenly spaced.
//
// Where several servers share a store, each admits a few calls before it charges them to the shared state. The limit is
// exact but for those few, and most calls need no query.
type rateLimiter struct {
	rate         accountdb.Rate
	maxUncharged int          // the most calls that are not charged yet
	store        *store.Store // nil: this server is alone
	mu           sync.Mutex
	buckets      map[loci.ID]*bucket
}

// bucket is this server's state of one credential.
type bucket struct {
	mu         sync.Mutex
	due        time.Time
	uncharged  int       // calls that are not charged yet
	localUntil time.Time // this server counts alone until then, because the last charge failed
}

// localShare is the part of a burst that one server admits before it charges. A
// charge has a short timeout and is not retried soon after a failure.
const (
	localShare    = 20
	chargeTimeout = 2 * time.Second
	localFallback = 5 * time.Second
)

func newRateLimiter(s *store.Store, o Options) *rateLimiter {
	r := &rateLimiter{buckets: map[loci.ID]*bucket{}}
	if o.Rate > 0 {
		r.rate.Interval = time.Minute / time.Duration(o.Rate)
		r.rate.Tolerance = r.rate.Interval * time.Duration(max(o.Burst, 1)-1)
		r.maxUncharged = o.Burst / localShare
		if o.Shared {
			r.store = s
		}
	}
	return r
}

func (r *rateLimiter) bucket(id loci.ID) *bucket {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.buckets[id]
	if p == nil {
		p = &bucket{}
		r.buckets[id] = p
	}
	return p
}

// allow admits a call or returns how long it must wait. It queries the shared state only if that matters, and counts
// alone while the store fails.
func (r *rateLimiter) allow(ctx context.Context, id loci.ID, now time.Time) (wait time.Duration, failed error) {
	if r.rate.Interval == 0 {
		return 0, nil
	}
	p := r.bucket(id)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.due.Before(now) {
		p.due = now
	}
	if wait := p.due.Sub(now) - r.rate.Tolerance; wait > 0 {
		return wait, nil
	}
	if r.store != nil && p.uncharged >= r.maxUncharged && !now.Before(p.localUntil) {
		due, more, err := r.chargeStore(ctx, id, now, p.uncharged)
		if err == nil {
			if p.due, p.uncharged = due, 0; !more {
				wait = due.Sub(now) - r.rate.Tolerance
			}
			return wait, nil
		}
		p.localUntil, failed = now.Add(localFallback), err
	}
	p.due, p.uncharged = p.due.Add(r.rate.Interval), p.uncharged+1
	return 0, failed
}

// charge counts calls that are admitted already, but at most a burst together with the call that they belong to. Later
// calls wait for them. The shared state is charged at once. A later charge would count from its own time, not from that
// of the calls, and later calls would wait too long.
func (r *rateLimiter) charge(ctx context.Context, id loci.ID, calls int, now time.Time) (failed error) {
	if r.rate.Interval == 0 {
		return nil
	}
	p := r.bucket(id)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.due.Before(now) {
		p.due = now
	}
	calls = min(calls, int(r.rate.Tolerance/r.rate.Interval))
	if r.store != nil && calls > 0 && !now.Before(p.localUntil) {
		// The last call is charged only if it may be admitted now.
		due, _, err := r.chargeStore(ctx, id, now, p.uncharged+calls-1)
		if err == nil {
			p.due, p.uncharged = due, 0
			return nil
		}
		p.localUntil, failed = now.Add(localFallback), err
	}
	p.due, p.uncharged = p.due.Add(time.Duration(calls)*r.rate.Interval), p.uncharged+calls
	return failed
}

// chargeStore charges calls that were admitted ahead, and one more if it may be admitted now. The call of a
// disconnected client counts too, so its cancellation is ignored.
func (r *rateLimiter) chargeStore(ctx context.Context, id loci.ID, now time.Time, ahead int) (due time.Time, more bool,
	err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), chargeTimeout)
	defer cancel()
	due, err = store.System(ctx, r.store, "charge calls to a credential",
		func(t *store.SystemTx) (due time.Time, err error) {
			due, more, err = t.ChargeCalls(id, r.rate, now, ahead)
			return due, err
		})
	return due, more, err
}

// expire drops the credentials whose calls need not wait. Their uncharged calls are forgotten.
func (r *rateLimiter) expire(ctx context.Context, now time.Time) error {
	r.evictIdle(now)
	if r.store == nil {
		return nil
	}
	_, err := store.System(ctx, r.store, "expire rates of credentials", func(t *store.SystemTx) (loci.Empty, error) {
		return loci.Empty{}, t.DeleteIdleRates(now)
	})
	return err
}

func (r *rateLimiter) evictIdle(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for id, p := range r.buckets {
		if p.mu.TryLock() {
			if p.due.Before(now) {
				delete(r.buckets, id)
			}
			p.mu.Unlock()
		}
	}
}
