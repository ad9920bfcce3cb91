package sqldb

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"math"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"github.com/loci-memory/loci"
)

//go:embed migrations
var MigrationFiles embed.FS

// LatestSchema is the number of this program's newest migration.
var LatestSchema = latestMigration(MigrationFiles)

// latestMigration returns the highest number among migrations. Both folders have the same numbers.
func latestMigration(migrations fs.FS) (newest int64) {
	files, err := fs.ReadDir(migrations, "migrations/sqlite")
	if err != nil {
		panic(err) // the folder is embedded
	}
	for _, f := range files {
		n, err := goose.NumericComponent(f.Name())
		if err != nil {
			panic(err) // TestMigrationsAreNumberedAlike sees it first
		}
		newest = max(newest, n)
	}
	return newest
}

// NewMigrator returns the migrations of one folder, to be run on db.
func NewMigrator(dialect goose.Dialect, db *sql.DB, migrations fs.FS, dir string) (*goose.Provider, error) {
	files, err := fs.Sub(migrations, "migrations/"+dir)
	if err != nil {
		return nil, err
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

// needsMigration reports whether a database of schema have needs migrations to schema latest.
// An empty database has schema 0.
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
	if o.Log != nil && have != 0 {
		o.Log.Info("migrate the database", "from", have, "to", latest)
	}
	return true, latest, nil
}

// pendingMigrations returns the names of the migrations that a schema lacks.
func pendingMigrations(have int64) []string {
	names := []string{}
	files, _ := fs.ReadDir(MigrationFiles, "migrations/sqlite") // embedded, and named alike in both folders
	for _, f := range files {
		if n, _ := goose.NumericComponent(f.Name()); n > have {
			names = append(names, strings.TrimSuffix(f.Name(), ".sql"))
		}
	}
	return names
}

// maxBusyTimeout is a busy timeout for statements that wait as long as it takes.
const maxBusyTimeout = math.MaxInt32

// migrate brings the schema up to date; the caller holds the lock of the file.
// A file that is up to date costs one look at its user_version. A migration takes
// as long as it needs, and waits for other processes as long.
func (c *sqliteConn) migrate(ctx context.Context, db *sql.DB, o Options) error {
	have, err := c.userVersion()
	if err != nil {
		return err
	}
	due, latest, err := o.needsMigration(have)
	if err != nil || !due {
		return err
	}
	db.SetMaxOpenConns(1) // which the pragma is for
	if _, err := db.ExecContext(ctx, fmt.Sprintf(`PRAGMA busy_timeout = %d`, maxBusyTimeout)); err != nil {
		return err
	}
	p, err := NewMigrator(goose.DialectSQLite3, db, o.migrationsOrDefault(), "sqlite")
	if err != nil {
		return err
	}
	if _, err := p.Up(ctx); err != nil {
		return fmt.Errorf("sqldb: migrate from schema %d to %d: %w", have, latest, err)
	}
	_, err = c.Exec(fmt.Sprintf(`PRAGMA user_version = %d`, latest), nil)
	return err
}

func (c *sqliteConn) userVersion() (v int64, err error) {
	err = c.QueryRow(`PRAGMA user_version`, nil, []any{&v})
	return v, err
}

// PostgresHasTables reports whether the database at url, a postgres:// address, was
// ever opened: OpenPostgres would make what it lacks.
func PostgresHasTables(ctx context.Context, url string) (has bool, err error) {
	err = withPostgres(ctx, url, func(c *pgx.Conn) error {
		return c.QueryRow(ctx, `SELECT to_regclass('memories') IS NOT NULL`).Scan(&has)
	})
	return has, err
}

// readPostgresSchema returns the number of the last migration that a database has, 0 where
// it has none.
func readPostgresSchema(ctx context.Context, c interface {
	QueryRow(context.Context, string, ...any) pgx.Row
}) (have int64, err error) {
	var schema *string
	var migrated bool
	if err := c.QueryRow(ctx, `SELECT current_schema(), to_regclass('goose_db_version') IS NOT NULL`).Scan(&schema,
		&migrated); err != nil {
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

// migratePostgres brings the schema up to date, one process at a time: the others
// wait for it. A migration takes as long as it needs: its connections are its own,
// without the timeouts of those that answer callers.
func migratePostgres(ctx context.Context, config *pgxpool.Config, o Options) error {
	config = config.Copy()
	config.MaxConns = 2 // a migration works beside its lock
	config.MinConns = 0
	for _, name := range []string{"statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout"} {
		if _, sent := config.ConnConfig.RuntimeParams[name]; sent { // a pooler may refuse it
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
	due, latest, err := o.needsMigration(have)
	if err != nil || !due {
		return err
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
	db := stdlib.OpenDBFromPool(pool)
	defer db.Close()
	p, err := NewMigrator(goose.DialectPostgres, db, o.migrationsOrDefault(), "postgres")
	if err != nil {
		return err
	}
	if _, err = p.Up(ctx); err != nil {
		return fmt.Errorf("sqldb: migrate from schema %d to %d: %w", have, latest, err)
	}
	return nil
}

// A SchemaStatus says how far the migrations of a database are.
type SchemaStatus struct {
	Current int64    `json:"schema"`
	Latest  int64    `json:"newest"`
	Pending []string `json:"pending"` // the names of the migrations that it lacks
}

func newSchemaStatus(have int64) SchemaStatus {
	return SchemaStatus{have, LatestSchema, pendingMigrations(have)}
}

// PostgresSchemaStatus returns how far the database at url, a postgres:// address, is.
func PostgresSchemaStatus(ctx context.Context, url string) (s SchemaStatus, err error) {
	err = withPostgres(ctx, url, func(c *pgx.Conn) error {
		have, err := readPostgresSchema(ctx, c)
		s = newSchemaStatus(have)
		return err
	})
	return s, err
}

// SQLiteSchemaStatus returns how far the database in dir is.
func SQLiteSchemaStatus(ctx context.Context, dir string) (s SchemaStatus, err error) {
	err = withSQLite(dir, func(c *sqliteConn) error {
		have, err := c.userVersion()
		s = newSchemaStatus(have)
		return err
	})
	return s, err
}
