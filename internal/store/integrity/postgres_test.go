package integrity_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/integrity"
	"github.com/loci-memory/loci/internal/store/purge"
	"github.com/loci-memory/loci/internal/store/storetest"
)

// A lock stands for a large table: both make a statement slow.
func TestCountsOfWholeTablesHaveNoTimeout(t *testing.T) {
	t.Parallel()
	d := storetest.NewPostgresDatabase(t)
	d.Open(t, store.Options{}).Close()
	d.Address += "&statement_timeout=300"
	s := d.Open(t, store.Options{OneShot: true})
	m := add(t, s, user(t, s, "ann"), "", "the blue boat")
	c := integrity.New(s)
	for table, count := range map[string]func() error{
		"idempotency_keys": func() error { _, err := purge.New(s).PurgeMemory(ctx, m.ID, false); return err },
		"index_log":        func() error { _, err := purge.New(s).PurgeDeleted(ctx, false); return err },
		"minhash_bands":    func() error { _, err := c.Check(ctx, integrity.Options{}); return err },
	} {
		tx, err := d.DB(t).Begin()
		if err == nil {
			_, err = tx.Exec(`LOCK TABLE ` + table + ` IN ACCESS EXCLUSIVE MODE`)
		}
		if err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(time.Second, func() { _ = tx.Rollback() })
		if err := count(); err != nil {
			t.Errorf("%s: %v", table, err)
		}
	}
}

// A purgingDB deletes a memory after the first read of it without a lock in a write transaction.
type purgingDB struct {
	sqldb.DB
	purge func()
}

type purgingConn struct {
	sqldb.Conn
	purge func()
}

func (d *purgingDB) Write(ctx context.Context, user string, f func(sqldb.Conn) error) error {
	return d.DB.Write(ctx, user, func(c sqldb.Conn) error { return f(purgingConn{c, d.purge}) })
}

func (c purgingConn) QueryRow(q string, args []any, dest []any) error {
	err := c.Conn.QueryRow(q, args, dest)
	if c.purge != nil && strings.Contains(q, "FROM memories e WHERE e.id") && !strings.Contains(q, " FOR ") {
		c.purge()
	}
	return err
}

func TestRepairOfALinkLocksTheReplacement(t *testing.T) {
	t.Parallel()
	d := storetest.NewPostgresDatabase(t) // SQLite has one writer
	purging := &purgingDB{}
	s := d.Open(t, store.Options{Intercept: storetest.Intercept(purging, &purging.DB)})
	ann := user(t, s, "ann")
	old, next := add(t, s, ann, "", "the blue boat").ID, add(t, s, ann, "", "the red boat").ID
	supersede(t, s, ann, old, next)
	d.Write(t, `UPDATE memories SET supersedes = '[]'`)
	purging.purge = func() { d.Exec(t, `DELETE FROM memories WHERE id = '`+string(next)+`'`) }
	sum, err := integrity.New(s).Check(ctx, integrity.Options{Repair: true})
	if err != nil || sum.Repaired == 0 {
		t.Errorf("%+v, %v", sum, err)
	}
}
