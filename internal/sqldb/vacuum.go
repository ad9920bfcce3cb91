package sqldb

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/loci-memory/loci"
)

// vacuumTimeout is how long a purge waits, in all, for others to let it clear
// the free space.
const vacuumTimeout = time.Minute

// Vacuum writes the file anew, without free pages and without what is left in
// the gaps of others, and empties the write-ahead log. Pages that were freed
// before are overwritten by no pragma, so nothing less is certain. Others may
// read meanwhile, and wait to write.
func (d *sqliteDB) Vacuum(ctx context.Context, _ []string) error {
	// The copy would not fit into memory where the file does not.
	c, err := d.connect(`PRAGMA temp_store = FILE`, `PRAGMA secure_delete = ON`)
	if err != nil {
		return err
	}
	err = RetryWhileBusy(func() error { return mapSQLiteError(c.execContext(ctx, `VACUUM`)) })
	if err == nil {
		err = RetryWhileBusy(func() error {
			var stuck, frames, done int
			err := c.QueryRow(`PRAGMA wal_checkpoint(TRUNCATE)`, nil, []any{&stuck, &frames, &done})
			if err == nil && stuck != 0 {
				err = BusyError(errors.New("somebody reads an old state of the database"))
			}
			return mapSQLiteError(err)
		})
	}
	return errors.Join(err, c.close())
}

// Vacuum writes the tables anew, and what the planner knows of their columns,
// which are samples of them. Others wait while a table is written.
func (d *postgres) Vacuum(ctx context.Context, tables []string) error {
	c, err := d.acquire(ctx, "")
	if err != nil {
		return err
	}
	defer d.release(c, "")
	p := &postgresConn{ctx, c.Conn()}
	if _, err := p.Exec(`SET statement_timeout = 0`, nil); err != nil {
		return mapPostgresError(err)
	}
	defer c.Exec(context.WithoutCancel(ctx), `RESET statement_timeout`) // where it fails, the connection is lost
	if err := p.waitForOldSnapshots(); err != nil {
		return err
	}
	for _, table := range tables {
		err := RetryWhileBusy(func() error {
			_, err := p.Exec(`VACUUM (FULL, ANALYZE) `+table, nil)
			return mapPostgresError(err)
		})
		if err == nil {
			err = p.dropStatistics(table)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// waitForOldSnapshots waits until nobody sees the database as it was before now: a table
// that is written anew keeps rows that somebody may still see.
func (c *postgresConn) waitForOldSnapshots() error {
	var now string
	if err := c.QueryRow(`SELECT CAST(CAST(pg_current_xact_id() AS xid) AS TEXT)`, nil, []any{&now}); err != nil {
		return mapPostgresError(err)
	}
	return RetryWhileBusy(func() error {
		var older int
		err := c.QueryRow(
			`SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
			AND age(backend_xmin) > age(CAST(CAST(?1 AS TEXT) AS xid))`, []any{now}, []any{&older})
		if err == nil && older > 0 {
			err = BusyError(errors.New("a transaction is open that began before the purge"))
		}
		return mapPostgresError(err)
	})
}

// dropStatistics makes the planner forget the samples of a table that is empty now:
// ANALYZE leaves them. To give a column the type that it has is what does it.
func (c *postgresConn) dropStatistics(table string) error {
	var some bool
	if err := c.QueryRow(`SELECT EXISTS (SELECT 1 FROM `+table+`)`, nil, []any{&some}); err != nil || some {
		return mapPostgresError(err)
	}
	var columns []string
	err := c.Query(
		`SELECT format('ALTER COLUMN %I TYPE %s', s.attname, i.data_type) FROM pg_stats s
			JOIN information_schema.columns i
			ON i.table_schema = s.schemaname AND i.table_name = s.tablename AND i.column_name = s.attname
		WHERE s.schemaname = current_schema() AND s.tablename = ?1 AND i.data_type IN ('text', 'bytea')`, []any{table},
		func(r Row) error {
			var column string
			err := r.Scan(&column)
			columns = append(columns, column)
			return err
		})
	if err == nil && len(columns) > 0 {
		err = RetryWhileBusy(func() error {
			_, err := c.Exec(`ALTER TABLE `+table+` `+strings.Join(columns, ", "), nil)
			return mapPostgresError(err)
		})
	}
	return mapPostgresError(err)
}

// RetryWhileBusy tries again while others are in the way.
func RetryWhileBusy(f func() error) error {
	end := time.Now().Add(vacuumTimeout)
	for {
		err := f()
		if !loci.Is(err, loci.CodeUnavailable) || time.Now().After(end) {
			return err
		}
		time.Sleep(100 * time.Millisecond)
	}
}
