package integrity_test

import (
	"context"
	"fmt"
	"net/url"
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

// asSuperuser runs statements as the superuser of a server of tests, and reports whether there is one that can.
func asSuperuser(t *testing.T, d storetest.Database, statements ...string) bool {
	t.Helper()
	address := testenv.Must(url.Parse(d.Address))(t)
	address.User = url.User("postgres")
	db := storetest.Database{Address: address.String()}.DB(t)
	for _, q := range statements {
		if _, err := db.Exec(q); err != nil {
			t.Log(q, err)
			return false
		}
	}
	return true
}

// An index that lacks a row is rebuilt from its table, unless rows of that are damaged too. A role that may not compare
// indexes says so.
func TestDamagedIndexOfPostgreSQLIsRebuilt(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		if d.Dir != "" {
			return // TestCheckRebuildsDamagedDatabaseIndex
		}
		s := d.Open(t, store.Options{})
		ann := user(t, s, "ann")
		m := add(t, s, ann, "", "the blue boat")
		if !asSuperuser(t, d, `CREATE EXTENSION IF NOT EXISTS amcheck`,
			`GRANT EXECUTE ON FUNCTION bt_index_check(regclass, boolean) TO PUBLIC`) {
			if list := checkHealthy(t, s).NotChecked; len(list) != 1 || !strings.Contains(list[0], "amcheck") {
				t.Errorf("not checked is %q", list)
			}
			return
		}
		lose := func(text string) {
			ready := `UPDATE pg_index SET indisready = %t WHERE indexrelid = CAST('memories_changed' AS regclass)`
			if !asSuperuser(t, d, fmt.Sprintf(ready, false)) {
				t.Fatal("the index cannot be damaged")
			}
			add(t, s, ann, "", text)
			asSuperuser(t, d, fmt.Sprintf(ready, true))
		}
		check := func(repair, repaired bool, says string) {
			t.Helper()
			sum := checkIntegrity(t, s, repair)
			for _, f := range sum.Inconsistencies {
				if f.ID == "memories_changed" && f.Kind == integrity.InconsistentStructure && f.Repaired == repaired &&
					strings.Contains(f.Detail, "lacks matching index tuple") && strings.HasPrefix(f.Repair, says) {
					return
				}
			}
			t.Errorf("%+v", sum)
		}
		lose("the red boat")
		check(false, false, "the table is whole")
		check(true, true, "rebuilt from its table")
		testenv.Len(t, checkHealthy(t, s).NotChecked, 0)
		lose("the green boat")
		d.Exec(t, `UPDATE memories SET title = 'Behind the back' WHERE id = '`+string(m.ID)+`'`)
		for range 2 {
			check(true, false, "not rebuilt, as rows of its table are damaged too")
		}
	})
}
