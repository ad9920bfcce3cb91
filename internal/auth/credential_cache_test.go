package auth

import (
	"encoding/binary"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/store/accountdb"
	"github.com/loci-memory/loci/internal/testenv"
)

func TestFullCredentialCacheEvictsLeastRecentlyUsed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k, lookups := newCredentialCache(time.Now), 0
		get := func(n uint64) {
			p := credentialKey{}
			binary.BigEndian.PutUint64(p.hash[:], n)
			if _, err := k.get(p, func(credentialKey) (accountdb.Credential, error) {
				lookups++
				return accountdb.Credential{UsedAt: loci.TimeOf(time.Now())}, nil
			}); err != nil {
				t.Error(err)
			}
		}
		for n := range uint64(maxCachedCredentials) {
			get(n)
		}
		lookups = 0
		get(0)
		get(maxCachedCredentials) // in place of 1
		get(0)
		get(2)
		testenv.Equal(t, lookups, 1, "a full cache needs")
		if get(1); lookups != 2 {
			t.Error("the least recently used credential is still cached")
		}
	})
}
