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

// A memory has hundreds of chunks, each nearer to the query than any other memory. It displaces no other memory,
// neither as a hit nor while the filter omits it.
func TestLongMemoryHidesNoOther(t *testing.T) {
	t.Parallel()
	const question = "the pump is started by the red switch"
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{Embedder: &storetest.FakeEmbedder{Name: "one"}})
		ann := user(t, s, "ann")
		crew := team(t, s, ann, nil)
		var b strings.Builder
		for i := range 300 {
			fmt.Fprintf(&b, "## Chapter %d\n\n%s. %s.\n\n", i, question,
				strings.Repeat("the pump is started by the red switch number ", 9))
		}
		manual := add(t, s, ann, crew, b.String())
		for i := range 9 {
			add(t, s, ann, crew, fmt.Sprint("wood pellets burn in the boiler of house ", i))
		}
		waitForEmbeddings(t, s)
		found := func(fuse bool, f loci.MemoryFilter) int {
			q := retrieve.NewQuery(question)
			q.Embeddings, q.Hybrid = []retrieve.Embedding{{Generation: "one", Vector: storetest.VectorOf(question)}},
				fuse
			f.WorkspaceID = crew
			list, err := store.Read(ctx, s, ann, func(tx *store.Tx) (retrieve.Result, error) {
				return storetest.Search(tx, q, f, "", 20)
			})
			if err != nil {
				t.Fatal(err)
			}
			return len(list.Hits)
		}
		for _, fuse := range []bool{false, true} {
			if n := found(fuse, loci.MemoryFilter{}); n != 10 {
				t.Errorf("%d of 10 are found, fused %v", n, fuse)
			}
		}
		if _, err := newService(s).ArchiveMemory(ctx, ann,
			loci.ArchiveMemory{MemoryID: manual.ID}); err != nil {
			t.Fatal(err)
		}
		for _, fuse := range []bool{false, true} {
			if n := found(fuse, loci.MemoryFilter{}); n != 9 {
				t.Errorf("%d of 9 are found beside what is archived, fused %v", n, fuse)
			}
		}
	})
}
