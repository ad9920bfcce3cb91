package retrieve

import (
	"math"
	"slices"
	"testing"

	"github.com/loci-memory/loci/internal/query"
	"github.com/loci-memory/loci/internal/testenv"
)

func TestFuseSumsScoresOfBothRetrievers(t *testing.T) {
	t.Parallel()
	words := []query.Hit{{Memory: 1, Score: 8}, {Memory: 2, Score: 6}, {Memory: 3, Score: 2}}
	semantic := []query.Hit{{Memory: 3, Score: .9}, {Memory: 2, Score: .8}, {Memory: 4, Score: -.1}}
	got := fuse(words, semantic, 10)
	part := func(score, best, rank, weight float64) float64 {
		return weight / 1.7 * 1001 / (1000 + rank) * score / best
	}
	want := map[int64]float64{1: part(8, 8, 1, 1), 2: part(6, 8, 2, 1) + part(.8, .9, 2, .7),
		3: part(2, 8, 3, 1) + part(.9, .9, 1, .7), 4: 0}
	testenv.RequireEqual(t, len(got), len(want), "hits", got)
	for i, h := range got {
		if math.Abs(float64(h.Score)-want[h.Memory]) > 1e-5 {
			t.Errorf("memory %d has %f, not %f", h.Memory, h.Score, want[h.Memory])
		}
		if i > 0 && h.Score > got[i-1].Score {
			t.Errorf("hit %d is better than the one before", i)
		}
	}
	if two := fuse(words, semantic, 2); len(two) != 2 || two[0] != got[0] || two[1] != got[1] {
		t.Errorf("the best two of %v are %v", got, two)
	}
	if got := fuse(nil, semantic, 10); len(got) != 3 || got[0].Memory != 3 {
		t.Errorf("without words: %v", got)
	}
	if got := fuse(words, nil, 10); len(got) != 3 || got[0].Memory != 1 {
		t.Errorf("without meaning: %v", got)
	}
}

func TestFuseRanksExactHitsFirst(t *testing.T) {
	t.Parallel()
	words := []query.Hit{{Memory: 1, Score: 8}, {Memory: 2, Score: 6}, {Memory: 3, Score: 2}}
	semantic := []query.Hit{{Memory: 2, Score: .9}, {Memory: 4, Score: .8}, {Memory: 1, Score: .3}}
	before := fuse(words, semantic, 10)
	got := fuse([]query.Hit{words[2].BoostExact(8), words[0], words[1]}, semantic, 10)
	if len(got) != len(before) || got[0].Memory != 3 || got[0].Score <= .5 || got[0].Score > 1 {
		t.Fatalf("%v", got)
	}
	for i, h := range got[1:] {
		if at := slices.IndexFunc(before, func(b query.Hit) bool {
			return b.Memory == h.Memory
		}); h.Score != before[at].Score/2 || i > 0 && h.Score > got[i].Score {
			t.Errorf("memory %d has %f of %f", h.Memory, h.Score, before[at].Score)
		}
	}
}

// In a large workspace many memories share frequent words with a query, and have nearly equal scores. The best semantic
// hit is found nevertheless, and so is a memory that stands out by its words.
func TestFuseKeepsSemanticHitsWhenKeywordScoresAreFlat(t *testing.T) {
	t.Parallel()
	const meant = 1000
	for _, c := range []struct {
		name  string
		hits  int
		last  float32 // of scores by words, which begin with 1
		first int64
	}{
		{"flat", fusionWindow, .6, meant},
		{"flatter", fusionWindow, .95, meant},
		{"steep", fusionWindow, .1, 1},
		{"few", 40, .6, 1}, // all that hold a word
	} {
		var words, semantic []query.Hit
		for i := range c.hits {
			part := float32(i) / float32(c.hits-1)
			words = append(words, query.Hit{Memory: int64(i + 1), Score: 10 * (1 - part*(1-c.last))})
		}
		semantic = append(semantic, query.Hit{Memory: meant, Score: .8})
		for i := range 50 {
			semantic = append(semantic, query.Hit{Memory: int64(i + 1), Score: .2})
		}
		if got := fuse(words, semantic, 10); got[0].Memory != c.first {
			t.Errorf("%s: %v", c.name, got[:3])
		}
	}
}
