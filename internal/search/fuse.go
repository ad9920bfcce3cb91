package search

import (
	"cmp"
	"slices"
)

// Fusion of the two legs: reciprocal ranks (Cormack, Clarke, Buettcher, 2009),
// each weighed by what its score is of the best one in its leg, and the meaning
// by semanticWeight. With the usual constant of 60 and equal weights, the weaker
// leg harms the stronger one; measured, this one never does. Any weight from .5 to
// .8 is as good.
const (
	rankConstant   = 1000
	semanticWeight = .7
)

// MaxFused is how many of the best by words are fused. The words may know more then,
// with lower scores.
const MaxFused = 200

// Fuse ranks what two legs found together, and returns the best k. Each leg is best
// first, and holds its score of every candidate that it knows; what only one of them
// knows counts nothing in the other. Of MaxFused by words counts what their scores
// are above the last one's: else what means most, and has almost its score without
// being one of them, is outvoted by all that share frequent words with the query. What is exactly what was asked for comes first,
// which weighs nothing else. The best possible score is 1.
func Fuse(words, meaning []Hit, k int, without Features) []Hit {
	words, lifted := unlifted(words)
	share, weight, floor := share, float32(semanticWeight), float32(0)
	if without.Has(FeatureScores) {
		share, weight = plainShare, 1
	}
	if len(words) >= MaxFused {
		floor = words[len(words)-1].Score
	}
	at := make(map[int64]int, len(meaning))
	for i, h := range meaning {
		at[h.Memory] = i
	}
	both := make([]bool, len(meaning))
	out := make([]Hit, 0, len(words)+len(meaning))
	for i, h := range words {
		h.Score = share(words, i, floor, 1/(1+weight))
		if j, known := at[h.Memory]; known {
			both[j], h.Passage = true, meaning[j].Passage
			h.Score += share(meaning, j, 0, weight/(1+weight))
		}
		out = append(out, h)
	}
	for j, h := range meaning {
		if !both[j] {
			h.Score = share(meaning, j, 0, weight/(1+weight))
			out = append(out, h)
		}
	}
	if lifted {
		for i := range out {
			if out[i].Score /= 2; out[i].lift > 0 {
				out[i].Score += .5
			}
		}
	}
	if len(out) > k {
		part(out, k, compare)
		out = out[:k]
	}
	Sort(out)
	return out
}

// unlifted takes away what lifts hits that are exactly what was asked for: as a part of
// the best score it would take half of their weight from all others.
func unlifted(words []Hit) (_ []Hit, lifted bool) {
	if !slices.ContainsFunc(words, func(h Hit) bool { return h.lift > 0 }) {
		return words, false
	}
	words = slices.Clone(words)
	for i := range words {
		words[i].Score -= words[i].lift
	}
	Sort(words)
	return words, true
}

// share is what a leg gives to its hit number i, of which the score counts above a
// floor. The conversions keep products and sums apart: fused ones would round
// differently on other machines.
func share(leg []Hit, i int, floor, weight float32) float32 {
	best := leg[0].Score
	if best <= 0 {
		return 0
	}
	whole := float32(weight * (rankConstant + 1))
	return float32(whole * max(0, leg[i].Score-floor) / best / float32(rankConstant+1+i))
}

// plainConstant is the constant of reciprocal ranks without scores, to compare with.
const plainConstant = 60

func plainShare(_ []Hit, i int, _, weight float32) float32 {
	return float32(weight*(plainConstant+1)) / float32(plainConstant+1+i)
}

// Best keeps for each memory its best score of several passages, and makes of it what
// the state of the memory does; best first.
func Best(passages []Hit) []Hit {
	slices.SortFunc(passages, func(a, b Hit) int {
		if a.Memory != b.Memory {
			return cmp.Compare(a.Memory, b.Memory)
		}
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Passage, b.Passage))
	})
	passages = slices.CompactFunc(passages, func(a, b Hit) bool { return a.Memory == b.Memory })
	for i := range passages {
		passages[i].Score *= passages[i].factor
	}
	Sort(passages)
	return passages
}
