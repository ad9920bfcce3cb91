// Package storetest runs tests on every database that Loci supports. These are SQLite by the driver of the build, and
// the PostgreSQL servers in LOCI_TEST_PG15 and LOCI_TEST_PG18, which a run may leave out.
package storetest

import (
	"compress/gzip"
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/hex"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	_ "github.com/jackc/pgx/v5/stdlib" // for DB

	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/sqldb/postgres"
	"github.com/loci-memory/loci/internal/sqldb/sqlite"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/testenv"
)

// servers are the PostgreSQL servers by the names of their engines.
var servers = map[string]string{"pg15": "LOCI_TEST_PG15", "pg18": "LOCI_TEST_PG18"}

// A Database can be opened several times, as by several processes.
type Database struct {
	Engine  string
	Dir     string // of SQLite's files
	Address string // of PostgreSQL
}

// Open opens the database until the end of the test.
func (d Database) Open(t testing.TB, o store.Options) *store.Store {
	t.Helper()
	s := testenv.Must(d.TryOpen(o))(t)
	t.Cleanup(func() {
		checkRows(t, s)
		s.Close()
	})
	return s
}

// written has the names of the tests that write rows behind the store's back.
var written sync.Map

// MarkWritten says that the test writes rows or bytes of the database behind the store's back.
func MarkWritten(t testing.TB) { written.Store(t.Name(), true) }

// checkRows compares all rows with their checksums, unless the test has written rows of its own or closed the store.
func checkRows(t testing.TB, s *store.Store) {
	if _, has := written.Load(t.Name()); has {
		return
	}
	for _, table := range sqldb.ChecksumTables() {
		for after := []any(nil); ; {
			last, err := sqldb.SystemRead(context.Background(), s.DB(), "check", func(tx *sqldb.Tx) ([]any, error) {
				damaged, last, err := table.Check(tx, after, 1000)
				if len(damaged) > 0 {
					t.Errorf("%s: %d rows have another checksum, first %v", table.Name, len(damaged), damaged[0])
				}
				return last, err
			})
			if err != nil { // the test closed or damaged the store
				return
			}
			if after = last; last == nil {
				break
			}
		}
	}
}

// TryOpen opens the database, which the caller closes.
func (d Database) TryOpen(o store.Options) (*store.Store, error) {
	if d.Dir != "" {
		return store.OpenSQLite(context.Background(), d.Dir, o)
	}
	return store.OpenPostgres(context.Background(), d.Address, o)
}

// Intercept is a value of store.Options.Intercept. The store uses db, whose field inner gets the opened database.
func Intercept(db sqldb.DB, inner *sqldb.DB) func(sqldb.DB) sqldb.DB {
	return func(opened sqldb.DB) sqldb.DB {
		*inner = opened
		return db
	}
}

// SchemaStatus returns how far the migrations of the database are.
func (d Database) SchemaStatus(ctx context.Context) (sqldb.SchemaStatus, error) {
	if d.Dir != "" {
		return sqlite.SchemaStatus(ctx, d.Dir)
	}
	return postgres.SchemaStatus(ctx, d.Address)
}

// DB opens the database behind the store's back, until the end of the test.
func (d Database) DB(t testing.TB) *sql.DB {
	t.Helper()
	db := d.openDB(t)
	t.Cleanup(func() { db.Close() })
	return db
}

func (d Database) openDB(t testing.TB) *sql.DB {
	t.Helper()
	MarkWritten(t)
	driver, name := "pgx", d.Address
	if d.Dir != "" {
		// Each driver has its own name for the timeout, and ignores that of the other.
		u := url.URL{Scheme: "file", Path: filepath.ToSlash(filepath.Join(d.Dir, sqlite.FileName)),
			RawQuery: "_busy_timeout=10000&_pragma=busy_timeout(10000)"}
		driver, name = sqlite.SQLName, u.String()
	}
	db := testenv.Must(sql.Open(driver, name))(t)
	return db
}

// Exec runs a statement behind the store's back. It closes the connection: a test that runs hundreds would hold as
// many.
func (d Database) Exec(t testing.TB, q string) {
	t.Helper()
	db := d.openDB(t)
	defer db.Close()
	testenv.Must(db.Exec(q))(t)
}

// Write runs a statement without arguments that keeps the checksums of rows, as the statements of the store do.
func (d Database) Write(t testing.TB, q string) {
	t.Helper()
	dialect := &sqldb.Dialect{Postgres: d.Address != ""}
	s := testenv.Must(sqldb.Rewrite(q, dialect))(t)
	var sums []any
	testenv.NoError(t, s.AddSums(dialect, nil, func(sum int64) { sums = append(sums, sum) }))
	if dialect.Postgres {
		s.Text = strings.ReplaceAll(s.Text, "?", "$")
	}
	db := d.openDB(t)
	defer db.Close()
	testenv.Must(db.Exec(s.Text, sums...))(t)
}

// ComputeChecksums computes the checksums of all rows, after statements behind the store's back.
func (d Database) ComputeChecksums(t testing.TB) {
	t.Helper()
	d.Exec(t, sqldb.ChecksumUpdates(&sqldb.Dialect{Postgres: d.Address != ""}))
}

// Load fills an empty database from a file that scripts/schema-fixture has made. The path is without its extensions.
func (d Database) Load(t testing.TB, path string) {
	t.Helper()
	extension := ".sql.gz"
	if d.Dir != "" {
		extension = ".db.gz"
	}
	packed := testenv.Must(os.Open(path + extension))(t)
	defer packed.Close()
	content := testenv.Must(io.ReadAll(testenv.Must(gzip.NewReader(packed))(t)))(t)
	if d.Dir == "" {
		d.Exec(t, string(content))
		return
	}
	testenv.NoError(t, os.WriteFile(filepath.Join(d.Dir, sqlite.FileName), content, 0o600))
}

// Query returns the only column of a query.
func (d Database) Query(t testing.TB, q string) (list []string) {
	t.Helper()
	db := d.openDB(t)
	defer db.Close()
	rows := testenv.Must(db.Query(q))(t)
	defer rows.Close()
	for rows.Next() {
		var s string
		testenv.NoError(t, rows.Scan(&s))
		list = append(list, s)
	}
	return list
}

// Each runs f on a fresh database of every engine, with all tables.
func Each(t *testing.T, f func(t *testing.T, d Database)) {
	t.Helper()
	each(t, f, NewDir, copyPostgresTemplate)
}

// EachEmpty runs f on an empty database of every engine, which Open migrates.
func EachEmpty(t *testing.T, f func(t *testing.T, d Database)) {
	t.Helper()
	each(t, f, func(t testing.TB) string { return t.TempDir() }, NewPostgresSchema)
}

func each(t *testing.T, f func(t *testing.T, d Database), newDir func(t testing.TB) string,
	newPostgres func(t testing.TB, engine string) Database) {
	t.Helper()
	for _, driver := range []string{"mattn", "modernc"} {
		if testenv.Requires(driver) && !testenv.Requires(sqlite.Driver) {
			testenv.Absent(t, driver, "the build has "+sqlite.Driver)
		}
	}
	t.Run(sqlite.Driver, func(t *testing.T) {
		t.Parallel()
		f(t, Database{Engine: sqlite.Driver, Dir: newDir(t)})
	})
	for _, engine := range []string{"pg15", "pg18"} {
		t.Run(engine, func(t *testing.T) {
			if address(engine) == "" {
				testenv.Absent(t, engine, absence(engine))
			}
			t.Parallel()
			f(t, newPostgres(t, engine))
		})
	}
}

// NewSchema creates a schema on a PostgreSQL server, and returns the address with it as the search_path.
func NewSchema(t testing.TB, address string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var random [8]byte
	rand.Read(random[:])
	name := "t" + hex.EncodeToString(random[:])
	exec := func(q string) {
		c := testenv.Must(pgx.Connect(ctx, address))(t)
		defer c.Close(ctx)
		testenv.Must(c.Exec(ctx, q))(t)
	}
	exec("CREATE SCHEMA " + name)
	t.Cleanup(func() {
		ctx, cancel = context.WithTimeout(context.Background(), time.Minute)
		exec("DROP SCHEMA " + name + " CASCADE")
	})
	own := testenv.Must(changeAddress(address, "", name))(t)
	return own
}

// Count returns the number of rows of a table, or of those with a condition.
func (d Database) Count(t testing.TB, from string) string {
	t.Helper()
	return d.Query(t, `SELECT CAST(count(*) AS TEXT) FROM `+from)[0]
}
