package query

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/index"
	"github.com/loci-memory/loci/internal/index/indextest"
	"github.com/loci-memory/loci/internal/testenv"
)

// sectionSnapshot returns a snapshot of the sections of one document, each of a number of words. The third section
// matches best, and its neighbors match a little. Another memory matches less than the third section.
func sectionSnapshot(t *testing.T, d *indextest.Store, words int) *index.Snapshot {
	t.Helper()
	var list []index.DocUpdate
	for i, text := range []string{"tide", "tide", "tide moon harbour", "tide", "tide"} {
		c := indextest.Update(int64(i+1), int64(i+1), text+strings.Repeat(" other", words))
		c.Group, c.Position = 7, int64(i)
		list = append(list, c)
	}
	list = append(list, indextest.Update(6, 6, "moon harbour"+strings.Repeat(" other", words)))
	for i := range 40 {
		list = append(list, indextest.Update(int64(i+10), int64(i+10),
			fmt.Sprintf("tide note%d", i)+strings.Repeat(" other", words)))
	}
	return d.Flush(t, 1, list[:30]).Apply(list[30:])
}

func TestBoostNeighborsKeepsRankOfSections(t *testing.T) {
	t.Parallel()
	for words, boosted := range map[int]bool{10: true, 200: false} {
		d := indextest.NewStore()
		v := sectionSnapshot(t, d, words)
		r := testenv.Must(rank(v, d.Fetch, Parse("tide moon harbour"), index.Filter{}, 0, 100))(t)
		before := slices.Clone(r.Hits)
		hits := BoostNeighbors(v, r.Hits, NeighborWeights{.3, .1, .3}, index.Filter{}, 0)
		if hits[0].Memory != 3 || hits[0].Score > before[0].Score != boosted {
			t.Errorf("of sections of %d words the best had %v, and now the first is %v", words, before[0], hits[0])
		}
		if !boosted && (hits[1].Memory != 6 || !slices.Equal(hits, before)) {
			t.Errorf("sections of %d words were moved: %v", words, hits[:4])
		}
	}
}

// A turn without a word of the question ranks below the best turn of its conversation, whatever its neighbors add.
func TestBoostNeighborsKeepsMatchBeforeNeighbors(t *testing.T) {
	t.Parallel()
	d := indextest.NewStore()
	var list []index.DocUpdate
	for i, text := range []string{"tide moon", "nothing", "tide moon", "nothing", "tide moon harbour", "else",
		"tide moon"} {
		c := indextest.Update(int64(i+1), int64(i+1), text)
		c.Group, c.Position = 7, int64(i)
		list = append(list, c)
	}
	v := d.Flush(t, 1, list)
	r := testenv.Must(rank(v, d.Fetch, Parse("tide moon harbour"), index.Filter{}, 0, 100))(t)
	hits := BoostNeighbors(v, r.Hits, NeighborWeights{.3, .1, .3}, index.Filter{}, 0)
	if len(hits) != len(list) || hits[0].Memory != 5 {
		t.Errorf("%v", hits)
	}
	for _, h := range hits[:4] {
		if h.Memory == 2 || h.Memory == 4 || h.Memory == 6 {
			t.Errorf("memory %d, which has no word of the question, is among the first: %v", h.Memory, hits)
		}
	}
}

// Without a bound each hit visits every other one, which takes minutes.
func TestBoostNeighborsBoundsMemoriesOfOnePosition(t *testing.T) {
	t.Parallel()
	const memories = 50_000
	list := make([]index.DocUpdate, memories)
	for i := range list {
		list[i] = indextest.Update(int64(i+1), int64(i+1), "moon")
		list[i].Group, list[i].Position = 7, int64(i%2)
	}
	list[0].Document = index.Analyze("", "tide")
	for _, v := range []*index.Snapshot{indextest.NewStore().Flush(t, 1, list), index.NewSnapshot(nil).Apply(list)} {
		hits := BoostNeighbors(v, []Hit{{Memory: 1, Score: 1, stateFactor: 1}}, NeighborWeights{.3, .1, .3},
			index.Filter{}, 0)
		if len(hits) != 1+maxNeighbors || hits[0].Memory != 1 {
			t.Errorf("%d hits, the first is %v", len(hits), hits[0])
		}
	}
}

func TestNeighborsAtOnePositionAddUp(t *testing.T) {
	t.Parallel()
	var list []index.DocUpdate
	for i, position := range []int64{4, 5, 5, 6, 8} {
		c := indextest.Update(int64(i+1), int64(i+1), "tide")
		c.Group, c.Position = 7, position
		list = append(list, c)
	}
	var hits []Hit
	for i := range list {
		hits = append(hits, Hit{Memory: int64(i + 1), Score: 1, stateFactor: 1})
	}
	hits = BoostNeighbors(indextest.NewStore().Flush(t, 1, list), hits, NeighborWeights{Adjacent: .25, TwoApart: .125},
		index.Filter{}, 0)
	slices.SortFunc(hits, func(a, b Hit) int { return int(a.Memory - b.Memory) })
	for i, want := range []float32{1.625, 1.5, 1.5, 1.75, 1.125} {
		testenv.Equal(t, hits[i].Score, want, "memory", i+1)
	}
}
