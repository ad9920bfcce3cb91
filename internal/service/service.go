// Package service is what Loci does: one method for each operation, one file
// for each resource. It knows neither HTTP nor SQL.
package service

import (
	"context"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/search"
	"github.com/loci-memory/loci/internal/store"
)

// A Service does the work.
type Service struct {
	Options
	passwords     passwords
	signins       *signinLimiter
	registrations *limiter
	setup         setupLink
	meanings      meanings
	former        meanings
}

// Options are what a Service needs and what its operator decided.
type Options struct {
	Store        *store.Store
	Plan         loci.Plan
	Clock        loci.Clock
	Registration Registration
	SigninLimit  int    // failed sign-ins of an account or an address in 15 minutes; 0 is off
	PublicURL    string // where people reach the server, without a slash at the end

	// Used returns the operations of the month that a user has used, and when
	// the month ends.
	Used func(ctx context.Context, userID string) (used int64, ends time.Time, err error)

	// Embedder reads queries; it is the store's. Without one words alone answer.
	// Former is one that is at hand, whose vectors may still be there.
	Embedder, Former search.Embedder
	EmbedLimit       time.Duration // how long a search waits for it; 0 is 300 ms

	Without search.Features // that searches leave out, in a measurement
}

// New returns a Service.
func New(o Options) *Service {
	return &Service{Options: o, passwords: newPasswords(), signins: newSigninLimiter(o.Clock, o.SigninLimit),
		registrations: newLimiter(o.Clock, o.SigninLimit, "Too many registrations: wait for Retry-After seconds."),
		meanings:      meanings{model: o.Embedder, limit: o.EmbedLimit},
		former:        meanings{model: o.Former, limit: o.EmbedLimit}}
}

// write and read run f on behalf of who.
func write[Out any](ctx context.Context, s *Service, who *loci.Actor, f func(*store.Tx) (Out, error)) (Out, error) {
	out, err := store.Write(ctx, s.Store, who, f)
	return out, s.quota(err)
}

func read[Out any](ctx context.Context, s *Service, who *loci.Actor, f func(*store.Tx) (Out, error)) (Out, error) {
	return store.Read(ctx, s.Store, who, f)
}

// quota makes a refusal by the plan say when the month ends.
func (s *Service) quota(err error) error {
	if e := loci.AsError(err); err != nil && e.Code == loci.QuotaExceeded && e.Retry == 0 {
		now := s.Clock().UTC()
		e.Retry = time.Date(now.Year(), now.Month()+1, 1, 0, 0, 0, 0, time.UTC).Sub(now)
	}
	return err
}
