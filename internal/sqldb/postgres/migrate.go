package postgres

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/sqldb/upgrade"
)

// migrate migrates the schema under an advisory lock, for one process at a time. It uses connections of its
// own, and its transactions have no timeouts.
func migrate(ctx context.Context, config *pgxpool.Config, o sqldb.Options) error {
	config = config.Copy()
	config.MaxConns = 2 // one holds the lock, one migrates
	config.MinConns = 0
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return err
	}
	defer pool.Close()
	have, err := readSchema(ctx, pool)
	if err != nil {
		return err
	}
	if due, _, err := o.NeedsMigration(have); err != nil {
		return err
	} else if !due {
		return requireTables(ctx, pool)
	}
	lock, err := pool.Begin(ctx)
	if err != nil {
		return err
	}
	defer lock.Rollback(context.WithoutCancel(ctx))
	for _, q := range append(slices.Clone(sqldb.NoTimeouts),
		`SELECT pg_advisory_xact_lock(hashtextextended('loci migration of ' || current_schema(), 0))`) {
		if _, err = lock.Exec(ctx, q); err != nil {
			return err
		}
	}
	if have, err = readSchema(ctx, lock); err != nil { // another process may have migrated meanwhile
		return err
	}
	due, latest, err := o.NeedsMigration(have)
	if err != nil || !due {
		return err
	}
	o.LogMigration(have, latest)
	db := stdlib.OpenDBFromPool(pool)
	defer db.Close()
	if err := upgrade.MarkDamaged(ctx, db, have); err != nil {
		return err
	}
	p, err := sqldb.NewMigrator(dialect, db, o.Migrations)
	if err != nil {
		return err
	}
	if _, err = p.Up(ctx); err != nil {
		return fmt.Errorf("sqldb: migrate from schema %d to %d: %w", have, latest, err)
	}
	return nil
}

// readSchema returns the number of the last applied migration, or 0. It reads pg_class: to_regclass reads the
// cache of the session. In a transaction, that may lack new tables of other sessions.
func readSchema(ctx context.Context, c interface {
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

// requireTables refuses a database without a table of its schema.
func requireTables(ctx context.Context, pool *pgxpool.Pool) error {
	rows, err := pool.Query(ctx, `SELECT relname::text FROM pg_class WHERE relname = ANY ($1)
		AND pg_table_is_visible(oid)`, sqldb.TableNames())
	if err != nil {
		return err
	}
	have, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	return sqldb.RequireTables(have)
}

// HasTables reports whether the database at url has the tables of Loci, without creating them.
func HasTables(ctx context.Context, url string) (has bool, err error) {
	err = Connect(ctx, url, func(c *pgx.Conn) error {
		return c.QueryRow(ctx, `SELECT to_regclass('memories') IS NOT NULL`).Scan(&has)
	})
	return has, err
}

// SchemaStatus returns the status of the database at url, a postgres:// address.
func SchemaStatus(ctx context.Context, url string) (s sqldb.SchemaStatus, err error) {
	err = Connect(ctx, url, func(c *pgx.Conn) error {
		have, err := readSchema(ctx, c)
		s = sqldb.NewSchemaStatus(have)
		return err
	})
	return s, err
}
