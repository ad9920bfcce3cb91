package store_test

import (
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/storetest"
)

// TestPingFailsWithoutTableOfOAuth removes tables without which no program can sign in.
func TestPingFailsWithoutTableOfOAuth(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{})
		for _, table := range []string{"grant_tokens", "oauth_codes", "oauth_clients"} {
			if err := s.Ping(ctx); err != nil {
				t.Fatal(err)
			}
			store.WriteRaw(s, func(exec store.Exec) error { return exec(`ALTER TABLE ` + table + ` RENAME TO away`) })
			if err := s.Ping(ctx); err == nil || !strings.Contains(err.Error(), "the table "+table) {
				t.Errorf("without %s: %v", table, err)
			}
			store.WriteRaw(s, func(exec store.Exec) error { return exec(`ALTER TABLE away RENAME TO ` + table) })
		}
	})
}
