package limit

import (
	"slices"
	"sync"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/cache"
)

// SignIns bound the failed sign-ins of each account and each network. An account has a separate limit in each network
// from which it signed in before. So strangers who use up the limits of account and network do not lock it out.
type SignIns struct {
	*Attempts[Key]
	mu       *sync.Mutex              // of a change of networks
	networks *cache.Cache[Key, []Key] // networks of an account, the most recent last
}

// Beside returns a limit of other attempts with the same known networks.
func (s *SignIns) Beside(a *Attempts[Key]) *SignIns { return &SignIns{a, s.mu, s.networks} }

// maxKnownNetworks bounds the known networks of one account.
const maxKnownNetworks = 8

// NewSignIns returns a limit of failures within AttemptWindow; 0 turns it off.
func NewSignIns(clock loci.Clock, limit int, caches *cache.Budget) *SignIns {
	return &SignIns{mu: &sync.Mutex{},
		Attempts: NewAttempts[Key](clock, limit, "sign-ins", "Too many failed sign-ins: wait for Retry-After seconds."),
		networks: cache.New(caches, "networks", func(account Key, list []Key) int {
			n := account.size()
			for _, k := range list {
				n += k.size()
			}
			return n
		}),
	}
}

// Take counts an attempt as failed until release undoes it.
func (s *SignIns) Take(account, network Key) (release func(), err error) {
	if slices.Contains(s.networks.Get(account), network) {
		return s.Attempts.Take([]Key{account.In(network)}, account, network)
	}
	return s.Attempts.Take([]Key{account, network})
}

// RecordSuccess records the network of a successful sign-in, unless it is unknown.
func (s *SignIns) RecordSuccess(account, network Key) {
	if s.limit == 0 || network == Network("") {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	known := slices.Clone(s.networks.Get(account))
	if i := slices.Index(known, network); i >= 0 {
		known = slices.Delete(known, i, i+1)
	} else if len(known) == maxKnownNetworks {
		known = slices.Delete(known, 0, 1)
	}
	s.networks.Put(account, append(known, network))
}
