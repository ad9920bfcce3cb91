package search

import (
	"cmp"
	"math"
	"slices"
)

// top keeps the best k hits in a heap, the worst of them in front.
type top struct {
	k    int
	heap []Hit
}

func (t *top) reset(k int) { t.k, t.heap = max(k, 0), t.heap[:0] }

// compare orders hits, the better first.
func compare(a, b Hit) int {
	switch { // scores are numbers, and mostly different
	case a.Score > b.Score:
		return -1
	case a.Score < b.Score:
		return 1
	}
	return cmp.Compare(a.Memory, b.Memory)
}

// floor is a score that a hit must reach to be wanted.
func (t *top) floor() float32 {
	switch {
	case t.k == 0:
		return float32(math.Inf(1))
	case len(t.heap) < t.k:
		return 0
	}
	return t.heap[0].Score
}

func (t *top) add(h Hit) {
	if len(t.heap) < t.k {
		t.heap = append(t.heap, h)
		t.up(len(t.heap) - 1)
	} else if compare(h, t.heap[0]) < 0 {
		t.heap[0] = h
		t.down()
	}
}

func (t *top) up(i int) {
	for i > 0 && compare(t.heap[(i-1)/2], t.heap[i]) < 0 {
		t.heap[i], t.heap[(i-1)/2] = t.heap[(i-1)/2], t.heap[i]
		i = (i - 1) / 2
	}
}

func (t *top) down() {
	for i := 0; ; {
		worst := i
		for c := 2*i + 1; c <= 2*i+2 && c < len(t.heap); c++ {
			if compare(t.heap[worst], t.heap[c]) < 0 {
				worst = c
			}
		}
		if worst == i {
			return
		}
		t.heap[i], t.heap[worst] = t.heap[worst], t.heap[i]
		i = worst
	}
}

// sorted gives the hits, best first.
func (t *top) sorted() []Hit {
	hits := slices.Clone(t.heap)
	slices.SortFunc(hits, compare)
	return hits
}

// Sort puts the better hits first, ties by lower memory.
func Sort(hits []Hit) { slices.SortFunc(hits, compare) }
