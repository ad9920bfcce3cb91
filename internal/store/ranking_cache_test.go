package store_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/retrieve"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/storetest"
)

// A question that words answer first, and meaning then, reads a memory once, unless something was written between.
func TestHybridSearchReusesLoadedRows(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{Embedder: &storetest.FakeEmbedder{Name: "one"}})
		ann := user(t, s, "ann")
		first := add(t, s, ann, "", "memory number 0")
		for i := 1; i < 6; i++ {
			add(t, s, ann, "", fmt.Sprint("memory number ", i))
		}
		waitForEmbeddings(t, s)
		s.Close()

		s = d.Open(t, store.Options{})
		rows := 0
		store.TraceStatements(s, func(st store.Statement) {
			if strings.Contains(st.Text, "e.content") {
				rows += st.Rows
			}
		})
		find := func(q retrieve.Query) retrieve.Result {
			t.Helper()
			rows = 0
			f, err := store.Read(ctx, s, ann, func(tx *store.Tx) (retrieve.Result, error) {
				return storetest.Search(tx, q, loci.MemoryFilter{}, "", 10)
			})
			if err != nil || len(f.Hits) != 6 {
				t.Fatalf("%d found, %v", len(f.Hits), err)
			}
			return f
		}
		q := retrieve.NewQuery("memory number")
		q.MayFuse = true
		words := find(q)
		if rows != 6 {
			t.Errorf("words read %d rows", rows)
		}
		q.Embeddings, q.Hybrid = []retrieve.Embedding{{Generation: "one",
			Vector: storetest.VectorOf("memory number 3")}}, true
		alone := find(q)
		if rows != 6 {
			t.Errorf("without what words have read, %d rows are read", rows)
		}
		both := find(q.WithPrevious(words))
		if rows != 0 {
			t.Errorf("after words %d rows are read again", rows)
		}
		for i, f := range both.Hits {
			if f.Memory.ID != alone.Hits[i].Memory.ID || f.Score != alone.Hits[i].Score {
				t.Errorf("hit %d is %s, not %s", i, f.Memory.Content, alone.Hits[i].Memory.Content)
			}
		}
		changeContent(t, s, ann, first.ID, "memory number and another word")
		changed := find(q.WithPrevious(words))
		if rows != 6 {
			t.Errorf("after a change %d rows are read", rows)
		}
		for _, f := range changed.Hits {
			if f.Memory.ID == first.ID && f.Memory.Content != "memory number and another word" {
				t.Errorf("%q is shown after it was changed", f.Memory.Content)
			}
		}
	})
}
