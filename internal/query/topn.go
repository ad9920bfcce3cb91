package query

import (
	"cmp"
	"math"
	"slices"

	"github.com/loci-memory/loci/internal/quickselect"
)

// topN collects the k best documents, ties by lower memory id. It collects more than k before it selects the best. For
// hundreds of documents a heap takes three times as long.
type topN struct {
	k         int
	list      []scoredDoc
	threshold float32               // score that k documents have reached, or the least one
	memoryOf  func(scoredDoc) int64 // breaks ties
}

// topNSlack is the least number of documents beyond k that are collected before a selection.
const topNSlack = 64

// reset begins with the k best documents of at least a score.
func (t *topN) reset(k int, minScore float32) {
	t.k, t.list, t.threshold = max(k, 0), t.list[:0], minScore
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

// trim keeps the k best.
func (t *topN) trim() {
	if len(t.list) <= t.k {
		return
	}
	if t.k > 0 {
		quickselect.Select(t.list, t.k, t.compare)
		t.threshold = t.list[t.k-1].score
	}
	t.list = t.list[:t.k]
}

// compare orders documents by descending score, ties by memory id.
func (t *topN) compare(a, b scoredDoc) int {
	if a.score != b.score {
		return cmp.Compare(b.score, a.score)
	}
	return cmp.Compare(t.memoryOf(a), t.memoryOf(b))
}

// CompareHits orders hits by descending score, ties by memory id.
func CompareHits(a, b Hit) int {
	return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Memory, b.Memory))
}

// SortHits sorts hits by descending score, ties by memory id.
func SortHits(hits []Hit) { slices.SortFunc(hits, CompareHits) }

// TopHits returns the n best hits in order. It overwrites the list.
func TopHits(hits []Hit, n int) []Hit {
	if len(hits) > n {
		quickselect.Select(hits, n, CompareHits)
		hits = hits[:n]
	}
	SortHits(hits)
	return hits
}

// MaxPerMemory keeps the hit of the best chunk of each memory (MaxP: Dai and Callan, Deeper Text Understanding for IR,
// 2019). It multiplies the scores by the state factors, and sorts the hits.
func MaxPerMemory(chunks []Hit) []Hit {
	slices.SortFunc(chunks, func(a, b Hit) int {
		return cmp.Or(cmp.Compare(a.Memory, b.Memory), cmp.Compare(b.Score, a.Score), cmp.Compare(a.Chunk, b.Chunk))
	})
	chunks = slices.CompactFunc(chunks, func(a, b Hit) bool { return a.Memory == b.Memory })
	for i := range chunks {
		chunks[i].setRawScore(chunks[i].Score)
	}
	SortHits(chunks)
	return chunks
}

// CapScores lowers the scores of hits to at most bound. best is the highest score. The order stays the same. Scores
// below the bound by more than cappedRange do not change.
func CapScores(hits []Hit, bound, best float32) {
	for i, h := range hits {
		hits[i].Score = min(h.Score, bound*(1-cappedRange+float32(cappedRange*h.Score/best)))
	}
}

// cappedRange is the share of the bound that capped scores span. Measured: values from .02 to .15 are as good.
const cappedRange = .05
