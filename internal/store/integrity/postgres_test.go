package integrity_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/integrity"
	"github.com/loci-memory/loci/internal/store/purge"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
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

// A racingDB runs race once, after a statement of a write transaction.
type racingDB struct {
	sqldb.DB
	after func(q string) bool
	race  func()
}

type racingConn struct {
	sqldb.Conn
	db *racingDB
}

func (d *racingDB) Write(ctx context.Context, user string, f func(sqldb.Conn) error) error {
	return d.DB.Write(ctx, user, func(c sqldb.Conn) error { return f(racingConn{c, d}) })
}

func (c racingConn) QueryRow(q string, args []any, dest []any) error {
	defer c.ended(q)
	return c.Conn.QueryRow(q, args, dest)
}

func (c racingConn) Query(q string, args []any, f func(sqldb.Row) error) error {
	defer c.ended(q)
	return c.Conn.Query(q, args, f)
}

func (c racingConn) ended(q string) {
	if race := c.db.race; race != nil && c.db.after(q) {
		c.db.race = nil
		race()
	}
}

// TestReindexLeavesOutAMemoryThatIsMovedAndDeleted moves a memory once its atlas is locked, and deletes the other one.
func TestReindexLeavesOutAMemoryThatIsMovedAndDeleted(t *testing.T) {
	t.Parallel()
	d := storetest.NewPostgresDatabase(t) // SQLite has one writer
	racing := &racingDB{after: func(q string) bool {
		return strings.Contains(q, "FROM atlases a WHERE a.row_id IN (SELECT e.atlas")
	}}
	s := d.Open(t, store.Options{OneShot: true, Intercept: storetest.Intercept(racing, &racing.DB)})
	ann := user(t, s, "ann")
	crew := team(t, s, ann, nil)
	add(t, s, ann, crew, "the harbour is kept")
	moved := add(t, s, ann, crew, "the wreck is gone").ID
	atlas := testenv.Must(newService(s).CreateAtlas(ctx, ann,
		loci.CreateAtlas{Name: "Wreck", WorkspaceID: crew}))(t).Atlas.ID
	flush(t, s, crew)
	d.Exec(t, `UPDATE keyword_indexes SET analyzer = 0`)
	racing.race = func() {
		testenv.Must(newService(s).UpdateMemory(ctx, ann, loci.UpdateMemory{MemoryID: moved, AtlasID: atlas}))(t)
		testenv.Must(newService(s).DeleteAtlas(ctx, ann, loci.DeleteAtlas{AtlasID: atlas}))(t)
	}
	testenv.NoError(t, s.Index().ReindexOutdated(ctx))
	checkHealthy(t, s)
	testenv.NoError(t, s.Eraser().EraseAll(ctx))
	checkHealthy(t, s)
}

func TestRepairOfALinkLocksTheReplacement(t *testing.T) {
	t.Parallel()
	d := storetest.NewPostgresDatabase(t) // SQLite has one writer
	racing := &racingDB{after: func(q string) bool {
		return strings.Contains(q, "FROM memories e WHERE e.id") && !strings.Contains(q, " FOR ")
	}}
	s := d.Open(t, store.Options{Intercept: storetest.Intercept(racing, &racing.DB)})
	ann := user(t, s, "ann")
	old, next := add(t, s, ann, "", "the blue boat").ID, add(t, s, ann, "", "the red boat").ID
	supersede(t, s, ann, old, next)
	d.Write(t, `UPDATE memories SET supersedes = '[]'`)
	racing.race = func() { d.Exec(t, `DELETE FROM memories WHERE id = '`+string(next)+`'`) }
	sum, err := integrity.New(s).Check(ctx, integrity.Options{Repair: true})
	if err != nil || sum.Repaired == 0 {
		t.Errorf("%+v, %v", sum, err)
	}
}
