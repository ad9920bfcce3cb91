package store

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
)

//go:embed migrations
var migrations embed.FS

// schemaVersion is the number of the newest migration, which is the same in both folders.
var schemaVersion = newestMigration("sqlite")

// newestMigration returns the highest number among the migrations in dir.
func newestMigration(dir string) (newest int64) {
	files, err := fs.ReadDir(migrations, "migrations/"+dir)
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

func provider(dialect goose.Dialect, db *sql.DB, dir string, options ...goose.ProviderOption) (*goose.Provider, error) {
	files, err := fs.Sub(migrations, "migrations/"+dir)
	if err != nil {
		return nil, err
	}
	return goose.NewProvider(dialect, db, files, append(options, goose.WithDisableGlobalRegistry(true))...)
}

// migrate brings the schema up to date; the caller holds the lock of the file.
// A file that is up to date costs one look at its user_version.
func (c *sqliteConn) migrate(ctx context.Context, db *sql.DB) error {
	have, err := c.userVersion()
	if err != nil || have == schemaVersion {
		return err
	}
	if have > schemaVersion {
		return newer(have)
	}
	p, err := provider(goose.DialectSQLite3, db, "sqlite")
	if err != nil {
		return err
	}
	if _, err := p.Up(ctx); err != nil {
		return err
	}
	_, err = c.exec(fmt.Sprintf(`PRAGMA user_version = %d`, schemaVersion), nil)
	return err
}

func (c *sqliteConn) userVersion() (v int64, err error) {
	err = c.one(`PRAGMA user_version`, nil, []any{&v})
	return v, err
}

// PostgresHasTables reports whether the database at url, a postgres:// address, was
// ever opened: OpenPostgres would make what it lacks.
func PostgresHasTables(ctx context.Context, url string) (has bool, err error) {
	err = visit(ctx, url, func(c *pgx.Conn) error {
		return c.QueryRow(ctx, `SELECT to_regclass('memories') IS NOT NULL`).Scan(&has)
	})
	return has, err
}

// migratePostgres brings the schema up to date, one process at a time: those
// who wait go on as soon as the one before them is done.
func migratePostgres(ctx context.Context, pool *pgxpool.Pool) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	lock, err := pool.Begin(ctx)
	if err != nil {
		return err
	}
	defer lock.Rollback(context.WithoutCancel(ctx))
	_, err = lock.Exec(ctx, `SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0;
		SELECT pg_advisory_xact_lock(hashtextextended('loci migration of ' || current_schema(), 0))`)
	if err != nil {
		return err
	}
	db := stdlib.OpenDBFromPool(pool)
	defer db.Close()
	p, err := provider(goose.DialectPostgres, db, "postgres")
	if err != nil {
		return err
	}
	have, err := p.GetDBVersion(ctx)
	if err != nil {
		return err
	}
	if have > schemaVersion {
		return newer(have)
	}
	_, err = p.Up(ctx)
	return err
}

func newer(have int64) error {
	return fmt.Errorf("store: the database has version %d, this program knows %d: use a newer loci", have, schemaVersion)
}
