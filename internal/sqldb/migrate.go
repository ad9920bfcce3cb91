package sqldb

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"github.com/loci-memory/loci"
)

// MigrationFiles are the migrations of this program, in the SQL of SQLite. ForPostgres translates them.
//
//go:embed migrations
var MigrationFiles embed.FS

// toPostgres replaces the words of SQLite in a migration. A line that begins with "-- postgres: " is a statement for
// PostgreSQL alone.
var toPostgres = strings.NewReplacer(
	"INTEGER PRIMARY KEY AUTOINCREMENT", "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
	"INTEGER PRIMARY KEY", "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
	"BLOB", "BYTEA",
	"REAL", "DOUBLE PRECISION",
	" WITHOUT ROWID", "",
	"\n-- postgres: ", "\n",
)

// ForPostgres returns the files of migrations in the SQL of PostgreSQL.
func ForPostgres(migrations fs.FS) fs.FS { return postgresFS{migrations} }

type postgresFS struct{ fs.FS }

// Open opens a file, whose text is translated, or a folder.
func (p postgresFS) Open(name string) (fs.File, error) {
	f, err := p.FS.Open(name)
	if err != nil || path.Ext(name) != ".sql" {
		return f, err
	}
	text, err := io.ReadAll(f)
	return postgresFile{f, strings.NewReader(toPostgres.Replace(string(text)))}, err
}

type postgresFile struct {
	fs.File
	text *strings.Reader
}

func (f postgresFile) Read(b []byte) (int, error) { return f.text.Read(b) }

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

// NewMigrator returns a provider that runs migrations on db.
func NewMigrator(dialect goose.Dialect, db *sql.DB, migrations fs.FS) (*goose.Provider, error) {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return nil, err
	}
	if dialect == goose.DialectPostgres {
		files = ForPostgres(files)
	}
	return goose.NewProvider(dialect, db, files, goose.WithDisableGlobalRegistry(true))
}

// migrationsOrDefault returns the migrations of the options, or those of the program.
func (o Options) migrationsOrDefault() fs.FS {
	if o.Migrations != nil {
		return o.Migrations
	}
	return MigrationFiles
}

// needsMigration reports whether a database with schema have needs migrations to schema latest. An empty database has
// schema 0. A newer schema is an error.
func (o Options) needsMigration(have int64) (needed bool, latest int64, err error) {
	latest = latestMigration(o.migrationsOrDefault())
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

// logMigration logs that a migration begins. The first one of an empty database is not logged.
func (o Options) logMigration(have, latest int64) {
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

// maxBusyTimeout is the busy timeout of migrations, practically without limit.
const maxBusyTimeout = math.MaxInt32

// migrate migrates the schema. The caller holds the lock file. A current schema costs one read of user_version.
// Migrations have no timeout, and wait for other processes without limit.
func (c *sqliteConn) migrate(ctx context.Context, db *sql.DB, o Options) error {
	have, err := c.userVersion()
	if err != nil {
		return err
	}
	due, latest, err := o.needsMigration(have)
	if err != nil {
		return err
	}
	if !due {
		return c.requireTables(ctx)
	}
	o.logMigration(have, latest)
	db.SetMaxOpenConns(1) // the pragma applies to one connection
	if _, err := db.ExecContext(ctx, fmt.Sprintf(`PRAGMA busy_timeout = %d`, maxBusyTimeout)); err != nil {
		return err
	}
	p, err := NewMigrator(goose.DialectSQLite3, db, o.migrationsOrDefault())
	if err != nil {
		return err
	}
	for err == nil && have < latest { // each schema is recorded before the next migration, which may fail
		if _, err = p.UpByOne(ctx); err != nil && !errors.Is(err, goose.ErrNoNextVersion) {
			return fmt.Errorf("sqldb: migrate from schema %d to %d: %w", have, latest, err)
		}
		if have, err = p.GetDBVersion(ctx); err == nil {
			_, err = c.Exec(fmt.Sprintf(`PRAGMA user_version = %d`, have), nil)
		}
	}
	return err
}

// requireTables refuses a database without a table of its schema.
func (c *sqliteConn) requireTables(ctx context.Context) error {
	var have []string
	if err := c.queryContext(ctx, `SELECT name FROM sqlite_schema WHERE type = 'table'`, nil, func(r Row) error {
		var name string
		err := r.Scan(&name)
		have = append(have, name)
		return err
	}); err != nil {
		return err
	}
	return compareTables(have)
}

// compareTables refuses a database without a table of its schema. The number of its schema says that it is complete, so
// a program before the first release made it, or the table was removed.
func compareTables(have []string) error {
	missing := slices.DeleteFunc(tableNames(), func(name string) bool { return slices.Contains(have, name) })
	if len(missing) == 0 {
		return nil
	}
	return loci.Errorf(loci.CodeConflict, "The database lacks tables of its schema: %s. An unreleased program made "+
		"it, or they were removed. Restore a backup; or export the memories with the program that made it, and begin "+
		"with an empty database.", strings.Join(missing, ", "))
}

func (c *sqliteConn) userVersion() (v int64, err error) {
	err = c.QueryRow(`PRAGMA user_version`, nil, []any{&v})
	return v, err
}

// PostgresHasTables reports whether the database at url has the tables of Loci, without creating them.
func PostgresHasTables(ctx context.Context, url string) (has bool, err error) {
	err = WithPostgres(ctx, url, func(c *pgx.Conn) error {
		return c.QueryRow(ctx, `SELECT to_regclass('memories') IS NOT NULL`).Scan(&has)
	})
	return has, err
}

// readPostgresSchema returns the number of the last applied migration, or 0. It reads pg_class: to_regclass reads the
// cache of the session. In a transaction, that may lack new tables of other sessions.
func readPostgresSchema(ctx context.Context, c interface {
	QueryRow(context.Context, string, ...any) pgx.Row
}) (have int64, err error) {
	var schema *string
	var migrated bool
	if err := c.QueryRow(ctx, `SELECT current_schema(), EXISTS (SELECT FROM pg_class WHERE relname = 'goose_db_version'
		AND pg_table_is_visible(oid))`).Scan(&schema, &migrated); err != nil {
		return 0, err
	}
	if schema == nil {
		return 0, loci.Errorf(loci.CodeInvalidQuery,
			"no schema of the search_path exists: create one, or name another in the address of the database")
	}
	if migrated {
		err = c.QueryRow(ctx, `SELECT COALESCE(max(version_id), 0) FROM goose_db_version WHERE is_applied`).Scan(&have)
	}
	return have, err
}

// requirePostgresTables refuses a database without a table of its schema.
func requirePostgresTables(ctx context.Context, pool *pgxpool.Pool) error {
	rows, err := pool.Query(ctx, `SELECT relname::text FROM pg_class WHERE relname = ANY ($1)
		AND pg_table_is_visible(oid)`, tableNames())
	if err != nil {
		return err
	}
	have, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	return compareTables(have)
}

// migratePostgres migrates the schema under an advisory lock, for one process at a time. It uses connections of its
// own, without the timeouts of other sessions.
func migratePostgres(ctx context.Context, config *pgxpool.Config, o Options) error {
	config = config.Copy()
	config.MaxConns = 2 // one holds the lock, one migrates
	config.MinConns = 0
	for _, name := range []string{"statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout"} {
		if _, sent := config.ConnConfig.RuntimeParams[name]; sent { // a pooler may reject it
			config.ConnConfig.RuntimeParams[name] = "0"
		}
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return err
	}
	defer pool.Close()
	have, err := readPostgresSchema(ctx, pool)
	if err != nil {
		return err
	}
	if due, _, err := o.needsMigration(have); err != nil {
		return err
	} else if !due {
		return requirePostgresTables(ctx, pool)
	}
	lock, err := pool.Begin(ctx)
	if err != nil {
		return err
	}
	defer lock.Rollback(context.WithoutCancel(ctx))
	_, err = lock.Exec(ctx,
		`SELECT pg_advisory_xact_lock(hashtextextended('loci migration of ' || current_schema(), 0))`)
	if err != nil {
		return err
	}
	if have, err = readPostgresSchema(ctx, lock); err != nil { // another process may have migrated meanwhile
		return err
	}
	due, latest, err := o.needsMigration(have)
	if err != nil || !due {
		return err
	}
	o.logMigration(have, latest)
	db := stdlib.OpenDBFromPool(pool)
	defer db.Close()
	p, err := NewMigrator(goose.DialectPostgres, db, o.migrationsOrDefault())
	if err != nil {
		return err
	}
	if _, err = p.Up(ctx); err != nil {
		return fmt.Errorf("sqldb: migrate from schema %d to %d: %w", have, latest, err)
	}
	return nil
}

// A SchemaStatus compares the schema of a database with the migrations of this program.
type SchemaStatus struct {
	Current int64    `json:"schema"`
	Latest  int64    `json:"newest"`
	Pending []string `json:"pending"` // names of the missing migrations
}

func newSchemaStatus(have int64) SchemaStatus {
	return SchemaStatus{have, LatestSchema, pendingMigrations(have)}
}

// PostgresSchemaStatus returns the status of the database at url, a postgres:// address.
func PostgresSchemaStatus(ctx context.Context, url string) (s SchemaStatus, err error) {
	err = WithPostgres(ctx, url, func(c *pgx.Conn) error {
		have, err := readPostgresSchema(ctx, c)
		s = newSchemaStatus(have)
		return err
	})
	return s, err
}

// SQLiteSchemaStatus returns the status of the database in dir.
func SQLiteSchemaStatus(ctx context.Context, dir string) (s SchemaStatus, err error) {
	err = withSQLite(dir, func(c *sqliteConn) error {
		have, err := c.userVersion()
		s = newSchemaStatus(have)
		return err
	})
	return s, err
}
