package query

import (
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/loci-memory/loci/internal/index"
	"github.com/loci-memory/loci/internal/index/indextest"
	"github.com/loci-memory/loci/internal/relevance"
	"github.com/loci-memory/loci/internal/relevance/datasettest"
	"github.com/loci-memory/loci/internal/testenv"
)

// ndcg returns the mean nDCG@10 of a dataset, with a workspace for each group.
func ndcg(t testing.TB, j relevance.Dataset) float64 {
	snapshots, ids := map[string]*index.Snapshot{}, map[int64]string{}
	d := indextest.NewStore()
	groups := map[string][]index.DocUpdate{}
	for i, doc := range j.Documents {
		ids[int64(i)] = doc.ID
		c := index.DocUpdate{Seq: int64(i), DocAttributes: index.DocAttributes{Memory: int64(i)},
			Document: index.Analyze(doc.Title, doc.Text)}
		groups[doc.Group] = append(groups[doc.Group], c)
	}
	for g, changes := range groups {
		snapshots[g] = d.Flush(t, int64(len(snapshots)), changes)
	}
	sum := 0.
	for _, q := range j.Queries {
		// The search does not boost by dates, so the words of dates keep their full weight.
		r := testenv.Must(rank(snapshots[q.Group], d.Fetch, withFullDates(Parse(q.Text)), index.Filter{}, 0, 10))(t)
		got := 0.
		for i, h := range r.Hits {
			got += q.Relevant[ids[h.Memory]] / math.Log2(float64(i+2))
		}
		sum += got / ideal(len(q.Relevant))
	}
	return sum / float64(len(j.Queries))
}

func ideal(n int) (sum float64) {
	for i := range min(n, 10) {
		sum += 1 / math.Log2(float64(i+2))
	}
	return sum
}

func TestSearchReachesQualityFloors(t *testing.T) {
	t.Parallel()
	floors := map[string]float64{"docs": .75, "code": .73, "xquad-en": .965, "xquad-ru": .87, "xquad-zh": .96,
		"jaquad": .91, "locomo-turns": .52, "locomo-sessions": .84}
	for _, name := range datasettest.Present(t, slices.Sorted(maps.Keys(floors))...) {
		t.Run(name, func(t *testing.T) {
			got := ndcg(t, datasettest.Read(t, name))
			t.Logf("%s nDCG@10 %.4f", name, got)
			if got < floors[name] {
				t.Errorf("nDCG@10 %.4f, want at least %.4f", got, floors[name])
			}
		})
	}
}
