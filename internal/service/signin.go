package service

import (
	"crypto/subtle"
	"slices"
	"sync"
	"time"

	"github.com/loci-memory/loci"
)

// A signinLimiter bounds the failed sign-ins of each account and each network. An
// account has a limit of its own in a network from which it signed in before, so
// that strangers who use up the limits of account and network do not lock it out.
type signinLimiter struct {
	*limiter

	known    sync.Mutex             // guards what follows
	networks *lru[string, []string] // networks of an account, the last one last
}

// Bounds of what is known: the networks of one account, and accounts.
const (
	maxKnownNetworks = 8
	maxKnownAccounts = 10_000
)

func newSigninLimiter(clock loci.Clock, limit int) *signinLimiter {
	return &signinLimiter{limiter: newLimiter(clock, limit, "Too many failed sign-ins: wait for Retry-After seconds."),
		networks: newLRU[string, []string](maxKnownAccounts)}
}

// begin counts an attempt as failed until release says that it was not.
func (l *signinLimiter) begin(account, address string) (release func(), err error) {
	network := networkOf(address)
	names := []attempter{{account: account}, {network: network}}
	if l.isKnown(account, network) {
		return l.limiter.begin([]attempter{{account, network}}, names...)
	}
	return l.limiter.begin(names)
}

func (l *signinLimiter) isKnown(account, network string) bool {
	l.known.Lock()
	defer l.known.Unlock()
	list := l.networks.get(account)
	return list != nil && slices.Contains(*list, network)
}

// succeeded remembers from where an account signed in.
func (l *signinLimiter) succeeded(account, address string) {
	network := networkOf(address)
	if l.limit == 0 || network == "" {
		return
	}
	l.known.Lock()
	defer l.known.Unlock()
	list := l.networks.use(account)
	if i := slices.Index(*list, network); i >= 0 {
		*list = slices.Delete(*list, i, i+1)
	} else if len(*list) == maxKnownNetworks {
		*list = slices.Delete(*list, 0, 1)
	}
	*list = append(*list, network)
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
