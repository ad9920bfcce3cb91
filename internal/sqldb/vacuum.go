package sqldb

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/loci-memory/loci"
)

// vacuumTimeout limits how long a purge waits for the locks of a vacuum.
const vacuumTimeout = time.Minute

// Vacuum rewrites the file without deleted content, and empties the write-ahead log. No pragma overwrites pages that
// were freed earlier, so nothing less is certain. Readers continue meanwhile, writers wait.
func (d *sqliteDB) Vacuum(ctx context.Context) error {
	// The copy may not fit into memory.
	c, err := d.connect(`PRAGMA temp_store = FILE`, `PRAGMA secure_delete = ON`)
	if err != nil {
		return err
	}
	err = RetryWhileBusy(func() error { return mapSQLiteError(c.execContext(ctx, `VACUUM`)) })
	if err == nil {
		err = RetryWhileBusy(func() error {
			busy, err := c.checkpoint()
			if busy {
				err = BusyError(errors.New("a transaction reads an old state of the database"))
			}
			return mapSQLiteError(err)
		})
	}
	return errors.Join(err, c.close())
}

// Vacuum rewrites all tables and the statistics of the planner, which contain samples of values. Other transactions
// wait while a table is rewritten.
func (d *postgres) Vacuum(ctx context.Context) error {
	c, err := d.acquire(ctx, "")
	if err != nil {
		return err
	}
	defer d.release(c, "")
	p := &postgresConn{ctx, c.Conn()}
	if _, err := p.Exec(`SET statement_timeout = 0`, nil); err != nil {
		return mapPostgresError(err)
	}
	defer c.Exec(context.WithoutCancel(ctx), `RESET statement_timeout`) // it fails only with a lost connection
	if err := p.waitForOldSnapshots(); err != nil {
		return err
	}
	var tables []string
	err = p.Query(`SELECT CAST(table_name AS TEXT) FROM information_schema.tables
		WHERE table_schema = current_schema() AND table_type = 'BASE TABLE'`, nil, func(r Row) error {
		tables = append(tables, "")
		return r.Scan(&tables[len(tables)-1])
	})
	if err != nil {
		return mapPostgresError(err)
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

// waitForOldSnapshots waits for the end of older transactions. A rewritten table keeps deleted rows that their
// snapshots still see.
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

// dropStatistics deletes the planner's samples of an empty table, which ANALYZE keeps. Altering a column to its own
// type deletes them.
func (c *postgresConn) dropStatistics(table string) error {
	var hasRows bool
	if err := c.QueryRow(`SELECT EXISTS (SELECT 1 FROM `+table+`)`, nil, []any{&hasRows}); err != nil || hasRows {
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

// RetryWhileBusy calls f again while it returns CodeUnavailable, for at most vacuumTimeout.
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
