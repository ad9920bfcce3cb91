package auth

import (
	"context"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/limit"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/accountdb"
)

// localShare is the part of a burst that one server admits before it charges. A
// charge has a short timeout and is not retried soon after a failure.
const (
	localShare    = 20
	chargeTimeout = 2 * time.Second
)

// callRefusal is that of a call beyond the rate of its credential.
var callRefusal = limit.Refusal{Name: "calls of a credential", Code: loci.CodeRateLimited,
	Message: loci.CodeRateLimited.Hint()}

// newRateLimiter returns the limit of the calls of each credential. Servers that share a store charge calls to it.
func newRateLimiter(s *store.Store, o Options) *limit.Rate[loci.ID] {
	r := &limit.Rate[loci.ID]{MaxUncharged: o.Burst / localShare}
	if o.Rate > 0 {
		r.Interval = time.Minute / time.Duration(o.Rate)
		r.Tolerance = r.Interval * time.Duration(max(o.Burst, 1)-1)
	}
	if o.Shared && o.Rate > 0 {
		r.Charge = chargeFunc(s, accountdb.Rate{Interval: r.Interval, Tolerance: r.Tolerance})
	}
	return r
}

// chargeFunc returns a function that charges calls in the store. The call of a disconnected client counts too, so its
// cancellation is ignored.
func chargeFunc(s *store.Store,
	rate accountdb.Rate) func(context.Context, loci.ID, time.Time, int) (time.Time, bool, error) {
	return func(ctx context.Context, id loci.ID, now time.Time, admitted int) (due time.Time, more bool, err error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), chargeTimeout)
		defer cancel()
		due, err = store.System(ctx, s, "charge calls to a credential",
			func(t *store.SystemTx) (due time.Time, err error) {
				due, more, err = t.ChargeCalls(id, rate, now, admitted)
				return due, err
			})
		return due, more, err
	}
}

// evictIdleRates forgets the credentials whose calls need not wait.
func (g *Gate) evictIdleRates(ctx context.Context, now time.Time) error {
	g.rateLimiter.EvictIdle(now)
	if g.rateLimiter.Charge == nil {
		return nil
	}
	_, err := store.System(ctx, g.store, "expire rates of credentials", func(t *store.SystemTx) (loci.Empty, error) {
		return loci.Empty{}, t.DeleteIdleRates(now)
	})
	return err
}
