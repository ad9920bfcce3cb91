package auth

import (
	"context"
	"time"

	"github.com/loci-memory/loci/internal/store"
)

// Save is what a gate does every saveEvery.
func (g *Gate) Save(ctx context.Context) { g.save(ctx) }

// Rates returns what takes one call of a credential.
func Rates(s *store.Store, o Options) func(ctx context.Context, id string, now time.Time) (time.Duration, error) {
	return newRates(s, o).take
}
