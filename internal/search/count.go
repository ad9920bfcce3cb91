package search

import (
	"hash/maphash"
	"math"
	"math/bits"
	"slices"
	"strings"
	"sync"
)

// counter counts terms in an open hash table over one arena, so that analyzing
// a memory costs a handful of allocations, not one per term.
type counter struct {
	analyzer
	weight int32
	length int
	slots  []int32 // index into tally plus one; zero is free; size a power of two
	tally  []counted
	arena  []byte
	order  []uint64
	terms  []entry // room for a document that is not kept
}

type counted struct {
	hash     uint64
	from, to int32
	freq     int32
}

var (
	counters = sync.Pool{New: func() any {
		c := &counter{slots: make([]int32, 512)}
		c.emit, c.stems = c.add, new(stems)
		return c
	}}
	seed = maphash.MakeSeed()
)

// keepSlots bounds what a pooled counter keeps from one huge text to the next.
const keepSlots = 1 << 14

func (c *counter) reset() {
	if len(c.slots) > keepSlots {
		c.slots, c.tally, c.arena, c.order, c.terms = make([]int32, 512), nil, nil, nil, nil
	}
	clear(c.slots)
	c.tally, c.arena, c.length = c.tally[:0], c.arena[:0], 0
}

func (c *counter) count(title, content string) {
	c.reset()
	if !repeats(title, content) {
		c.weight = titleWeight
		c.analyze(title)
	}
	c.weight = 1
	c.analyze(content)
}

func (c *counter) add(term []byte, r role) {
	if r == word || r == letter || r == lone {
		c.length++
	}
	hash := maphash.Bytes(seed, term)
	mask := uint64(len(c.slots) - 1)
	at := hash & mask
	for c.slots[at] != 0 {
		t := &c.tally[c.slots[at]-1]
		if t.hash == hash && string(c.arena[t.from:t.to]) == string(term) {
			t.freq += c.weight
			return
		}
		at = (at + 1) & mask
	}
	from := int32(len(c.arena))
	c.arena = append(c.arena, term...)
	c.tally = append(c.tally, counted{hash, from, int32(len(c.arena)), c.weight})
	c.slots[at] = int32(len(c.tally))
	if 2*len(c.tally) > len(c.slots) {
		c.grow()
	}
}

func (c *counter) grow() {
	c.slots = make([]int32, 2*len(c.slots))
	mask := uint64(len(c.slots) - 1)
	for i, t := range c.tally {
		at := t.hash & mask
		for c.slots[at] != 0 {
			at = (at + 1) & mask
		}
		c.slots[at] = int32(i + 1)
	}
}

// prefixKey is the first eight bytes of a term as a number: it orders terms as
// they are, but for those that begin alike.
func prefixKey(t string) uint64 { return bits.ReverseBytes64(low8(t)) }

// Sorting numbers is three times as fast as sorting terms, so the first five
// bytes of a term and its place are sorted as one number.
const placeBits = 24

// document writes the terms over those in room.
func (c *counter) document(room []entry) Document {
	arena := string(c.arena)
	c.order = c.order[:0]
	for i, t := range c.tally {
		c.order = append(c.order, prefixKey(arena[t.from:t.to])>>placeBits<<placeBits|uint64(i))
	}
	slices.Sort(c.order)
	d := Document{length: uint32(min(c.length, maxLength)), terms: slices.Grow(room[:0], len(c.order))[:len(c.order)]}
	for i, o := range c.order {
		t := c.tally[o&(1<<placeBits-1)]
		d.terms[i] = entry{arena[t.from:t.to], uint8(min(t.freq, math.MaxUint8))}
	}
	for i := 0; i < len(d.terms); {
		j := i + 1
		for j < len(d.terms) && c.order[j]>>placeBits == c.order[i]>>placeBits {
			j++
		}
		if j > i+1 {
			slices.SortFunc(d.terms[i:j], func(a, b entry) int { return strings.Compare(a.text, b.text) })
		}
		i = j
	}
	return d
}
