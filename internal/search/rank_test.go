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
		var list top
		list.reset(k)
		scores := rapid.SliceOfN(rapid.IntRange(0, 50), 0, 1000).Draw(t, "scores")
		all := make([]Hit, len(scores))
		for i, n := range scores {
			all[i] = Hit{Memory: int64(i * 7919 % len(scores)), Score: float32(n)}
			if all[i].Score >= list.floor() {
				list.add(all[i])
			}
		}
		got := list.sorted()
		Sort(all)
		if want := all[:min(k, len(all))]; !slices.Equal(got, want) {
			t.Fatalf("the best %d of %v are %v", k, all, got)
		}
	})
}
