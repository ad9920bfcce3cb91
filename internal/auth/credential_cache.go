package auth

import (
	"sync"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/store"
)

// credentialCache remembers for a moment what credentials stand for. One that ends is
// dropped at the commit in this process, and within believed in others.
type credentialCache struct {
	clock       loci.Clock
	mu          sync.Mutex
	entries     map[credentialKey]cacheEntry
	revocations uint64                                       // rises with every credential that ends
	uses        map[loci.CredentialKind]map[string]loci.Time // by id, since the last save
}

type credentialKey struct {
	kind loci.CredentialKind
	hash [32]byte
}

type cacheEntry struct {
	store.Credential
	readAt time.Time
}

const (
	cacheTTL             = time.Second
	maxCachedCredentials = 100_000
)

// get returns what a proof stands for, asking lookup where that is not known.
func (k *credentialCache) get(p credentialKey, lookup func(credentialKey) (store.Credential, error)) (store.Credential,
	error) {
	now := time.Now() // how long something is believed does not follow a shifted clock
	k.mu.Lock()
	e, ok := k.entries[p]
	ended := k.revocations
	k.mu.Unlock()
	if !ok || now.Sub(e.readAt) > cacheTTL {
		c, err := lookup(p)
		if err != nil {
			return c, err
		}
		e = cacheEntry{c, now}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.revocations == ended { // else what was read may be older than an end
		if len(k.entries) >= maxCachedCredentials {
			clear(k.entries)
		}
		k.entries[p] = e
	}
	if !e.Revoked {
		k.recordUse(e.Credential)
	}
	return e.Credential, nil
}

// recordUse notes a use, at most once a minute of each credential.
func (k *credentialCache) recordUse(c store.Credential) {
	at := loci.TimeOf(k.clock())
	if at-c.UsedAt < loci.Time(time.Minute.Microseconds()) {
		return
	}
	if k.uses[c.Kind] == nil {
		k.uses[c.Kind] = map[string]loci.Time{}
	}
	k.uses[c.Kind][c.ID] = at
}

func (k *credentialCache) takeUses() map[loci.CredentialKind]map[string]loci.Time {
	k.mu.Lock()
	defer k.mu.Unlock()
	used := k.uses
	k.uses = map[loci.CredentialKind]map[string]loci.Time{}
	return used
}

func (k *credentialCache) onEvent(e store.Event) {
	if e.Name != store.EventCredentialEnded {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.revocations++
	for p, c := range k.entries {
		if c.ID == e.CredentialID {
			delete(k.entries, p)
		}
	}
}
