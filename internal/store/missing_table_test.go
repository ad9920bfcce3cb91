package store_test

import (
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/storetest"
)

// TestDatabaseWithoutTableIsRefused opens a database of an unreleased program, whose schema has the newest number.
func TestDatabaseWithoutTableIsRefused(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		if err := d.Open(t, store.Options{}).Close(); err != nil {
			t.Fatal(err)
		}
		for _, table := range []string{"grant_tokens", "oauth_clients"} {
			d.Exec(t, `DROP TABLE `+table)
		}
		for _, keep := range []bool{false, true} {
			s, err := d.TryOpen(store.Options{KeepSchema: keep})
			if err == nil {
				err = s.Close()
			}
			if !loci.Is(err, loci.CodeConflict) || !strings.Contains(err.Error(), ": grant_tokens, oauth_clients. ") {
				t.Errorf("it opens: %v", err)
			}
		}
	})
}
