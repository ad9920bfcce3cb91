package minhash

import (
	"math"
	"slices"
	"sync"
)

// Shingles is the set of shingles of a text as hashes. It has all of up to maxShingles, some 6 KB of prose, or the
// least ones of a longer text. These are a fair sample (Cohen and Kaplan, Summarizing Data using Bottom-k Sketches,
// 2007). The zero value is a text without words. It is safe for concurrent use.
type Shingles struct {
	hashes []uint64 // ascending and unique
}

const maxShingles = 1024

// NewShingles returns the set of a text; [Bands] defines a shingle.
func NewShingles(content string) Shingles {
	g := shingleCollectorPool.Get().(*shingleCollector)
	defer shingleCollectorPool.Put(g)
	g.list, g.bound = g.list[:0], math.MaxUint64
	g.addText(content)
	g.trim()
	return Shingles{slices.Clone(g.list)}
}

// Jaccard returns the Jaccard similarity of two sets, from 0 to 1: shared shingles over all shingles. It is exact if
// both sets are whole, and otherwise off by some .015. A text without words has similarity 0.
func (s Shingles) Jaccard(t Shingles) float64 {
	a, b := s.hashes, t.hashes
	most := len(a) + len(b)
	if len(a) == maxShingles || len(b) == maxShingles {
		most = maxShingles
	}
	both, union := 0, 0
	for len(a) > 0 && len(b) > 0 && union < most {
		switch x, y := a[0], b[0]; {
		case x < y:
			a = a[1:]
		case y < x:
			b = b[1:]
		default:
			a, b = a[1:], b[1:]
			both++
		}
		union++
	}
	union = min(union+len(a)+len(b), most)
	return float64(both) / float64(max(union, 1))
}

// shingleCollector keeps the least shingles of a text. It sorts only when it has twice the number to keep, so a text
// takes linear time in any order.
type shingleCollector struct {
	shingler
	list  []uint64
	bound uint64 // greater hashes are not kept
}

var shingleCollectorPool = sync.Pool{New: func() any {
	g := new(shingleCollector)
	g.emit = g.collect
	return g
}}

func (g *shingleCollector) collect(shingles []uint64) {
	for _, x := range shingles {
		if x < g.bound {
			g.list = append(g.list, x)
		}
	}
	if len(g.list) >= 2*maxShingles {
		g.trim()
	}
}

func (g *shingleCollector) trim() {
	slices.Sort(g.list)
	g.list = slices.Compact(g.list)
	if len(g.list) >= maxShingles {
		g.list = g.list[:maxShingles]
		g.bound = g.list[maxShingles-1]
	}
}
