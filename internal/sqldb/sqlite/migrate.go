package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"math"

	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/sqldb/upgrade"
)

// maxBusyTimeout is the busy timeout of migrations, practically without limit.
const maxBusyTimeout = math.MaxInt32

// migrate migrates the schema. The caller holds the lock file. A current schema costs one read of user_version.
// Migrations have no timeout, and wait for other processes without limit.
func (c *conn) migrate(ctx context.Context, db *sql.DB, o sqldb.Options) error {
	have, err := c.userVersion()
	if err != nil {
		return err
	}
	due, latest, err := o.NeedsMigration(have)
	if err != nil {
		return err
	}
	if !due {
		return c.requireTables(ctx)
	}
	o.LogMigration(have, latest)
	db.SetMaxOpenConns(1) // the pragma applies to one connection
	if _, err := db.ExecContext(ctx, fmt.Sprintf(`PRAGMA busy_timeout = %d`, maxBusyTimeout)); err != nil {
		return err
	}
	p, err := sqldb.NewMigrator(dialect, db, o.Migrations)
	if err != nil {
		return err
	}
	// Migrations record user_version too. A program before the first release that died after one did not.
	if have, err = p.GetDBVersion(ctx); err != nil {
		return err
	}
	if err := upgrade.MarkDamaged(ctx, db, have); err != nil {
		return err
	}
	if _, err := p.Up(ctx); err != nil {
		return fmt.Errorf("sqldb: migrate from schema %d to %d: %w", have, latest, err)
	}
	_, err = db.ExecContext(ctx, fmt.Sprintf(`PRAGMA user_version = %d`, latest))
	return err
}

// requireTables refuses a database without a table of its schema.
func (c *conn) requireTables(ctx context.Context) error {
	var have []string
	if err := c.queryContext(ctx, `SELECT name FROM sqlite_schema WHERE type = 'table'`, nil, func(r sqldb.Row) error {
		var name string
		err := r.Scan(&name)
		have = append(have, name)
		return err
	}); err != nil {
		return err
	}
	return sqldb.RequireTables(have)
}

func (c *conn) userVersion() (v int64, err error) {
	err = c.QueryRow(`PRAGMA user_version`, nil, []any{&v})
	return v, err
}

// SchemaStatus returns the status of the database in dir.
func SchemaStatus(ctx context.Context, dir string) (s sqldb.SchemaStatus, err error) {
	err = withFile(dir, func(c *conn) error {
		have, err := c.userVersion()
		s = sqldb.NewSchemaStatus(have)
		return err
	})
	return s, err
}
