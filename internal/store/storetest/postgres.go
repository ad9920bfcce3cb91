package storetest

import (
	"crypto/rand"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/testenv"
)

// A run may name some servers alone, or none. Their tests are skipped then, unless LOCI_TEST_REQUIRE names the engine.

// address returns the address of the server of an engine.
func address(engine string) string { return os.Getenv(servers[engine]) }

// absence says why an engine is absent.
func absence(engine string) string { return servers[engine] + " names no server" }

// HasPostgres reports whether a PostgreSQL server is named. The test fails if the run requires an absent one.
func HasPostgres(t testing.TB) bool {
	t.Helper()
	has := false
	for engine := range servers {
		switch {
		case address(engine) != "":
			has = true
		case testenv.Requires(engine):
			testenv.Absent(t, engine, absence(engine))
		}
	}
	return has
}

// NewPostgresDatabase makes an empty PostgreSQL database for the length of the test. Without a server the test is
// skipped; it fails if the run requires one.
func NewPostgresDatabase(t testing.TB) Database {
	t.Helper()
	if !HasPostgres(t) {
		t.Skip("no PostgreSQL server is named")
	}
	engine := "pg18"
	if address(engine) == "" {
		engine = "pg15"
	}
	return newPostgresDatabase(t, engine, "")
}

func newPostgresDatabase(t testing.TB, engine, options string) Database {
	t.Helper()
	server, name := Database{Address: address(engine)}, "own_"+strings.ToLower(rand.Text())
	own := testenv.Must(changeAddress(server.Address, name, ""))(t)
	server.Exec(t, "CREATE DATABASE "+name+" "+options)
	t.Cleanup(func() { server.drop(t, name) })
	return Database{Engine: engine, Address: own}
}

// drop drops a database of a server. Loci may connect meanwhile.
func (d Database) drop(t testing.TB, name string) {
	t.Helper()
	d.Exec(t, "ALTER DATABASE "+name+" CONNECTION LIMIT 0")
	// FORCE would be refused while a vacuum, which is the superuser's, is in the database
	d.Query(t, `SELECT CAST(pg_terminate_backend(pid) AS TEXT) FROM pg_stat_activity
		WHERE usename = current_user AND datname = '`+name+`'`)
	d.Exec(t, "DROP DATABASE "+name)
}

// MakeAnew drops the database of NewPostgresDatabase, and makes an empty one of its name.
func (d Database) MakeAnew(t testing.TB) {
	t.Helper()
	server := Database{Address: address(d.Engine)}
	name := strings.TrimPrefix(testenv.Must(url.Parse(d.Address))(t).Path, "/")
	server.drop(t, name)
	server.Exec(t, "CREATE DATABASE "+name)
}

// changeAddress returns an address with another database and search_path. Empty ones stay as they are.
func changeAddress(address, database, schema string) (string, error) {
	u, err := url.Parse(address)
	if err != nil {
		return "", err
	}
	if database != "" {
		u.Path = "/" + database
	}
	if schema != "" {
		q := u.Query()
		q.Set("search_path", schema)
		u.RawQuery = q.Encode()
	}
	return u.String(), nil
}

// NewPostgresSchema makes another empty schema on the PostgreSQL server of an engine.
func NewPostgresSchema(t testing.TB, engine string) Database {
	t.Helper()
	return Database{Engine: engine, Address: NewSchema(t, address(engine))}
}
