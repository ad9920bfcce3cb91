package auth

import (
	"context"
	"time"

	"github.com/loci-memory/loci/internal/store"
)

// Save is what a gate does every saveEvery.
func (g *Gate) Save(ctx context.Context) { g.save(ctx) }

// Forget is a save that takes every user for an idle one. It returns how many are known then.
func (g *Gate) Forget(ctx context.Context) (known int, err error) {
	err = g.meter.save(ctx, time.Now().Add(time.Hour))
	return len(g.meter.snapshot()), err
}

// AllowFunc returns what takes one call of a credential.
func AllowFunc(s *store.Store, o Options) func(ctx context.Context, id string, now time.Time) (time.Duration, error) {
	return newRateLimiter(s, o).allow
}
