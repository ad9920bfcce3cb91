package store_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/storetest"
)

func TestScratchSchemaLeavesTheDatabaseUnchanged(t *testing.T) {
	t.Parallel()
	d := storetest.NewPostgresDatabase(t)
	schemas := func() []string { return d.Query(t, "SELECT nspname FROM pg_namespace ORDER BY 1") }
	before := schemas()
	s, err := sqldb.NewScratchSchema(t.Context(), d.Address)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(s.Engine, "postgres "+strings.TrimPrefix(d.Engine, "pg")+".") {
		t.Error(s.Engine)
	}
	if n, err := s.Bytes(t.Context()); err != nil || n > 200<<10 {
		t.Errorf("an empty schema has %d bytes, %v", n, err)
	}
	opened, err := store.OpenPostgres(t.Context(), s.Address, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	opened.Close()
	if n, err := s.Bytes(t.Context()); err != nil || n < 300<<10 {
		t.Errorf("all tables have %d bytes, %v", n, err)
	}
	if err := s.Drop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if after := schemas(); !slices.Equal(after, before) {
		t.Errorf("schemas before %q, after %q", before, after)
	}
}

func TestScratchSchemaNeedsAnEmptyDatabase(t *testing.T) {
	t.Parallel()
	d := storetest.NewPostgresDatabase(t)
	d.Exec(t, "CREATE SCHEMA other")
	d.Exec(t, "CREATE VIEW other.seven AS SELECT 7")
	_, err := sqldb.NewScratchSchema(t.Context(), d.Address)
	if !loci.Is(err, loci.CodeConflict) || !strings.Contains(err.Error(), "other.seven") {
		t.Error("it is taken: ", err)
	}
}

func TestScratchErrorHidesPassword(t *testing.T) {
	t.Parallel()
	word := "tuna" + "4you" // no source holds a credential
	for _, place := range []string{"127.0.0.1:1/x", "127.0.0.1:port/x", "[::1/x"} {
		address := "postgres://ann:" + word + "@" + place
		_, err := sqldb.NewScratchSchema(t.Context(), address)
		if err == nil || strings.Contains(err.Error(), word) {
			t.Errorf("%s: %v", address, err)
		}
	}
}

func TestDatabaseHasTablesOnceOpened(t *testing.T) {
	t.Parallel()
	d := storetest.NewPostgresDatabase(t)
	has := func() bool {
		t.Helper()
		has, err := sqldb.PostgresHasTables(t.Context(), d.Address)
		if err != nil {
			t.Error(err)
		}
		return has
	}
	for range 2 { // to look changes nothing
		if has() {
			t.Error("a new database has tables")
		}
	}
	opened, err := store.OpenPostgres(t.Context(), d.Address, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	opened.Close()
	if !has() {
		t.Error("a database that was opened has no tables")
	}
	if _, err := sqldb.PostgresHasTables(t.Context(),
		"postgres://loci:hunter2@127.0.0.1:1/loci"); !loci.Is(err, loci.CodeUnavailable) ||
		strings.Contains(err.Error(), "hunter2") {
		t.Errorf("told %v", err)
	}
}
