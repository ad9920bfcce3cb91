package integrity_test

import (
	"context"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/purge"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
)

func TestPurgeDeletedLeavesNoByte(t *testing.T) {
	onPurge(t, func(t *testing.T, d storetest.Database, server, operator *store.Store) {
		ann := user(t, server, "ann")
		crew := team(t, server, ann, nil)
		id, others := makeHistory(t, d, server, ann, crew)
		flush(t, server, crew)
		remove(t, server, ann, id)
		flush(t, server, crew)
		if len(remainingTraces(t, d)) == 0 {
			t.Error("a deletion alone leaves nothing: there is nothing to test")
		}
		would, err := purge.New(operator).PurgeDeleted(ctx, false)
		if err != nil || would.Documents == 0 {
			t.Errorf("would purge %+v, %v", would, err)
		}
		did, err := purge.New(operator).PurgeDeleted(ctx, true)
		if err != nil || did != would {
			t.Errorf("purged %+v of %+v, %v", did, would, err)
		}
		if again, err := purge.New(operator).PurgeDeleted(ctx, false); err != nil || again.Documents != 0 {
			t.Errorf("there is more: %+v, %v", again, err)
		}
		if list := ids(t, server, ann, loci.MemoryFilter{}, 100); len(list) == 0 || len(list) > len(others) {
			t.Errorf("%d memories are left of %d others", len(list), len(others))
		}
		checkCounters(t, server, ann, crew, others)
	})
}

func TestPurgeDeletedCountsRowsOfTheLog(t *testing.T) {
	onPurge(t, func(t *testing.T, d storetest.Database, server, operator *store.Store) {
		ann := user(t, server, "ann")
		crew := team(t, server, ann, nil)
		id, _ := makeHistory(t, d, server, ann, crew)
		remove(t, server, ann, id) // no flush: its words are in the log of changes
		for _, apply := range []bool{false, true} {
			out, err := purge.New(operator).PurgeDeleted(ctx, apply)
			if err != nil || out.Changes == 0 || !strings.Contains(out.String(),
				"of the log of changes, words of deleted memories") {
				t.Errorf("for good %v: %+v, %v", apply, out, err)
			}
		}
		would, err := purge.New(operator).PurgeDeleted(ctx, false)
		if err != nil || would.Changes != 0 || strings.Contains(would.String(), "earlier purge") {
			t.Errorf("after it: %v, %v", would, err)
		}
	})
}

func TestPurgeDeletedSurvivesLostPages(t *testing.T) {
	onPurge(t, func(t *testing.T, d storetest.Database, server, operator *store.Store) {
		ann := user(t, server, "ann")
		crew := team(t, server, ann, nil)
		id, _ := makeHistory(t, d, server, ann, crew)
		remove(t, server, ann, id)
		flush(t, server, crew)
		d.Exec(t, `DELETE FROM segment_pages`)
		testenv.Must(purge.New(operator).PurgeDeleted(ctx, true))(t)
		if would, err := purge.New(operator).PurgeDeleted(ctx, false); err != nil || would.Documents != 0 {
			t.Errorf("there is more: %+v, %v", would, err)
		}
	})
}

func TestPurgeLeavesForeignTablesOfTheSchema(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{})
		d.Exec(t, `CREATE TABLE "A table" (x TEXT)`)
		d.Exec(t, `CREATE TABLE "Another table" (x TEXT NOT NULL PRIMARY KEY)`)
		d.Exec(t, `INSERT INTO "A table" VALUES ('kept')`)
		d.Exec(t, `INSERT INTO "Another table" VALUES ('kept')`)
		state := `SELECT a.x || b.x FROM "A table" a, "Another table" b`
		if d.Address != "" {
			d.Exec(t, `CLUSTER "Another table" USING "Another table_pkey"`)
			state = `SELECT a.x || b.x || c.relfilenode || i.indisclustered FROM "A table" a, "Another table" b,
				pg_class c JOIN pg_index i ON i.indrelid = c.oid WHERE c.oid = CAST('"Another table"' AS regclass)`
		}
		before := d.Query(t, state)
		testenv.Must(purge.New(s).PurgeDeleted(ctx, true))(t)
		if after := d.Query(t, state); len(after) != 1 || after[0] != before[0] {
			t.Errorf("the foreign tables are %q, were %q", after, before)
		}
		if d.Address != "" { // a table of Loci without a primary key would keep deleted rows
			if left := d.Query(t,
				`SELECT relname FROM pg_class WHERE relnamespace = CAST(current_schema() AS regnamespace)
				AND relkind = 'r' AND relfilenode = oid AND relname NOT IN ('A table', 'goose_db_version')`); len(
				left) > 0 {
				t.Errorf("the tables %q are not rewritten", left)
			}
		}
	})
}

// A vacuumDB runs a function after each vacuum.
type vacuumDB struct {
	sqldb.DB
	after func()
}

func (d *vacuumDB) Vacuum(ctx context.Context) error {
	defer d.after()
	return d.DB.(interface{ Vacuum(context.Context) error }).Vacuum(ctx)
}

func TestPurgeKeepsMarkOfAnotherPurge(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		interrupted, cancel := context.WithCancel(ctx)
		vacuum, interrupting := &vacuumDB{}, &vacuumDB{after: cancel}
		s := d.Open(t, store.Options{Intercept: storetest.Intercept(vacuum, &vacuum.DB)})
		other := d.Open(t, store.Options{Intercept: storetest.Intercept(interrupting, &interrupting.DB)})
		second := add(t, s, user(t, s, "ann"), "", "text").ID
		vacuum.after = func() {
			if _, err := purge.New(other).PurgeMemory(interrupted, second, true); err == nil {
				t.Error("a purge ended without its vacuum")
			}
		}
		testenv.Must(purge.New(s).PurgeDeleted(ctx, true))(t)
		testenv.EqualSlices(t, d.Query(t, `SELECT name FROM metadata WHERE name = 'purge'`), []string{"purge"},
			"the mark of the interrupted purge is")
	})
}

func TestPurgedUserIsNotCharged(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{})
		lease := func(id loci.ID) (got int64) {
			t.Helper()
			got, err := store.System(ctx, s, "test", func(x *store.SystemTx) (int64, error) {
				got, _, err := x.ReserveOperations(id, "2031-01", 5, 100)
				return got, err
			})
			if err != nil {
				t.Error(err)
			}
			return got
		}
		ann := user(t, s, "ann")
		for range 2 {
			testenv.Equal(t, lease(ann.UserID), 5, "ann gets", "operations")
		}
		lease(loci.NewID(s.Now().Std()))
		var used int64
		queryRow(t, s, `SELECT sum(used) FROM operations WHERE month = ?1`, "2031-01", &used)
		testenv.Equal(t, used, 10, "operations are used")
	})
}

// A search shows words of other memories too, as corrections of its query.
func TestPurgeDeletedErasesStoredReads(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{})
		ann := user(t, s, "ann")
		m := add(t, s, ann, "", "text")
		_, err := store.Read(ctx, s, withEncryptionKey(ann, "k"), func(tx *store.Tx) (loci.Memory, error) {
			tx.LinkResponse(m.ID)
			return m, nil
		})
		if n := d.Query(t, `SELECT count(*) FROM idempotency_keys`)[0]; err != nil || n != "1" {
			t.Fatal(n, err)
		}
		testenv.Must(purge.New(s).PurgeDeleted(ctx, true))(t)
		testenv.Equal(t, d.Query(t, `SELECT count(*) FROM idempotency_keys`)[0], "0", "stored responses are left")
	})
}
