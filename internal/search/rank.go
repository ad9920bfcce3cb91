package search

import (
	"cmp"
	"math"
	"slices"
)

// top keeps the best k hits. It gathers some more before it drops those that are
// worse: where hundreds are wanted, a heap takes thrice as long.
type top struct {
	k     int
	hits  []Hit
	least float32 // a score that k hits have reached
}

// spare is how many hits are gathered at least beyond those that are wanted.
const spare = 64

func (t *top) reset(k int) {
	t.k, t.hits, t.least = max(k, 0), t.hits[:0], 0
	if t.k == 0 {
		t.least = float32(math.Inf(1))
	}
}

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
func (t *top) floor() float32 { return t.least }

func (t *top) add(h Hit) {
	if t.hits = append(t.hits, h); len(t.hits) >= 2*t.k+spare {
		t.cut()
	}
}

// cut drops what is not wanted.
func (t *top) cut() {
	if len(t.hits) <= t.k {
		return
	}
	part(t.hits, t.k, compare)
	if t.hits = t.hits[:t.k]; t.k > 0 {
		t.least = t.hits[t.k-1].Score
	}
}

// part puts the k first of a list in front, the last of them last (quickselect;
// Hoare, "Algorithm 65: find", 1961).
func part[T any](list []T, k int, compare func(a, b T) int) {
	for from, to := 0, len(list)-1; from < to; {
		middle := []T{list[from], list[(from+to)/2], list[to]}
		slices.SortFunc(middle, compare)
		i, j := from, to
		for i <= j {
			for compare(list[i], middle[1]) < 0 {
				i++
			}
			for compare(list[j], middle[1]) > 0 {
				j--
			}
			if i <= j {
				list[i], list[j] = list[j], list[i]
				i, j = i+1, j-1
			}
		}
		switch {
		case k-1 <= j:
			to = j
		case k-1 >= i:
			from = i
		default:
			return
		}
	}
}

// sorted gives the hits, best first.
func (t *top) sorted() []Hit {
	t.cut()
	hits := slices.Clone(t.hits)
	Sort(hits)
	return hits
}

// Sort puts the better hits first, ties by lower memory.
func Sort(hits []Hit) { slices.SortFunc(hits, compare) }
