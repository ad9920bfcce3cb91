package sqldb

import (
	"cmp"
	"database/sql"
	"embed"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/pressly/goose/v3"

	"github.com/loci-memory/loci"
)

// MigrationFiles are the migrations of this program, in the SQL of SQLite. MigrationsFor translates them.
//
//go:embed migrations
var MigrationFiles embed.FS

// toPostgres replaces the words of SQLite in a migration. A line that begins with "-- postgres: " is for PostgreSQL
// alone.
var toPostgres = strings.NewReplacer(
	"INTEGER PRIMARY KEY AUTOINCREMENT", "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
	"INTEGER PRIMARY KEY", "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
	"BLOB", "BYTEA",
	"REAL", "DOUBLE PRECISION",
	" WITHOUT ROWID", "",
	"\n-- postgres: ", "\n",
	"-- +goose Up\n", "-- +goose Up\n"+strings.Join(NoTimeouts, ";\n")+";\n",
)

// NoTimeouts are statements that end the timeouts of a PostgreSQL transaction, which a role or an address sets. Behind
// a pooler in transaction mode, no other setting lasts until its end.
var NoTimeouts = []string{`SET LOCAL statement_timeout = 0`, `SET LOCAL lock_timeout = 0`,
	`SET LOCAL idle_in_transaction_session_timeout = 0`}

// computeChecksums is the line of a migration that computes the checksums of all rows. One that changes a column of
// stored rows within their checksum ends with it.
const computeChecksums = "-- compute checksums\n"

// MigrationsFor returns the files of migrations in the SQL of a database, on PostgreSQL without timeouts.
func MigrationsFor(d *Dialect, migrations fs.FS) fs.FS { return translatedFS{migrations, d} }

type translatedFS struct {
	fs.FS
	dialect *Dialect
}

// Open opens a file, whose text is translated, or a folder.
func (t translatedFS) Open(name string) (fs.File, error) {
	f, err := t.FS.Open(name)
	if err != nil || path.Ext(name) != ".sql" {
		return f, err
	}
	content, err := io.ReadAll(f)
	text := string(content)
	if t.dialect.Postgres {
		text = toPostgres.Replace(text)
	} else if n, e := goose.NumericComponent(path.Base(name)); e == nil { // its changes and its number are one commit
		text += fmt.Sprintf("\nPRAGMA user_version = %d;\n", n)
	}
	if strings.Contains(text, computeChecksums) {
		text = strings.ReplaceAll(text, computeChecksums,
			checksumUpdates(t.dialect, summedTables(readTables(MigrationFiles, path.Base(name)))))
	}
	return translatedFile{f, strings.NewReader(text)}, err
}

type translatedFile struct {
	fs.File
	text *strings.Reader
}

func (f translatedFile) Read(b []byte) (int, error) { return f.text.Read(b) }

// LatestSchema is the number of the newest migration of this program.
var LatestSchema = latestMigration(MigrationFiles)

// latestMigration returns the highest number among migrations.
func latestMigration(migrations fs.FS) (newest int64) {
	files, err := fs.ReadDir(migrations, "migrations")
	if err != nil {
		panic(err) // the folder is embedded
	}
	for _, f := range files {
		n, err := goose.NumericComponent(f.Name())
		if err != nil {
			panic(err) // TestMigrationsAreNumbered checks it
		}
		newest = max(newest, n)
	}
	return newest
}

// orEmbedded returns migrations, or those of the program.
func orEmbedded(migrations fs.FS) fs.FS { return cmp.Or(migrations, fs.FS(MigrationFiles)) }

// NewMigrator returns a provider that runs migrations on db. Without migrations it runs those of the program.
func NewMigrator(d *Dialect, db *sql.DB, migrations fs.FS) (*goose.Provider, error) {
	files, err := fs.Sub(orEmbedded(migrations), "migrations")
	if err != nil {
		return nil, err
	}
	name := goose.DialectSQLite3
	if d.Postgres {
		name = goose.DialectPostgres
	}
	return goose.NewProvider(name, db, MigrationsFor(d, files), goose.WithDisableGlobalRegistry(true))
}

// NeedsMigration reports whether a database with schema have needs migrations to schema latest. An empty database has
// schema 0. A newer schema is an error.
func (o Options) NeedsMigration(have int64) (needed bool, latest int64, err error) {
	latest = latestMigration(orEmbedded(o.Migrations))
	switch {
	case have > latest:
		return false, latest, fmt.Errorf("sqldb: the database has schema %d, this program knows %d: use a newer loci",
			have, latest)
	case have == latest:
		return false, latest, nil
	case have != 0 && o.KeepSchema:
		return false, latest, loci.Errorf(loci.CodeConflict, "The database has schema %d and this program needs %d: "+
			"start loci serve, or run loci admin migrate.", have, latest)
	}
	return true, latest, nil
}

// LogMigration logs that a migration begins. The first one of an empty database is not logged.
func (o Options) LogMigration(have, latest int64) {
	if o.Log != nil && have != 0 {
		o.Log.Info("migrate the database", "from", have, "to", latest)
	}
}

// pendingMigrations returns the names of the migrations after schema have.
func pendingMigrations(have int64) []string {
	names := []string{}
	files, _ := MigrationFiles.ReadDir("migrations") // it is embedded
	for _, f := range files {
		if n, _ := goose.NumericComponent(f.Name()); n > have {
			names = append(names, strings.TrimSuffix(f.Name(), ".sql"))
		}
	}
	return names
}

// RequireTables refuses a database without a table of its schema. The number of its schema says that it is complete, so
// a program before the first release made it, or the table was removed.
func RequireTables(have []string) error {
	missing := slices.DeleteFunc(TableNames(), func(name string) bool { return slices.Contains(have, name) })
	if len(missing) == 0 {
		return nil
	}
	return loci.Errorf(loci.CodeConflict, "The database lacks tables of its schema: %s. An unreleased program made "+
		"it, or they were removed. Restore a backup; or export the memories with the program that made it, and begin "+
		"with an empty database.", strings.Join(missing, ", "))
}

// A SchemaStatus compares the schema of a database with the migrations of this program.
type SchemaStatus struct {
	Current int64    `json:"schema"`
	Latest  int64    `json:"newest"`
	Pending []string `json:"pending"` // names of the missing migrations
}

// NewSchemaStatus returns the status of a database with schema have.
func NewSchemaStatus(have int64) SchemaStatus {
	return SchemaStatus{have, LatestSchema, pendingMigrations(have)}
}
