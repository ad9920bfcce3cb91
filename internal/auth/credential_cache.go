package auth

import (
	"sync"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/cache"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/accountdb"
)

// credentialCache caches the store's results for credentials. A revoked credential, or one of a disabled user, is
// dropped at the commit in this process, and after cacheTTL in others.
type credentialCache struct {
	clock       loci.Clock
	entries     *cache.Cache[credentialKey, cacheEntry]
	mu          sync.Mutex
	revocations uint64                                            // incremented by every revocation
	uses        map[identity.CredentialKind]map[loci.ID]loci.Time // by id, since the last save
}

type credentialKey struct {
	kind identity.CredentialKind
	hash [32]byte
}

type cacheEntry struct {
	accountdb.Credential
	readAt time.Time
}

const (
	cacheTTL             = time.Second
	maxCachedCredentials = 100_000
)

func newCredentialCache(clock loci.Clock) credentialCache {
	return credentialCache{clock: clock, uses: map[identity.CredentialKind]map[loci.ID]loci.Time{},
		entries: cache.New[credentialKey](maxCachedCredentials, maxCachedCredentials,
			func(cacheEntry) int { return 1 })}
}

// get returns the credential for a key and calls lookup where it is not cached.
func (k *credentialCache) get(p credentialKey,
	lookup func(credentialKey) (accountdb.Credential, error)) (accountdb.Credential,
	error) {
	now := time.Now() // an expiry must not follow a shifted clock
	k.mu.Lock()
	e, ended := k.entries.Get(p), k.revocations
	k.mu.Unlock()
	isCached := now.Sub(e.readAt) <= cacheTTL
	if !isCached {
		c, err := lookup(p)
		if err != nil {
			return c, err
		}
		e = cacheEntry{c, now}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if !isCached && k.revocations == ended { // otherwise the result may be older than a revocation
		k.entries.Put(p, e)
	}
	if !e.Revoked {
		k.recordUse(e.Credential)
	}
	return e.Credential, nil
}

// recordUse records a use, at most once a minute for each credential.
func (k *credentialCache) recordUse(c accountdb.Credential) {
	at := loci.TimeOf(k.clock())
	if at-c.UsedAt < loci.Time(time.Minute.Microseconds()) {
		return
	}
	if k.uses[c.Kind] == nil {
		k.uses[c.Kind] = map[loci.ID]loci.Time{}
	}
	k.uses[c.Kind][c.ID] = at
}

func (k *credentialCache) takeUses() map[identity.CredentialKind]map[loci.ID]loci.Time {
	k.mu.Lock()
	defer k.mu.Unlock()
	used := k.uses
	k.uses = map[identity.CredentialKind]map[loci.ID]loci.Time{}
	return used
}

func (k *credentialCache) onEvent(e store.Event) {
	if e.Name != store.EventCredentialEnded {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.revocations++
	k.entries.RemoveFunc(func(c cacheEntry) bool { return c.ID == e.CredentialID || c.UserID == e.UserID })
}
