package integrity_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/purge"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
	"github.com/loci-memory/loci/internal/waittest"
)

// addDeletedAtlas deletes an atlas with memories of a team, and returns the team.
func addDeletedAtlas(t *testing.T, s *store.Store, ann *identity.Actor, memories int) (crew, atlas loci.ID) {
	t.Helper()
	crew = team(t, s, ann, nil)
	add(t, s, ann, crew, "the harbour is kept")
	atlas = testenv.Must(newService(s).CreateAtlas(ctx, ann,
		loci.CreateAtlas{Name: "Wreck", WorkspaceID: crew}))(t).Atlas.ID
	for i := range memories {
		testenv.Must(newService(s).CreateMemory(ctx, ann,
			loci.CreateMemory{AtlasID: atlas, Content: loci.Content(fmt.Sprint("the wreck lies at fathom ", i))}))(t)
		if i == memories/2 {
			flush(t, s, crew)
		}
	}
	testenv.Must(newService(s).DeleteAtlas(ctx, ann, loci.DeleteAtlas{AtlasID: atlas}))(t)
	return crew, atlas
}

func countDeleted(t *testing.T, d storetest.Database) string {
	t.Helper()
	return d.Query(t, `SELECT CAST(count(*) AS TEXT) FROM memories WHERE atlas IN (SELECT row_id FROM atlases
		WHERE workspace IS NULL)`)[0]
}

// A cuttingDB calls cut after a number of writes.
type cuttingDB struct {
	sqldb.DB
	left atomic.Int32
	cut  func()
}

func (c *cuttingDB) Write(ctx context.Context, user string, f func(sqldb.Conn) error) error {
	err := c.DB.Write(ctx, user, f)
	if c.left.Add(-1) == 0 {
		c.cut()
	}
	return err
}

// A check finds nothing wrong at any moment of an erasure, and an erasure that was cut off goes on.
func TestCheckKnowsErasures(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		stop, cancel := context.WithCancel(ctx)
		defer cancel()
		cutting := &cuttingDB{cut: cancel}
		s := d.Open(t, store.Options{Intercept: storetest.Intercept(cutting, &cutting.DB)})
		ann := user(t, s, "ann")
		crew, atlas := addDeletedAtlas(t, s, ann, 40)
		checkHealthy(t, s)
		cutting.left.Store(1)
		if err := s.Eraser().EraseAll(stop); err == nil {
			t.Fatal("the erasure was not cut off")
		}
		if n := countDeleted(t, d); n == "0" || n == "40" {
			t.Fatalf("%s memories are left of 40", n)
		}
		checkHealthy(t, s)
		s.Close()
		s = d.Open(t, store.Options{})
		testenv.Len(t, searchKeywords(t, s, ann, "wreck harbour", loci.MemoryFilter{WorkspaceID: crew}).Hits, 1,
			"found")
		d.Exec(t, `DELETE FROM jobs`)
		sum := checkIntegrity(t, s, true)
		if sum.Found != 1 || sum.Repaired != 1 || sum.Inconsistencies[0].ID != string(atlas) {
			t.Fatalf("a deleted atlas without a job: %+v", sum)
		}
		checkHealthy(t, s)
		s.Jobs().Start(ctx)
		waittest.Until(t, func() bool { return len(d.Query(t, `SELECT kind FROM jobs`)) == 0 })
		if n := len(d.Query(t, `SELECT id FROM atlases`)); n != 2 { // both Inboxes
			t.Errorf("%d atlases are left", n)
		}
		checkHealthy(t, s)
	})
}

func TestDeletedAtlasStaysOutOfTheIndexWhenThatIsBuiltAgain(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{})
		ann := user(t, s, "ann")
		crew, _ := addDeletedAtlas(t, s, ann, 6)
		d.Exec(t, `UPDATE keyword_indexes SET analyzer = 0`)
		testenv.NoError(t, s.Index().ReindexOutdated(ctx))
		for range 2 {
			r := searchKeywords(t, s, ann, "wreck harbour", loci.MemoryFilter{WorkspaceID: crew})
			testenv.Len(t, r.Hits, 1, "found")
			checkHealthy(t, s)
			flush(t, s, crew)
		}
	})
}

func TestPurgeOfDeletedErasesDeletedAtlases(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{})
		ann := user(t, s, "ann")
		addDeletedAtlas(t, s, ann, 6)
		for _, apply := range []bool{false, true} {
			n, err := purge.New(s).PurgeDeleted(ctx, apply)
			if err != nil || n.Atlases != 1 || n.Memories != 6 {
				t.Errorf("%v: %+v %v", apply, n, err)
			}
		}
		testenv.Equal(t, countDeleted(t, d), "0", "memories are left")
		checkHealthy(t, s)
	})
}
