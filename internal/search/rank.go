package search

import (
	"cmp"
	"math"
	"slices"
)

// top keeps the k best of what has a score, ties by lower memory. It gathers some more
// before it drops those that are worse: where hundreds are wanted, a heap takes thrice
// as long.
type top struct {
	k      int
	list   []scored
	least  float32                // a score that k have reached
	memory func(scored) (m int64) // decides between equal scores alone: to look it up is slow
}

// spare is how many are gathered at least beyond those that are wanted.
const spare = 64

func (t *top) reset(k int) {
	t.k, t.list, t.least = max(k, 0), t.list[:0], 0
	if t.k == 0 {
		t.least = float32(math.Inf(1))
	}
}

func (t *top) add(x scored) {
	if x.score < t.least {
		return
	}
	if t.list = append(t.list, x); len(t.list) >= 2*t.k+spare {
		t.cut()
	}
}

// cut drops what is not wanted. Which memories have the last of the scores is looked up
// for these alone.
func (t *top) cut() {
	if len(t.list) <= t.k {
		return
	}
	if t.k > 0 {
		part(t.list, t.k, func(a, b scored) int { return cmp.Compare(b.score, a.score) })
		t.least = t.list[t.k-1].score
		above := t.bring(0, func(x scored) bool { return x.score > t.least })
		equal := t.bring(above, func(x scored) bool { return x.score == t.least })
		if equal > t.k {
			part(t.list[above:equal], t.k-above, func(a, b scored) int { return cmp.Compare(t.memory(a), t.memory(b)) })
		}
	}
	t.list = t.list[:t.k]
}

// bring puts what is so in front, from a place on, and returns where it ends.
func (t *top) bring(from int, is func(scored) bool) int {
	for i := from; i < len(t.list); i++ {
		if is(t.list[i]) {
			t.list[from], t.list[i] = t.list[i], t.list[from]
			from++
		}
	}
	return from
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

// compare orders hits, the better first.
func compare(a, b Hit) int {
	switch {
	case a.Score > b.Score:
		return -1
	case a.Score < b.Score:
		return 1
	}
	return cmp.Compare(a.Memory, b.Memory)
}

// Sort puts the better hits first, ties by lower memory.
func Sort(hits []Hit) { slices.SortFunc(hits, compare) }

// TopN returns the n best hits in order. The others are lost.
func TopN(hits []Hit, n int) []Hit {
	if len(hits) > n {
		part(hits, n, compare)
		hits = hits[:n]
	}
	Sort(hits)
	return hits
}

// Below maps the scores of hits, of which best is the highest one, to scores of at
// most a bound. They keep their order, and most of their score where it is low enough.
func Below(hits []Hit, bound, best float32) {
	for i, h := range hits {
		hits[i].Score = min(h.Score, bound*(1-belowRange+float32(belowRange*h.Score/best)))
	}
}

// belowRange is the part of a bound in which the scores lie that it lowers.
const belowRange = .05
