package auth

import (
	"context"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/store"
)

// Forget saves as if every user were idle. It returns the number of cached users afterwards.
func (g *Gate) Forget(ctx context.Context) (known int, err error) {
	err = g.meter.save(ctx, time.Now().Add(time.Hour))
	return len(g.meter.snapshot()), err
}

// AllowFunc returns a function that admits one call of a credential.
func AllowFunc(s *store.Store, o Options) func(context.Context, loci.ID, time.Time) (time.Duration, error) {
	return newRateLimiter(s, o).Allow
}
