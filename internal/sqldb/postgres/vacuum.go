package postgres

import (
	"context"
	"errors"
	"strings"

	"github.com/loci-memory/loci/internal/sqldb"
)

// Vacuum rewrites the tables of Loci and the statistics of the planner, which contain samples of values. Other
// transactions wait while a table is rewritten. An interrupted call ends after the table that it rewrites.
func (d *database) Vacuum(ctx context.Context) error {
	err := d.waitForOldSnapshots(ctx)
	for _, table := range sqldb.TableNames() {
		if err == nil {
			err = sqldb.RetryWhileBusy(func() error {
				return d.Write(ctx, "", func(c sqldb.Conn) error { return rewriteTable(c, table) })
			})
		}
	}
	return err
}

// rewriteTable copies the rows of a table to a new file, and replaces its statistics. CLUSTER works as VACUUM FULL
// does, but in a transaction. Only there does a pooler keep a timeout and the statement in one session.
func rewriteTable(c sqldb.Conn, table string) error {
	for _, q := range []string{`SET LOCAL statement_timeout = 0`, `CLUSTER ` + table + ` USING ` + table + `_pkey`,
		`ALTER TABLE ` + table + ` SET WITHOUT CLUSTER`, `ANALYZE ` + table} {
		if _, err := c.Exec(q, nil); err != nil {
			return err
		}
	}
	return dropStatistics(c, table)
}

// waitForOldSnapshots waits for the end of older transactions. A rewritten table keeps deleted rows that their
// snapshots still see.
func (d *database) waitForOldSnapshots(ctx context.Context) error {
	var now string
	err := d.Read(ctx, "", func(c sqldb.Conn) error {
		return c.QueryRow(`SELECT CAST(CAST(pg_current_xact_id() AS xid) AS TEXT)`, nil, []any{&now})
	})
	if err != nil {
		return err
	}
	return sqldb.RetryWhileBusy(func() error {
		return d.Read(ctx, "", func(c sqldb.Conn) error {
			var older int
			err := c.QueryRow(
				`SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
				AND age(backend_xmin) > age(CAST(CAST(?1 AS TEXT) AS xid))`, []any{now}, []any{&older})
			if err == nil && older > 0 {
				err = sqldb.NewBusyError(errors.New("a transaction is open that began before the purge"))
			}
			return err
		})
	})
}

// dropStatistics deletes the planner's samples of an empty table, which ANALYZE keeps. Altering a column to its own
// type deletes them.
func dropStatistics(c sqldb.Conn, table string) error {
	var hasRows bool
	if err := c.QueryRow(`SELECT EXISTS (SELECT 1 FROM `+table+`)`, nil, []any{&hasRows}); err != nil || hasRows {
		return err
	}
	var columns []string
	err := c.Query(
		`SELECT format('ALTER COLUMN %I TYPE %s', s.attname, i.data_type) FROM pg_stats s
			JOIN information_schema.columns i
			ON i.table_schema = s.schemaname AND i.table_name = s.tablename AND i.column_name = s.attname
		WHERE s.schemaname = current_schema() AND s.tablename = ?1 AND i.data_type IN ('text', 'bytea')`,
		[]any{table}, func(r sqldb.Row) error {
			columns = append(columns, "")
			return r.Scan(&columns[len(columns)-1])
		})
	if err == nil && len(columns) > 0 {
		_, err = c.Exec(`ALTER TABLE `+table+` `+strings.Join(columns, ", "), nil)
	}
	return err
}
