// Package service is what Loci does: one method for each operation, one file
// for each resource. It knows neither HTTP nor SQL.
package service

import (
	"context"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/search"
	"github.com/loci-memory/loci/internal/store"
)

// A Service does the work.
type Service struct {
	Options
	passwordHasher   passwordHasher
	signInLimiter    *signInLimiter
	registrations    *attemptLimiter
	setup            setupLink
	queryEmbedder    queryEmbedder
	previousEmbedder queryEmbedder
}

// Options are what a Service needs and what its operator decided.
type Options struct {
	Store        *store.Store
	Plan         identity.Plan
	Clock        loci.Clock
	Registration Registration
	SignInLimit  int    // failed sign-ins of an account or an address in 15 minutes; 0 is off
	PublicURL    string // where people reach the server, without a slash at the end

	// UsedOperations returns the operations of the month that a user has used, and when
	// the month ends.
	UsedOperations func(ctx context.Context, userID string) (used int64, ends time.Time, err error)

	// Embedder reads queries; it is the store's. Without one words alone answer.
	// Former is one that is at hand, whose vectors may still be there.
	Embedder, PreviousEmbedder search.Embedder
	EmbedTimeout               time.Duration // how long a search waits for it; 0 is 300 ms

}

// New returns a Service.
func New(o Options) *Service {
	return &Service{Options: o, passwordHasher: newPasswordHasher(),
		signInLimiter: newSignInLimiter(o.Clock, o.SignInLimit),
		registrations: newAttemptLimiter(o.Clock, o.SignInLimit,
			"Too many registrations: wait for Retry-After seconds."),
		queryEmbedder:    queryEmbedder{model: o.Embedder, timeout: o.EmbedTimeout},
		previousEmbedder: queryEmbedder{model: o.PreviousEmbedder, timeout: o.EmbedTimeout}}
}

// write and read run f on behalf of who.
func write[Out any](ctx context.Context, s *Service, actor *identity.Actor, f func(*store.Tx) (Out, error)) (Out,
	error) {
	out, err := store.Write(ctx, s.Store, actor, f)
	return out, s.addQuotaReset(err)
}

func read[Out any](ctx context.Context, s *Service, actor *identity.Actor, f func(*store.Tx) (Out, error)) (Out,
	error) {
	return store.Read(ctx, s.Store, actor, f)
}

// addQuotaReset makes a refusal by the plan say when the month ends.
func (s *Service) addQuotaReset(err error) error {
	if e := loci.AsError(err); err != nil && e.Code == loci.CodeQuotaExceeded && e.RetryAfter == 0 {
		now := s.Clock().UTC()
		e.RetryAfter = time.Date(now.Year(), now.Month()+1, 1, 0, 0, 0, 0, time.UTC).Sub(now)
	}
	return err
}
