package retrieve

import (
	"slices"

	"github.com/loci-memory/loci/internal/query"
)

// fuse merges the hits of the keyword and the semantic retriever, and returns the k best. Each list is sorted and has
// the score of every known candidate. A candidate of one retriever gets no score from the other. From fusionWindow
// keyword hits on, only the score above that of the last one counts. Otherwise all memories with frequent words of
// the query would outvote the best semantic hit. Exact matches rank first, and change no other score. The highest
// possible score is 1.
func fuse(keyword, semantic []query.Hit, k int) []query.Hit {
	keyword, boosted := withoutExactBoost(keyword)
	weight, floor := float32(semanticWeight), float32(0)
	if len(keyword) >= fusionWindow {
		floor = keyword[len(keyword)-1].Score
	}
	semanticIndex := make(map[int64]int, len(semantic))
	for i, h := range semantic {
		semanticIndex[h.Memory] = i
	}
	both := make([]bool, len(semantic))
	out := make([]query.Hit, 0, len(keyword)+len(semantic))
	for i, h := range keyword {
		h.Score = fusedScore(keyword, i, floor, 1/(1+weight))
		if j, known := semanticIndex[h.Memory]; known {
			both[j], h.Chunk = true, semantic[j].Chunk
			h.Score += fusedScore(semantic, j, 0, weight/(1+weight))
		}
		out = append(out, h)
	}
	for j, h := range semantic {
		if !both[j] {
			h.Score = fusedScore(semantic, j, 0, weight/(1+weight))
			out = append(out, h)
		}
	}
	if boosted {
		for i := range out {
			if out[i].Score /= 2; out[i].ExactBoost() > 0 {
				out[i].Score += .5
			}
		}
	}
	return query.TopHits(out, k)
}

// withoutExactBoost removes the boost of exact matches, and reports whether there was any. Relative to boosted scores,
// all others would lose half of their weight. Neighbors keep their share of the boost: see query.BoostNeighbors.
func withoutExactBoost(keyword []query.Hit) (_ []query.Hit, boosted bool) {
	if !slices.ContainsFunc(keyword, func(h query.Hit) bool { return h.ExactBoost() > 0 }) {
		return keyword, false
	}
	keyword = slices.Clone(keyword)
	for i := range keyword {
		keyword[i].Score -= keyword[i].ExactBoost()
	}
	query.SortHits(keyword)
	return keyword, true
}

// fusedScore returns the addend of hit number i of a retriever in its fused score. It is the weight times the score
// above a floor, relative to the best one and slightly damped by rank. The conversions keep products and sums apart,
// because a fused multiply-add would round differently on other machines.
func fusedScore(hits []query.Hit, i int, floor, weight float32) float32 {
	best := hits[0].Score
	if best <= 0 {
		return 0
	}
	scale := float32(weight * (rankDamping + 1))
	return float32(scale * max(0, hits[i].Score-floor) / best / float32(rankDamping+1+i))
}
