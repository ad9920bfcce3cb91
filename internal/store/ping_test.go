package store_test

import (
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/storetest"
)

func TestPingNamesMissingTable(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{})
		add(t, s, user(t, s, "ann"), "", "text")
		rename := func(from, to string) {
			t.Helper()
			if err := s.DB().Write(ctx, "", func(c sqldb.Conn) error {
				_, err := c.Exec(`ALTER TABLE `+from+` RENAME TO `+to, nil)
				return err
			}); err != nil {
				t.Fatal(err)
			}
		}
		for _, table := range []string{"metadata", "users", "api_keys", "workspaces", "members", "memories",
			"index_log", "keyword_indexes"} {
			if err := s.Ping(ctx); err != nil {
				t.Fatal(err)
			}
			rename(table, "away")
			if err := s.Ping(ctx); err == nil || !strings.Contains(err.Error(), table) {
				t.Errorf("without %s: %v", table, err)
			}
			rename("away", table)
		}
	})
}

// As after a failover, which makes a standby of the server.
func TestReadOnlyServerIsUnavailable(t *testing.T) {
	t.Parallel()
	onPostgres(t, func(t *testing.T, d storetest.Database, s *store.Store) {
		ann := user(t, s, "ann")
		add(t, s, ann, "", "text")
		standby := storetest.Database{Address: d.Address + "&default_transaction_read_only=on"}.Open(t, store.Options{})
		if _, err := tryAdd(standby, ann, "", "another text"); !loci.Is(err, loci.CodeUnavailable) ||
			loci.AsError(err).RetryAfter == 0 {
			t.Errorf("a write is told %v", err)
		}
		if err := standby.Ping(ctx); !loci.Is(err, loci.CodeUnavailable) {
			t.Errorf("a check is told %v", err)
		}
		if err := s.Ping(ctx); err != nil {
			t.Error(err)
		}
	})
}
