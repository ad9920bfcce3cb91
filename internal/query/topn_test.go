package query

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestTopNKeepsBestInOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.IntRange(0, 200).Draw(t, "k")
		scores := rapid.SliceOfN(rapid.IntRange(0, 50), 0, 1000).Draw(t, "scores")
		memory := func(x scoredDoc) int64 { return int64(int(x.doc) * 7919 % len(scores)) }
		list := topN{memoryOf: memory}
		list.reset(k)
		all := make([]Hit, len(scores))
		for i, n := range scores {
			x := scoredDoc{uint32(i), float32(n)}
			list.add(x)
			all[i] = Hit{Memory: memory(x), Score: x.score}
		}
		list.trim()
		got := make([]Hit, len(list.list))
		for i, x := range list.list {
			got[i] = Hit{Memory: memory(x), Score: x.score}
		}
		SortHits(got)
		SortHits(all)
		if want := all[:min(k, len(all))]; !slices.Equal(got, want) {
			t.Fatalf("the best %d of %v are %v", k, all, got)
		}
	})
}

func TestMaxPerMemoryLowersExpiredAndRaisesVerified(t *testing.T) {
	t.Parallel()
	for _, score := range []float32{.5, -.5} {
		hits := MaxPerMemory([]Hit{{Memory: 1, Score: score, stateFactor: expiredFactor},
			{Memory: 2, Score: score, stateFactor: 1}, {Memory: 3, Score: score, stateFactor: verifiedFactor}})
		for i, want := range []int64{3, 2, 1} {
			if hits[i].Memory != want || hits[i].rawScore() != score {
				t.Errorf("hit %d of scores %f is %+v", i, score, hits[i])
			}
		}
	}
}
