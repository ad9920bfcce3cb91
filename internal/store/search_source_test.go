package store_test

import (
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/storetest"
)

// Rows of another user's workspace are neither loaded, nor named as similar, nor are their vectors read.
func TestSearchSourceReadsNothingOutOfScope(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{Embedder: &storetest.FakeEmbedder{Name: "one"}})
		ann, bob := user(t, s, "ann"), user(t, s, "bob")
		own, foreign := add(t, s, ann, "", "a harbour wall"), add(t, s, bob, "", "a harbour wall")
		waitForEmbeddings(t, s)
		var ownRow, foreignRow, foreignWorkspace, vectorRow int64
		store.QueryRow(t, s, `SELECT row_id FROM memories WHERE id = ?1`, own.ID, &ownRow)
		store.QueryRow(t, s, `SELECT row_id, workspace FROM memories WHERE id = ?1`, foreign.ID, &foreignRow,
			&foreignWorkspace)
		store.QueryRow(t, s, `SELECT row_id FROM vectors WHERE memory = ?1`, foreignRow, &vectorRow)
		read := map[int64]bool{}
		_, err := store.Read(ctx, s, ann, func(tx *store.Tx) (loci.Empty, error) {
			_, src, err := tx.SimilarTo(own.ID)
			if err != nil {
				return loci.Empty{}, err
			}
			rows := []int64{ownRow, foreignRow}
			if err := src.LoadMemories(rows, func(rowID, _ int64, _ loci.Memory) { read[rowID] = true }); err != nil {
				return loci.Empty{}, err
			}
			if err := src.ReadableIDs(rows, func(rowID int64, _ string) { read[rowID] = true }); err != nil {
				return loci.Empty{}, err
			}
			return loci.Empty{}, src.Vectors(foreignWorkspace, []int64{vectorRow}, func(int, int, []byte) {
				t.Error("a foreign vector was read")
			})
		})
		if err != nil || !read[ownRow] || read[foreignRow] {
			t.Errorf("the rows read are %v, %v; want %d alone", read, err, ownRow)
		}
	})
}
