package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/loci-memory/loci"
)

// purgeMark is the row of table instance that stands while rows are gone and
// their bytes may not be.
const purgeMark = "purge"

// scrubPatience is how long a purge waits, in all, for others to let it clear
// the free space.
const scrubPatience = time.Minute

// A scrubber is a database that can clear the space of what was deleted.
type scrubber interface {
	scrub(ctx context.Context) error
}

// unfinished reports whether a purge was cut off before the free space was cleared.
func (s *Store) unfinished(ctx context.Context) (bool, error) {
	return SystemRead(ctx, s, "see whether a purge was cut off", func(t *SystemTx) (bool, error) {
		var n int
		err := t.t.c.one(`SELECT count(*) FROM instance WHERE name = ?1`, []any{purgeMark}, []any{&n})
		return n > 0, err
	})
}

// beginPurge notes that bytes may be left from here on, until finishPurge.
func (t *SystemTx) beginPurge() error {
	_, err := t.t.exec(`INSERT INTO instance (name, value) VALUES (?1, 'unfinished') ON CONFLICT (name) DO NOTHING`, purgeMark)
	return err
}

// finishPurge clears the space of what was deleted.
func (s *Store) finishPurge(ctx context.Context) error {
	if err := s.db.(scrubber).scrub(ctx); err != nil {
		return &loci.Error{Code: loci.Unavailable, Err: err, Message: fmt.Sprintf(
			"The rows are gone, but their bytes are still in free space that could not be cleared (%v): run the same command again, with the server stopped if need be.", err)}
	}
	_, err := System(ctx, s, "note that a purge is finished", func(t *SystemTx) (loci.Nothing, error) {
		_, err := t.t.exec(`DELETE FROM instance WHERE name = ?1`, purgeMark)
		return loci.Nothing{}, err
	})
	return err
}

// prepare makes a transaction one that overwrites what it deletes, or that may
// delete for long. unprepare ends what does not end with it.
func (t *SystemTx) prepare() error {
	q := `PRAGMA secure_delete = ON`
	if t.t.s.db.dialect().locks {
		q = `SET LOCAL statement_timeout = 0`
	}
	_, err := t.t.exec(q)
	return err
}

func (t *SystemTx) unprepare() {
	if !t.t.s.db.dialect().locks {
		_, _ = t.t.exec(`PRAGMA secure_delete = FAST`) // where it fails, more is overwritten than need be
	}
}

// scrub writes the file anew, without free pages and without what is left in
// the gaps of others, and empties the write-ahead log. Pages that were freed
// before are overwritten by no pragma, so nothing less is certain. Others may
// read meanwhile, and wait to write.
func (d *sqliteFile) scrub(ctx context.Context) error {
	// The copy would not fit into memory where the file does not.
	c, err := d.connect(`PRAGMA temp_store = FILE`, `PRAGMA secure_delete = ON`)
	if err != nil {
		return err
	}
	err = patiently(func() error { return sqliteError(c.run(ctx, `VACUUM`)) })
	if err == nil {
		err = patiently(func() error {
			var stuck, frames, done int
			err := c.one(`PRAGMA wal_checkpoint(TRUNCATE)`, nil, []any{&stuck, &frames, &done})
			if err == nil && stuck != 0 {
				err = busy(errors.New("somebody reads an old state of the database"))
			}
			return sqliteError(err)
		})
	}
	return errors.Join(err, c.close())
}

// cleared are the tables of which a purge deletes rows, or that hold words, or
// stand beside those.
var cleared = []string{"memories", "versions", "changes", "segments", "pages", "sketches", "vectors", "waiting", "onces", "atlases", "indexes",
	"workspaces", "members", "invitations", "users", "api_keys", "signins", "operations", "rates", "generations"}

// scrub writes the tables anew, and what the planner knows of their columns,
// which are samples of them. Others wait while a table is written.
func (d *postgres) scrub(ctx context.Context) error {
	c, err := d.acquire(ctx, "")
	if err != nil {
		return err
	}
	defer d.release(c, "")
	p := &postgresConn{ctx, c.Conn()}
	if _, err := p.exec(`SET statement_timeout = 0`, nil); err != nil {
		return postgresError(err)
	}
	defer c.Exec(context.WithoutCancel(ctx), `RESET statement_timeout`) // where it fails, the connection is lost
	if err := p.outlive(); err != nil {
		return err
	}
	for _, table := range cleared {
		err := patiently(func() error {
			_, err := p.exec(`VACUUM (FULL, ANALYZE) `+table, nil)
			return postgresError(err)
		})
		if err == nil {
			err = p.forget(table)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// outlive waits until nobody sees the database as it was before now: a table
// that is written anew keeps rows that somebody may still see.
func (c *postgresConn) outlive() error {
	var now string
	if err := c.one(`SELECT CAST(CAST(pg_current_xact_id() AS xid) AS TEXT)`, nil, []any{&now}); err != nil {
		return postgresError(err)
	}
	return patiently(func() error {
		var older int
		err := c.one(`SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
			AND age(backend_xmin) > age(CAST(CAST(?1 AS TEXT) AS xid))`, []any{now}, []any{&older})
		if err == nil && older > 0 {
			err = busy(errors.New("a transaction is open that began before the purge"))
		}
		return postgresError(err)
	})
}

// forget makes the planner forget the samples of a table that is empty now:
// ANALYZE leaves them. To give a column the type that it has is what does it.
func (c *postgresConn) forget(table string) error {
	var some bool
	if err := c.one(`SELECT EXISTS (SELECT 1 FROM `+table+`)`, nil, []any{&some}); err != nil || some {
		return postgresError(err)
	}
	var columns []string
	err := c.each(`SELECT format('ALTER COLUMN %I TYPE %s', s.attname, i.data_type) FROM pg_stats s JOIN information_schema.columns i
			ON i.table_schema = s.schemaname AND i.table_name = s.tablename AND i.column_name = s.attname
		WHERE s.schemaname = current_schema() AND s.tablename = ?1 AND i.data_type IN ('text', 'bytea')`, []any{table}, func(r row) error {
		var column string
		err := r.Scan(&column)
		columns = append(columns, column)
		return err
	})
	if err == nil && len(columns) > 0 {
		err = patiently(func() error {
			_, err := c.exec(`ALTER TABLE `+table+` `+strings.Join(columns, ", "), nil)
			return postgresError(err)
		})
	}
	return postgresError(err)
}

// patiently tries again while others are in the way.
func patiently(f func() error) error {
	end := time.Now().Add(scrubPatience)
	for {
		err := f()
		if !loci.Is(err, loci.Unavailable) || time.Now().After(end) {
			return err
		}
		time.Sleep(100 * time.Millisecond)
	}
}
