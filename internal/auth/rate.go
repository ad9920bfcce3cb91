package auth

import (
	"context"
	"sync"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/store"
)

// rates limits how quickly a credential calls, by the generic cell rate
// algorithm (ITU-T I.371, annex A): for each one it keeps the time at which
// the next call would be due if all came evenly.
//
// Where several servers let calls through, each lets a few go ahead before it
// charges them to what all of them know: the limit holds but for those few, and
// most calls wait for nobody.
type rates struct {
	rate  store.Rate
	ahead int          // calls that are not charged yet, at most
	store *store.Store // nil: this server is alone
	mu    sync.Mutex
	paces map[string]*pace
}

// pace is that of one credential, as far as this server knows.
type pace struct {
	mu    sync.Mutex
	due   time.Time
	ahead int       // calls that are not charged yet
	alone time.Time // until then this server counts by itself: the last charge failed
}

// aheadOf is the part of a burst that one server lets go ahead. Nobody waits for a
// charge for long, nor soon again after one that failed.
const (
	aheadOf      = 20
	chargeWithin = 2 * time.Second
	aloneFor     = 5 * time.Second
)

func newRates(s *store.Store, o Options) *rates {
	r := &rates{paces: map[string]*pace{}}
	if o.Rate > 0 {
		r.rate.Every = time.Minute / time.Duration(o.Rate)
		r.rate.Slack = r.rate.Every * time.Duration(max(o.Burst, 1)-1)
		r.ahead = o.Burst / aheadOf
		if o.Shared {
			r.store = s
		}
	}
	return r
}

func (r *rates) pace(id string) *pace {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.paces[id]
	if p == nil {
		p = &pace{}
		r.paces[id] = p
	}
	return p
}

// take lets a call through, or returns how long it has to wait. What other servers
// know is asked for where it matters; while it can't be, this one counts alone.
func (r *rates) take(ctx context.Context, id string, now time.Time) (wait time.Duration, failed error) {
	if r.rate.Every == 0 {
		return 0, nil
	}
	p := r.pace(id)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.due.Before(now) {
		p.due = now
	}
	if wait := p.due.Sub(now) - r.rate.Slack; wait > 0 {
		return wait, nil
	}
	if r.store != nil && p.ahead >= r.ahead && !now.Before(p.alone) {
		due, more, err := r.charge(ctx, id, now, p.ahead)
		if err == nil {
			if p.due, p.ahead = due, 0; !more {
				wait = due.Sub(now) - r.rate.Slack
			}
			return wait, nil
		}
		p.alone, failed = now.Add(aloneFor), err
	}
	p.due, p.ahead = p.due.Add(r.rate.Every), p.ahead+1
	return 0, failed
}

// add counts calls that are let through already, but no more than come in a
// burst together with the one that they belong to. The calls after them wait.
// Other servers learn of them at once: many calls that are charged late would
// be charged twice, by the time that has passed and by their number.
func (r *rates) add(ctx context.Context, id string, calls int, now time.Time) (failed error) {
	if r.rate.Every == 0 {
		return nil
	}
	p := r.pace(id)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.due.Before(now) {
		p.due = now
	}
	calls = min(calls, int(r.rate.Slack/r.rate.Every))
	if r.store != nil && calls > 0 && !now.Before(p.alone) {
		// The last one is charged only if it may come now.
		due, _, err := r.charge(ctx, id, now, p.ahead+calls-1)
		if err == nil {
			p.due, p.ahead = due, 0
			return nil
		}
		p.alone, failed = now.Add(aloneFor), err
	}
	p.due, p.ahead = p.due.Add(time.Duration(calls)*r.rate.Every), p.ahead+calls
	return failed
}

// charge notes calls that went ahead, and one more if it may come now. Who hangs up
// has called all the same.
func (r *rates) charge(ctx context.Context, id string, now time.Time, ahead int) (due time.Time, more bool, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), chargeWithin)
	defer cancel()
	due, err = store.System(ctx, r.store, "charge calls to a credential", func(t *store.SystemTx) (due time.Time, err error) {
		due, more, err = t.ChargeCalls(id, r.rate, now, ahead)
		return due, err
	})
	return due, more, err
}

// forget drops credentials that have nothing to wait for: of the few calls that one
// of them may have gone ahead nobody hears then.
func (r *rates) forget(ctx context.Context, now time.Time) error {
	r.drop(now)
	if r.store == nil {
		return nil
	}
	_, err := store.System(ctx, r.store, "forget calls of credentials", func(t *store.SystemTx) (loci.Nothing, error) {
		return loci.Nothing{}, t.ForgetCalls(now)
	})
	return err
}

func (r *rates) drop(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for id, p := range r.paces {
		if p.mu.TryLock() {
			if p.due.Before(now) {
				delete(r.paces, id)
			}
			p.mu.Unlock()
		}
	}
}
