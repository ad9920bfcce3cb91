package storetest

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/hex"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/sqldb/postgres"
	"github.com/loci-memory/loci/internal/sqldb/sqlite"
	"github.com/loci-memory/loci/internal/testenv"
)

// A template is an empty database with the newest schema. To copy it takes a fraction of the time of the migrations.

// sqliteTemplate returns the file of the template.
var sqliteTemplate = sync.OnceValues(func() (file []byte, err error) {
	dir, err := os.MkdirTemp("", "loci-template")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	db, err := sqlite.Open(context.Background(), dir, sqldb.Options{})
	if err == nil {
		err = db.Close()
	}
	if err != nil {
		return nil, err
	}
	return os.ReadFile(filepath.Join(dir, sqlite.FileName))
})

// NewDir returns a folder of the test with a copy of the template of SQLite.
func NewDir(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	file, err := sqliteTemplate()
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, sqlite.FileName), file, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// templateSchema has the tables of a template on a PostgreSQL server. Loci needs no certain schema.
const templateSchema = "loci_test"

// postgresTemplates has the template of each engine.
var postgresTemplates sync.Map

// copyPostgresTemplate makes a copy of the template on the server of an engine, for the length of the test.
func copyPostgresTemplate(t testing.TB, engine string) Database {
	t.Helper()
	made, _ := postgresTemplates.LoadOrStore(engine, sync.OnceValues(func() (string, error) {
		return newPostgresTemplate(address(engine))
	}))
	template := testenv.Must(made.(func() (string, error))())(t)
	d := newPostgresDatabase(t, engine, "TEMPLATE "+template+" STRATEGY FILE_COPY")
	d.Address = testenv.Must(changeAddress(d.Address, "", templateSchema))(t)
	return d
}

// newPostgresTemplate makes the template on a server, unless another process has done so, and returns its name, which
// depends on the migrations. The database gets this name once it is complete.
func newPostgresTemplate(address string) (name string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if name, err = templateName(); err != nil {
		return "", err
	}
	server, err := sql.Open("pgx", address)
	if err != nil {
		return "", err
	}
	defer server.Close()
	server.SetMaxOpenConns(1) // the lock belongs to a connection
	var made bool
	if _, err = server.ExecContext(ctx, `SELECT pg_advisory_lock(hashtext('templates of tests'))`); err == nil {
		err = server.QueryRowContext(ctx, `SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)`, name).Scan(&made)
	}
	if err != nil || made {
		return name, err
	}
	for _, q := range []string{"DROP DATABASE IF EXISTS " + name + "_new", "CREATE DATABASE " + name + "_new"} {
		if _, err = server.ExecContext(ctx, q); err != nil {
			return "", err
		}
	}
	if err = migrateTemplate(ctx, address, name+"_new"); err != nil {
		return "", err
	}
	_, err = server.ExecContext(ctx, "ALTER DATABASE "+name+"_new RENAME TO "+name)
	return name, err
}

func migrateTemplate(ctx context.Context, server, name string) error {
	address, err := changeAddress(server, name, templateSchema)
	if err != nil {
		return err
	}
	db, err := sql.Open("pgx", address)
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, "CREATE SCHEMA "+templateSchema)
	if err = cmp.Or(err, db.Close()); err != nil {
		return err
	}
	migrated, err := postgres.Open(ctx, address, sqldb.Options{})
	if err != nil {
		return err
	}
	return migrated.Close()
}

// templateName depends on the text of the migrations.
func templateName() (string, error) {
	hash := fnv.New64a()
	migrations := sqldb.MigrationsFor(&sqldb.Dialect{Postgres: true}, sqldb.MigrationFiles)
	err := fs.WalkDir(migrations, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(migrations, path)
		hash.Write(text)
		return err
	})
	return "template_" + hex.EncodeToString(hash.Sum(nil)), err
}
