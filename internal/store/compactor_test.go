package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/index"
	"github.com/loci-memory/loci/internal/retrieve"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/storetest"
)

// A single write is too small for a merge while more may follow. Searches of an
// idle workspace read one segment, and return the same results as before.
func TestIdleIndexIsMerged(t *testing.T) {
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.WithIdleDelay(store.Options{}, 400*time.Millisecond))
		ann := user(t, s, "ann")
		crew := team(t, s, ann, nil)
		segments := func() string {
			return fmt.Sprint(d.Query(t,
				`SELECT count(*) FROM segments g JOIN workspaces w ON w.row_id = g.workspace WHERE w.id = '`+crew+`'`))
		}
		for range index.IdleFanIn {
			for i := range 3 {
				add(t, s, ann, crew, fmt.Sprint("a rested word number ", i))
			}
			flush(t, s, crew)
		}
		for i := range 70 { // less than writing flushes
			add(t, s, ann, crew, fmt.Sprint("it waits in the log of changes ", i))
		}
		waiting := func() string {
			return fmt.Sprint(d.Query(t,
				`SELECT count(*) FROM index_log c JOIN workspaces w ON w.row_id = c.workspace WHERE w.id = '`+crew+`'`))
		}
		for end := time.Now().Add(20 * time.Second); waiting() != "[0]"; time.Sleep(50 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%s changes wait in a workspace that rests", waiting())
			}
		}
		for end := time.Now().Add(20 * time.Second); segments() != "[1]"; time.Sleep(50 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%s segments in a workspace that rests", segments())
			}
		}
		found, err := store.Read(ctx, s, ann, func(tx *store.Tx) (retrieve.Result, error) {
			return storetest.Search(tx, retrieve.NewQuery("rested number"), store.Filter{WorkspaceID: crew}, "", 50)
		})
		if err != nil || len(found.Hits) != 3*index.IdleFanIn || found.KeywordCount != len(found.Hits) {
			t.Errorf("%d of %d memories are found: %v", len(found.Hits), found.KeywordCount, err)
		}
	})
}
