package search

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestTheTopHoldsTheBestInTheirOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.IntRange(0, 200).Draw(t, "k")
		scores := rapid.SliceOfN(rapid.IntRange(0, 50), 0, 1000).Draw(t, "scores")
		memory := func(x scored) int64 { return int64(int(x.doc) * 7919 % len(scores)) }
		list := top{memory: memory}
		list.reset(k)
		all := make([]Hit, len(scores))
		for i, n := range scores {
			x := scored{uint32(i), float32(n)}
			list.add(x)
			all[i] = Hit{Memory: memory(x), Score: x.score}
		}
		list.cut()
		got := make([]Hit, len(list.list))
		for i, x := range list.list {
			got[i] = Hit{Memory: memory(x), Score: x.score}
		}
		Sort(got)
		Sort(all)
		if want := all[:min(k, len(all))]; !slices.Equal(got, want) {
			t.Fatalf("the best %d of %v are %v", k, all, got)
		}
	})
}
