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

// Fuse ranks what two legs found together. Each leg is best first, and holds its
// score of every candidate that it knows; what only one of them knows counts
// nothing in the other. The best possible score is 1.
func Fuse(words, meaning []Hit) []Hit {
	sum := map[int64]Hit{}
	add := func(leg []Hit, weight float32) {
		for i, h := range leg {
			share := float32(0)
			if best := leg[0].Score; best > 0 {
				share = max(0, h.Score) / best
			}
			whole := weight / (1 + semanticWeight) * (rankConstant + 1)
			score := sum[h.Memory].Score + float32(whole*share/float32(rankConstant+1+i))
			h.Score = score
			sum[h.Memory] = h
		}
	}
	add(words, 1)
	add(meaning, semanticWeight)
	out := make([]Hit, 0, len(sum))
	for _, h := range sum {
		out = append(out, h)
	}
	slices.SortFunc(out, compare)
	return out
}

// Best keeps for each memory its best score of several passages, best first.
func Best(passages []Hit) []Hit {
	slices.SortFunc(passages, func(a, b Hit) int { return cmp.Or(cmp.Compare(a.Memory, b.Memory), cmp.Compare(b.Score, a.Score)) })
	passages = slices.CompactFunc(passages, func(a, b Hit) bool { return a.Memory == b.Memory })
	slices.SortFunc(passages, compare)
	return passages
}
