package service

import (
	"crypto/subtle"
	"slices"
	"sync"
	"time"

	"github.com/loci-memory/loci"
)

// attempts limits failed sign-ins of an account and of an address. It counts
// in memory, for this process.
type attempts struct {
	clock    loci.Clock
	limit    int // 0 is off
	mu       sync.Mutex
	failures map[string][]time.Time
}

const (
	attemptWindow = 15 * time.Minute
	maxAttempters = 100_000
)

// begin counts an attempt as failed until release says that it was not.
func (a *attempts) begin(account, address string) (release func(), err error) {
	if a.limit == 0 {
		return func() {}, nil
	}
	now := a.clock()
	names := []string{"account " + account, "address " + address}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, n := range names {
		recent := slices.DeleteFunc(a.failures[n], func(t time.Time) bool { return now.Sub(t) >= attemptWindow })
		if a.failures[n] = recent; len(recent) >= a.limit {
			return nil, &loci.Error{Code: loci.RateLimited, Message: "Too many failed sign-ins: wait for Retry-After seconds.", Retry: attemptWindow - now.Sub(recent[0])}
		}
	}
	if len(a.failures) > maxAttempters {
		clear(a.failures)
	}
	for _, n := range names {
		a.failures[n] = append(a.failures[n], now)
	}
	return func() { a.release(names, now) }, nil
}

func (a *attempts) release(names []string, at time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, n := range names {
		if i := slices.Index(a.failures[n], at); i >= 0 {
			a.failures[n] = slices.Delete(a.failures[n], i, i+1)
		}
	}
}

// setupLink is the one-time way to the first account.
type setupLink struct {
	mu      sync.Mutex // guards what follows
	token   string
	expires time.Time
}

const setupLife = time.Hour

// OpenSetup returns a new token for the setup link; the one before is worth nothing.
func (s *Service) OpenSetup() string {
	s.setup.mu.Lock()
	defer s.setup.mu.Unlock()
	s.setup.token, s.setup.expires = loci.NewSecret(), s.Clock().Add(setupLife)
	return s.setup.token
}

func (l *setupLink) valid(token string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.token != "" && now.Before(l.expires) && subtle.ConstantTimeCompare([]byte(l.token), []byte(token)) == 1
}

func (l *setupLink) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.token = ""
}
