package query

import (
	"cmp"
	"math"
	"slices"

	"github.com/loci-memory/loci/internal/quickselect"
)

// topN keeps the k best of what has a score, ties by lower memory. It gathers some more
// before it drops those that are worse: where hundreds are wanted, a heap takes thrice
// as long.
type topN struct {
	k         int
	list      []scoredDoc
	threshold float32                   // a score that k have reached
	memoryOf  func(scoredDoc) (m int64) // decides between equal scores alone: to look it up is slow
}

// topNSlack is how many are gathered at least beyond those that are wanted.
const topNSlack = 64

func (t *topN) reset(k int) {
	t.k, t.list, t.threshold = max(k, 0), t.list[:0], 0
	if t.k == 0 {
		t.threshold = float32(math.Inf(1))
	}
}

func (t *topN) add(x scoredDoc) {
	if x.score < t.threshold {
		return
	}
	if t.list = append(t.list, x); len(t.list) >= 2*t.k+topNSlack {
		t.trim()
	}
}

// trim drops what is not wanted. Which memories have the last of the scores is looked up
// for these alone.
func (t *topN) trim() {
	if len(t.list) <= t.k {
		return
	}
	if t.k > 0 {
		quickselect.Select(t.list, t.k, func(a, b scoredDoc) int { return cmp.Compare(b.score, a.score) })
		t.threshold = t.list[t.k-1].score
		above := t.partition(0, func(x scoredDoc) bool { return x.score > t.threshold })
		equal := t.partition(above, func(x scoredDoc) bool { return x.score == t.threshold })
		if equal > t.k {
			quickselect.Select(t.list[above:equal], t.k-above, func(a, b scoredDoc) int {
				return cmp.Compare(t.memoryOf(a), t.memoryOf(b))
			})
		}
	}
	t.list = t.list[:t.k]
}

// partition puts what is so in front, from a place on, and returns where it ends.
func (t *topN) partition(from int, is func(scoredDoc) bool) int {
	for i := from; i < len(t.list); i++ {
		if is(t.list[i]) {
			t.list[from], t.list[i] = t.list[i], t.list[from]
			from++
		}
	}
	return from
}

// compareHits orders hits, the better first.
func compareHits(a, b Hit) int {
	switch {
	case a.Score > b.Score:
		return -1
	case a.Score < b.Score:
		return 1
	}
	return cmp.Compare(a.Memory, b.Memory)
}

// SortHits puts the better hits first, ties by lower memory.
func SortHits(hits []Hit) { slices.SortFunc(hits, compareHits) }

// TopHits returns the n best hits in order. The others are lost.
func TopHits(hits []Hit, n int) []Hit {
	if len(hits) > n {
		quickselect.Select(hits, n, compareHits)
		hits = hits[:n]
	}
	SortHits(hits)
	return hits
}

// CapScores maps the scores of hits, of which best is the highest one, to scores of at
// most a bound. They keep their order, and most of their score where it is low enough.
func CapScores(hits []Hit, bound, best float32) {
	for i, h := range hits {
		hits[i].Score = min(h.Score, bound*(1-cappedRange+float32(cappedRange*h.Score/best)))
	}
}

// cappedRange is the part of a bound in which the scores lie that it lowers.
const cappedRange = .05
