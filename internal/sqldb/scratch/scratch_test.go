package scratch_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb/scratch"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/storetest"
)

func TestSchemaLeavesTheDatabaseUnchanged(t *testing.T) {
	t.Parallel()
	d := storetest.NewPostgresDatabase(t)
	schemas := func() []string { return d.Query(t, "SELECT nspname FROM pg_namespace ORDER BY 1") }
	before := schemas()
	s, err := scratch.NewSchema(t.Context(), d.Address)
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

func TestSchemaNeedsAnEmptyDatabase(t *testing.T) {
	t.Parallel()
	d := storetest.NewPostgresDatabase(t)
	d.Exec(t, "CREATE SCHEMA other")
	d.Exec(t, "CREATE VIEW other.seven AS SELECT 7")
	_, err := scratch.NewSchema(t.Context(), d.Address)
	if !loci.Is(err, loci.CodeConflict) || !strings.Contains(err.Error(), "other.seven") {
		t.Error("it is taken: ", err)
	}
}

func TestErrorHidesPassword(t *testing.T) {
	t.Parallel()
	word := "tuna" + "4you" // no source holds a credential
	for _, place := range []string{"127.0.0.1:1/x", "127.0.0.1:port/x", "[::1/x"} {
		address := "postgres://ann:" + word + "@" + place
		_, err := scratch.NewSchema(t.Context(), address)
		if err == nil || strings.Contains(err.Error(), word) {
			t.Errorf("%s: %v", address, err)
		}
	}
}
