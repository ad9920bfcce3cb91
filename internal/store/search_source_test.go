package store_test

import (
	"cmp"
	"errors"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/query"
	"github.com/loci-memory/loci/internal/retrieve"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/memorydb"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
)

// Rows of another user's workspace are neither loaded, nor named as similar, nor are their vectors read.
func TestSearchSourceReadsNothingOutOfScope(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{Embedder: &storetest.FakeEmbedder{Name: "one"}})
		ann, bob := user(t, s, "ann"), user(t, s, "bob")
		own, foreign := add(t, s, ann, "", "a harbour wall"), add(t, s, bob, "", "a harbour wall")
		waitForEmbeddings(t, s)
		var ownRow, foreignRow int64
		store.QueryRow(t, s, `SELECT row_id FROM memories WHERE id = ?1`, own.ID, &ownRow)
		store.QueryRow(t, s, `SELECT row_id FROM memories WHERE id = ?1`, foreign.ID, &foreignRow)
		var ownKey, foreignKey int64
		store.QueryRow(t, s, `SELECT row_id FROM vectors WHERE memory = ?1`, ownRow, &ownKey)
		store.QueryRow(t, s, `SELECT row_id FROM vectors WHERE memory = ?1`, foreignRow, &foreignKey)
		keys := []int64{min(ownKey, foreignKey), max(ownKey, foreignKey)}
		read := map[int64]bool{}
		_, err := store.Read(ctx, s, ann, func(tx *store.Tx) (loci.Empty, error) {
			_, src, err := memorydb.SimilarTo(tx, own.ID)
			if err != nil {
				return loci.Empty{}, err
			}
			rows := []int64{ownRow, foreignRow}
			if err := src.LoadMemories(rows, func(rowID, _ int64, _ loci.Memory) { read[rowID] = true }); err != nil {
				return loci.Empty{}, err
			}
			if err := src.Readable(rows, func(rowID int64, _ loci.ID, _ string) { read[rowID] = true }); err != nil {
				return loci.Empty{}, err
			}
			return loci.Empty{}, nil
		})
		if err != nil || !read[ownRow] || read[foreignRow] {
			t.Errorf("the rows read are %v, %v; want %d alone", read, err, ownRow)
		}
		for _, reader := range []struct {
			who    *identity.Actor
			memory loci.ID
			key    int64
		}{{ann, own.ID, ownKey}, {bob, foreign.ID, foreignKey}, {ann, own.ID, ownKey}} { // the last from the cache
			var got []int64
			_, err := store.Read(ctx, s, reader.who, func(tx *store.Tx) (loci.Empty, error) {
				_, src, err := memorydb.SimilarTo(tx, reader.memory)
				if err != nil {
					return loci.Empty{}, err
				}
				return loci.Empty{}, src.Vectors(keys, func(i, _ int, _ []byte) { got = append(got, keys[i]) })
			})
			testenv.EqualSlices(t, got, []int64{reader.key}, "vectors", err)
		}
	})
}

// A search within a write sees rows that may be rolled back. SQLite uses their numbers again: no cache may keep them.
func TestSearchWithinRolledBackWriteLeavesNoTrace(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{})
		ann := user(t, s, "ann")
		add(t, s, ann, "", "a harbour wall")
		rollback := errors.New("rollback")
		_, err := store.Write(ctx, s, ann, func(tx *store.Tx) (loci.Empty, error) {
			targets, err := tx.RoutingTargets("")
			if err != nil {
				return loci.Empty{}, err
			}
			a, err := targets.Atlas(-1)
			if err != nil {
				return loci.Empty{}, err
			}
			m := loci.Memory{Title: "mirage", Content: "a mirage", Type: loci.TypeNote}
			if _, err = memorydb.Add(a, m, memorydb.NewIndexEntry(m.Title, m.Content)); err != nil {
				return loci.Empty{}, err
			}
			r, err := storetest.Search(tx, retrieve.Query{Keywords: query.Parse("mirage")}, loci.MemoryFilter{}, "", 50)
			if err == nil && len(r.Hits) != 1 {
				t.Errorf("the write does not see its own memory: %v", r.Hits)
			}
			return loci.Empty{}, cmp.Or(err, rollback)
		})
		if !errors.Is(err, rollback) {
			t.Fatal(err)
		}
		lighthouse := add(t, s, ann, "", "a lighthouse")
		if r := searchKeywords(t, s, ann, "lighthouse", loci.MemoryFilter{}); len(r.Hits) != 1 ||
			r.Hits[0].Memory.ID != lighthouse.ID {
			t.Errorf("lighthouse finds %v", r.Hits)
		}
		if r := searchKeywords(t, s, ann, "mirage", loci.MemoryFilter{}); len(r.Hits) != 0 {
			t.Errorf("mirage finds %v", r.Hits)
		}
	})
}
