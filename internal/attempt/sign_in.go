package attempt

import (
	"slices"
	"sync"

	"github.com/loci-memory/loci"
)

// A SignInLimiter bounds the failed sign-ins of each account and each network. An account has a separate limit in each
// network from which it signed in before. So strangers who use up the limits of account and network do not lock it out.
type SignInLimiter struct {
	*Limiter

	networksMu sync.Mutex                // guards the fields below
	networks   *lruMap[string, []string] // networks of an account, the most recent last
}

// Bounds of the known networks: those of one account, and the number of accounts.
const (
	maxKnownNetworks = 8
	maxKnownAccounts = 10_000
)

// NewSignInLimiter returns a limiter that allows limit failures in the window; 0 turns it off.
func NewSignInLimiter(clock loci.Clock, limit int) *SignInLimiter {
	return &SignInLimiter{Limiter: NewLimiter(clock, limit,
		"Too many failed sign-ins: wait for Retry-After seconds."),
		networks: newLRU[string, []string](maxKnownAccounts)}
}

// Attempt counts an attempt as failed until release undoes it.
func (l *SignInLimiter) Attempt(account, address string) (release func(), err error) {
	network := NetworkOf(address)
	keys := []Key{{Account: account}, {Network: network}}
	if l.isKnownNetwork(account, network) {
		return l.Limiter.Attempt([]Key{{account, network}}, keys...)
	}
	return l.Limiter.Attempt(keys)
}

func (l *SignInLimiter) isKnownNetwork(account, network string) bool {
	l.networksMu.Lock()
	defer l.networksMu.Unlock()
	list := l.networks.get(account)
	return list != nil && slices.Contains(*list, network)
}

// RecordSuccess records the network of a successful sign-in.
func (l *SignInLimiter) RecordSuccess(account, address string) {
	network := NetworkOf(address)
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
