// Package storetest runs tests on every database that Loci knows: SQLite by
// the driver of the build, and the PostgreSQL servers that LOCI_TEST_PG15 and
// LOCI_TEST_PG18 name.
package storetest

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"net/url"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/loci-memory/loci/internal/store"
)

// servers are the PostgreSQL servers by the names of their engines.
var servers = map[string]string{"pg15": "LOCI_TEST_PG15", "pg18": "LOCI_TEST_PG18"}

// A Database can be opened several times, as by several processes.
type Database struct {
	Engine string
	open   func(o store.Options) (*store.Store, error)
}

// Open opens the database until the end of the test.
func (d Database) Open(t testing.TB, o store.Options) *store.Store {
	t.Helper()
	s, err := d.TryOpen(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// TryOpen opens the database, which the caller closes.
func (d Database) TryOpen(o store.Options) (*store.Store, error) { return d.open(o) }

// Each runs f on a fresh database of every engine.
func Each(t *testing.T, f func(t *testing.T, d Database)) {
	t.Helper()
	t.Run(store.Driver, func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		f(t, Database{store.Driver, func(o store.Options) (*store.Store, error) { return store.OpenSQLite(context.Background(), dir, o) }})
	})
	for _, engine := range []string{"pg15", "pg18"} {
		t.Run(engine, func(t *testing.T) {
			address := os.Getenv(servers[engine])
			if address == "" {
				t.Skipf("%s names no server", servers[engine])
			}
			t.Parallel()
			address = Schema(t, address)
			f(t, Database{engine, func(o store.Options) (*store.Store, error) {
				return store.OpenPostgres(context.Background(), address, o)
			}})
		})
	}
}

// Schema makes a fresh schema on a PostgreSQL server and returns the address
// of a database that consists of it alone.
func Schema(t testing.TB, address string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var random [8]byte
	rand.Read(random[:])
	name := "t" + hex.EncodeToString(random[:])
	exec := func(q string) {
		c, err := pgx.Connect(ctx, address)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close(ctx)
		if _, err := c.Exec(ctx, q); err != nil {
			t.Fatal(err)
		}
	}
	exec("CREATE SCHEMA " + name)
	t.Cleanup(func() {
		ctx, cancel = context.WithTimeout(context.Background(), time.Minute)
		exec("DROP SCHEMA " + name + " CASCADE")
	})
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Set("search_path", name)
	u.RawQuery = q.Encode()
	return u.String()
}
