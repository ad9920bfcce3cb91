package service

import (
	"crypto/subtle"
	"slices"
	"sync"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
)

// A signInLimiter bounds the failed sign-ins of each account and each network. An account has a separate limit in each
// network from which it signed in before. So strangers who use up the limits of account and network do not lock it out.
type signInLimiter struct {
	*attemptLimiter

	networksMu sync.Mutex                // guards the fields below
	networks   *lruMap[string, []string] // networks of an account, the most recent last
}

// Bounds of the known networks: those of one account, and the number of accounts.
const (
	maxKnownNetworks = 8
	maxKnownAccounts = 10_000
)

func newSignInLimiter(clock loci.Clock, limit int) *signInLimiter {
	return &signInLimiter{attemptLimiter: newAttemptLimiter(clock, limit,
		"Too many failed sign-ins: wait for Retry-After seconds."),
		networks: newLRU[string, []string](maxKnownAccounts)}
}

// attempt counts an attempt as failed until release undoes it.
func (l *signInLimiter) attempt(account, address string) (release func(), err error) {
	network := networkOf(address)
	keys := []attemptKey{{account: account}, {network: network}}
	if l.isKnownNetwork(account, network) {
		return l.attemptLimiter.attempt([]attemptKey{{account, network}}, keys...)
	}
	return l.attemptLimiter.attempt(keys)
}

func (l *signInLimiter) isKnownNetwork(account, network string) bool {
	l.networksMu.Lock()
	defer l.networksMu.Unlock()
	list := l.networks.get(account)
	return list != nil && slices.Contains(*list, network)
}

// recordSuccess records the network of a successful sign-in.
func (l *signInLimiter) recordSuccess(account, address string) {
	network := networkOf(address)
	if l.limit == 0 || network == "" {
		return
	}
	l.networksMu.Lock()
	defer l.networksMu.Unlock()
	list := l.networks.getOrAdd(account)
	if i := slices.Index(*list, network); i >= 0 {
		*list = slices.Delete(*list, i, i+1)
	} else if len(*list) == maxKnownNetworks {
		*list = slices.Delete(*list, 0, 1)
	}
	*list = append(*list, network)
}

// setupLink is the one-time link to make the first account.
type setupLink struct {
	mu      sync.Mutex // guards the fields below
	token   string
	expires time.Time
}

const setupTokenTTL = time.Hour

// NewSetupToken returns a new token for the setup link and invalidates the previous one.
func (s *Service) NewSetupToken() string {
	s.setup.mu.Lock()
	defer s.setup.mu.Unlock()
	s.setup.token, s.setup.expires = identity.NewSecret(), s.Clock().Add(setupTokenTTL)
	return s.setup.token
}

func (l *setupLink) valid(token string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.token != "" && now.Before(l.expires) && subtle.ConstantTimeCompare([]byte(l.token), []byte(token)) == 1
}

func (l *setupLink) revoke() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.token = ""
}
