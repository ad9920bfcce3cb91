package query

import (
	"cmp"
	"slices"

	"github.com/loci-memory/loci/internal/quickselect"
)

// Parameters of reciprocal rank fusion (Cormack, Clarke, Buettcher, 2009). Each reciprocal rank is multiplied by the
// score relative to the best one of its retriever. That of the semantic retriever is multiplied by semanticWeight too.
// With the usual constant of 60 and equal weights, the weaker retriever harms the stronger one. Measured with these
// values, it never does. Weights from .5 to .8 are as good.
const (
	rrfK           = 1000
	semanticWeight = .7
)

// MaxFused is the greatest number of keyword hits that are fused.
const MaxFused = 200

// Fuse merges the hits of the keyword and the semantic retriever, and returns the k best. Each list is sorted and has
// the score of every known candidate. A candidate of one retriever gets no score from the other. From MaxFused keyword
// hits on, only the score above that of the last one counts. Otherwise all memories with frequent words of the query
// would outvote the best semantic hit. Exact matches come first, and change no other score. The highest possible score
// is 1.
func Fuse(words, semantic []Hit, k int) []Hit {
	words, boosted := withoutExactBoost(words)
	weight, floor := float32(semanticWeight), float32(0)
	if len(words) >= MaxFused {
		floor = words[len(words)-1].Score
	}
	at := make(map[int64]int, len(semantic))
	for i, h := range semantic {
		at[h.Memory] = i
	}
	both := make([]bool, len(semantic))
	out := make([]Hit, 0, len(words)+len(semantic))
	for i, h := range words {
		h.Score = rrfScore(words, i, floor, 1/(1+weight))
		if j, known := at[h.Memory]; known {
			both[j], h.Chunk = true, semantic[j].Chunk
			h.Score += rrfScore(semantic, j, 0, weight/(1+weight))
		}
		out = append(out, h)
	}
	for j, h := range semantic {
		if !both[j] {
			h.Score = rrfScore(semantic, j, 0, weight/(1+weight))
			out = append(out, h)
		}
	}
	if boosted {
		for i := range out {
			if out[i].Score /= 2; out[i].exactBoost > 0 {
				out[i].Score += .5
			}
		}
	}
	if len(out) > k {
		quickselect.Select(out, k, compareHits)
		out = out[:k]
	}
	SortHits(out)
	return out
}

// withoutExactBoost removes the boost of exact matches, and reports whether there was any. Relative to boosted scores,
// all others would lose half of their weight.
func withoutExactBoost(words []Hit) (_ []Hit, boosted bool) {
	if !slices.ContainsFunc(words, func(h Hit) bool { return h.exactBoost > 0 }) {
		return words, false
	}
	words = slices.Clone(words)
	for i := range words {
		words[i].Score -= words[i].exactBoost
	}
	SortHits(words)
	return words, true
}

// rrfScore returns the fused score of hit number i of a retriever, whose score counts above a floor. The conversions
// keep products and sums apart, because a fused multiply-add would round differently on other machines.
func rrfScore(hits []Hit, i int, floor, weight float32) float32 {
	best := hits[0].Score
	if best <= 0 {
		return 0
	}
	whole := float32(weight * (rrfK + 1))
	return float32(whole * max(0, hits[i].Score-floor) / best / float32(rrfK+1+i))
}

// MaxPerMemory keeps the hit of the best chunk of each memory, applies the factors of states, and sorts the hits.
func MaxPerMemory(chunks []Hit) []Hit {
	slices.SortFunc(chunks, func(a, b Hit) int {
		if a.Memory != b.Memory {
			return cmp.Compare(a.Memory, b.Memory)
		}
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Chunk, b.Chunk))
	})
	chunks = slices.CompactFunc(chunks, func(a, b Hit) bool { return a.Memory == b.Memory })
	for i := range chunks {
		chunks[i].Score *= chunks[i].stateFactor
	}
	SortHits(chunks)
	return chunks
}
