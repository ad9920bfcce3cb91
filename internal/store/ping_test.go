package store_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb/postgres"
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
			d.Exec(t, `ALTER TABLE `+from+` RENAME TO `+to)
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

// As behind a pooler, which keeps the connections of its clients while the database is dropped and made anew.
func TestReplacedDatabaseIsUnavailableUntilItIsBack(t *testing.T) {
	t.Parallel()
	onPostgres(t, func(t *testing.T, d storetest.Database, s *store.Store) {
		ann := user(t, s, "ann")
		add(t, s, ann, "", "text")
		for _, c := range []struct{ name, replace, back, says string }{
			{"another", `UPDATE metadata SET value = 'ff' || value WHERE name = 'cursor'`,
				`UPDATE metadata SET value = substr(value, 3) WHERE name = 'cursor'`, "it is not the database"},
			{"without tables", `ALTER TABLE metadata RENAME TO away`, `ALTER TABLE away RENAME TO metadata`, "it is empty"},
		} {
			d.Exec(t, c.replace)
			if err := s.Ping(ctx); !loci.Is(err, loci.CodeUnavailable) ||
				!strings.Contains(loci.AsError(err).Err.Error(), c.says) {
				t.Errorf("%s: a check is told %v", c.name, err)
			}
			if _, err := tryAdd(s, ann, "", "another text"); !loci.Is(err, loci.CodeUnavailable) ||
				!errors.Is(err, postgres.ErrOtherDatabase) {
				t.Errorf("%s: a write is told %v", c.name, err)
			}
			d.Exec(t, c.back)
			if err := s.Ping(ctx); err != nil {
				t.Errorf("%s, then back: %v", c.name, err)
			}
		}
		if got := len(d.Query(t, `SELECT content FROM memories`)); got != 1 {
			t.Errorf("%d memories were written", got-1)
		}
	})
}
