package auth

import (
	"slices"
	"sync"
	"time"
	"unsafe"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/cache"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/store/accountdb"
)

// credentialCache caches the store's results for credentials. Those that change are dropped at the commit in this
// process, and after cacheTTL in others.
type credentialCache struct {
	clock   loci.Clock
	entries *cache.Cache[credentialKey, cacheEntry]
	mu      sync.Mutex
	changes uint64                                        // counted, so that no older result is stored
	uses    map[accountdb.UseColumn]map[loci.ID]loci.Time // by id, since the last save
}

type credentialKey struct {
	kind identity.CredentialKind
	hash [32]byte
}

func keyOf(kind identity.CredentialKind, secret string) credentialKey {
	return credentialKey{kind, [32]byte(identity.SecretHash(secret))}
}

type cacheEntry struct {
	accountdb.Credential
	readAt time.Time
}

const cacheTTL = time.Second

func newCredentialCache(clock loci.Clock, caches *cache.Budget) credentialCache {
	return credentialCache{clock: clock, uses: map[accountdb.UseColumn]map[loci.ID]loci.Time{},
		entries: cache.New(caches, "credentials", func(k credentialKey, e cacheEntry) int {
			n := int(unsafe.Sizeof(k)) + int(unsafe.Sizeof(e)) + len(e.ID) + len(e.UserID) + len(e.Email) +
				len(e.AgentID) + len(e.SealedSecret)
			for _, w := range e.Workspaces {
				n += int(unsafe.Sizeof(w)) + len(w)
			}
			return n
		})}
}

// get returns the credential for a key and calls lookup where it is not cached.
func (k *credentialCache) get(p credentialKey,
	lookup func(credentialKey) (accountdb.Credential, error)) (accountdb.Credential, error) {
	now := k.clock()
	k.mu.Lock()
	e, changes := k.entries.Get(p), k.changes
	k.mu.Unlock()
	age := now.Sub(e.readAt)
	isCached := age >= 0 && age <= cacheTTL // a clock that was set back keeps no entry
	if !isCached {
		c, err := lookup(p)
		if err != nil {
			return c, err
		}
		e = cacheEntry{c, now}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if !isCached && k.changes == changes { // otherwise the result may be older than a change
		k.entries.Put(p, e)
	}
	if !e.Revoked {
		k.recordUse(accountdb.UsesOf(e.Kind), e.ID, e.UsedAt)
	}
	return e.Credential, nil
}

// recordAgentUse records a use of the agent of a credential.
func (k *credentialCache) recordAgentUse(c accountdb.Credential) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.recordUse(accountdb.AgentUses, c.AgentID, c.SeenAt)
}

// recordUse records a use, at most once a minute for each record.
func (k *credentialCache) recordUse(c accountdb.UseColumn, id loci.ID, last loci.Time) {
	at := loci.TimeOf(k.clock())
	if at-last < loci.Time(time.Minute.Microseconds()) {
		return
	}
	if k.uses[c] == nil {
		k.uses[c] = map[loci.ID]loci.Time{}
	}
	k.uses[c][id] = at
}

func (k *credentialCache) takeUses() map[accountdb.UseColumn]map[loci.ID]loci.Time {
	k.mu.Lock()
	defer k.mu.Unlock()
	used := k.uses
	k.uses = map[accountdb.UseColumn]map[loci.ID]loci.Time{}
	return used
}

func (k *credentialCache) onChange(changed accountdb.Change) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.changes++
	k.entries.RemoveFunc(func(c cacheEntry) bool {
		return c.ID == changed.CredentialID || c.UserID == changed.UserID ||
			slices.Contains(c.Workspaces, changed.WorkspaceID)
	})
}
