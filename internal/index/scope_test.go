package index_test

import (
	"fmt"
	"testing"

	"github.com/loci-memory/loci/internal/index"
	"github.com/loci-memory/loci/internal/index/indextest"
)

// minScopeDocs is the number of documents from which on an atlas has statistics of its own.
const minScopeDocs = 16

func TestScopedToKeepsStatisticsOfWorkspaceForSmallAtlas(t *testing.T) {
	t.Parallel()
	for docs, own := range map[int]bool{minScopeDocs - 1: false, minScopeDocs: true} {
		var list []index.DocUpdate
		for i := range 3 * minScopeDocs {
			c := indextest.Update(int64(i+1), int64(i+1), fmt.Sprintf("tide %d", i%3))
			if c.Atlas = 1; i >= docs {
				c.Atlas = 2
			}
			list = append(list, c)
		}
		d := indextest.NewStore()
		v := d.Flush(t, 1, list)
		if got := v.ScopedTo(&index.Filter{Atlases: []int64{1}}); (got.LiveDocs() == docs) != own || (got == v) == own {
			t.Errorf("an atlas of %d documents is ranked by %d", docs, got.LiveDocs())
		}
		if v.ScopedTo(&index.Filter{}) != v || v.ScopedTo(&index.Filter{Atlases: []int64{1, 2}}) != v {
			t.Error("more than one atlas has statistics of its own")
		}
	}
}
