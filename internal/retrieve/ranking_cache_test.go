package retrieve

import (
	"testing"
	"unsafe"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/index"
	"github.com/loci-memory/loci/internal/query"
	"github.com/loci-memory/loci/internal/testenv"
)

// ownerSource is a Source of which only the owner is needed.
type ownerSource struct{ Source }

func (ownerSource) CacheOwner() loci.ID { return "ann" }

func TestRankingKeyTellsFiltersApart(t *testing.T) {
	t.Parallel()
	known := map[rankingKey]bool{}
	for _, f := range []index.Filter{
		{}, {Atlases: []int64{}}, {Atlases: []int64{1}}, {Tags: []string{"a b"}}, {Tags: []string{"a", "b"}},
	} {
		key := (&searchRun{src: ownerSource{}, filter: f}).rankingKey()
		if known[key] {
			t.Errorf("filter %+v has the key of another one", f)
		}
		known[key] = true
	}
}

func TestRankingsAreBoundedByTheirBytes(t *testing.T) {
	t.Parallel()
	e, kept := New(Options{}), 0
	hits := maxRankingBytes / 10 / int(unsafe.Sizeof(query.Hit{}))
	for i := range 100 {
		e.rankings.Put(rankingKey{owner: loci.ID(rune(i))}, &cachedRanking{
			workspaces: []*workspaceSearch{{keywordHits: make([]query.Hit, hits)}}})
	}
	for i := range 100 {
		if e.rankings.Get(rankingKey{owner: loci.ID(rune(i))}) != nil {
			kept++
		}
	}
	testenv.Equal(t, kept, 9, "rankings of a tenth are cached")
}
