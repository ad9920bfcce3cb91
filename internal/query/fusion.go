package query

import (
	"cmp"
	"slices"

	"github.com/loci-memory/loci/internal/quickselect"
)

// Fusion of the two legs: reciprocal ranks (Cormack, Clarke, Buettcher, 2009),
// each weighed by what its score is of the best one in its leg, and the meaning
// by semanticWeight. With the usual constant of 60 and equal weights, the weaker
// leg harms the stronger one; measured, this one never does. Any weight from .5 to
// .8 is as good.
const (
	rrfK           = 1000
	semanticWeight = .7
)

// MaxFused is how many of the best by words are fused. The words may know more then,
// with lower scores.
const MaxFused = 200

// Fuse merges the results of both retrievers, and returns the best k. Each list
// is best first, with the retriever's score of every known candidate; a
// candidate that only one retriever knows gets no score from the other. Of
// MaxFused keyword hits only the score above the last one counts. Otherwise the
// best semantic hit would be outvoted by all memories that share frequent words
// with the query. Exact matches come first, and change no other score. The best
// possible score is 1.
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

// withoutExactBoost takes away what lifts hits that are exactly what was asked for: as a part of
// the best score it would take half of their weight from all others.
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

// rrfScore is what a leg gives to its hit number i, of which the score counts above a
// floor. The conversions keep products and sums apart: fused ones would round
// differently on other machines.
func rrfScore(hits []Hit, i int, floor, weight float32) float32 {
	best := hits[0].Score
	if best <= 0 {
		return 0
	}
	whole := float32(weight * (rrfK + 1))
	return float32(whole * max(0, hits[i].Score-floor) / best / float32(rrfK+1+i))
}

// MaxPerMemory keeps for each memory its best score of several passages, and makes of it what
// the state of the memory does; best first.
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
