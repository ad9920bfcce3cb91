package store

import (
	"context"
	"slices"
	"testing"

	"github.com/loci-memory/loci/internal/sqldb"
)

// A table that a purge does not know may keep what it should erase.
func TestPurgeKnowsEveryTable(t *testing.T) {
	t.Parallel()
	s, err := OpenSQLite(context.Background(), t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var tables []string
	err = s.db.Read(context.Background(), "", func(c sqldb.Conn) error {
		return c.Query(
			`SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'
				AND name NOT LIKE 'goose%' AND name <> 'metadata'`, nil, func(r sqldb.Row) error {
				tables = append(tables, "")
				return r.Scan(&tables[len(tables)-1])
			})
	})
	if err != nil {
		t.Fatal(err)
	}
	known := slices.Sorted(slices.Values(vacuumedTables))
	if slices.Sort(tables); !slices.Equal(tables, known) {
		t.Errorf("there are the tables %q, and a purge knows %q", tables, known)
	}
}
