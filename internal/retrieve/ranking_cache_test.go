package retrieve

import (
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/index"
	"github.com/loci-memory/loci/internal/query"
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

func TestRankingsAreBoundedByTheirHits(t *testing.T) {
	t.Parallel()
	e, hits := New(Options{}), 0
	for i := range maxRankings {
		e.rankings.Put(rankingKey{owner: loci.ID(rune(i))}, &cachedRanking{
			workspaces: []*workspaceSearch{{keywordHits: make([]query.Hit, maxCachedHits/10)}}})
	}
	for i := range maxRankings {
		if r := e.rankings.Get(rankingKey{owner: loci.ID(rune(i))}); r != nil {
			hits += len(r.workspaces[0].keywordHits)
		}
	}
	if hits == 0 || hits > maxCachedHits {
		t.Errorf("%d hits are cached", hits)
	}
}
