package auth

import (
	"sync"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/store"
)

// known remembers for a moment what credentials stand for. One that ends is
// dropped at the commit in this process, and within believed in others.
type known struct {
	clock       loci.Clock
	mu          sync.Mutex
	credentials map[proof]entry
	ended       uint64                                   // rises with every credential that ends
	used        map[loci.Credential]map[string]loci.Time // by id, since the last save
}

type proof struct {
	kind loci.Credential
	hash [32]byte
}

type entry struct {
	store.Credential
	read time.Time
}

const (
	believed = time.Second
	maxKnown = 100_000
)

// get returns what a proof stands for, asking lookup where that is not known.
func (k *known) get(p proof, lookup func(proof) (store.Credential, error)) (store.Credential, error) {
	now := time.Now() // how long something is believed does not follow a shifted clock
	k.mu.Lock()
	e, ok := k.credentials[p]
	ended := k.ended
	k.mu.Unlock()
	if !ok || now.Sub(e.read) > believed {
		c, err := lookup(p)
		if err != nil {
			return c, err
		}
		e = entry{c, now}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.ended == ended { // else what was read may be older than an end
		if len(k.credentials) >= maxKnown {
			clear(k.credentials)
		}
		k.credentials[p] = e
	}
	if !e.Revoked {
		k.use(e.Credential)
	}
	return e.Credential, nil
}

// use notes a use, at most once a minute of each credential.
func (k *known) use(c store.Credential) {
	at := loci.At(k.clock())
	if at-c.UsedAt < loci.Time(time.Minute.Microseconds()) {
		return
	}
	if k.used[c.Kind] == nil {
		k.used[c.Kind] = map[string]loci.Time{}
	}
	k.used[c.Kind][c.ID] = at
}

func (k *known) takeUses() map[loci.Credential]map[string]loci.Time {
	k.mu.Lock()
	defer k.mu.Unlock()
	used := k.used
	k.used = map[loci.Credential]map[string]loci.Time{}
	return used
}

func (k *known) hear(e store.Event) {
	if e.Name != store.CredentialEnded {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.ended++
	for p, c := range k.credentials {
		if c.ID == e.CredentialID {
			delete(k.credentials, p)
		}
	}
}
