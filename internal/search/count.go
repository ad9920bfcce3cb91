package search

import (
	"cmp"
	"encoding/binary"
	"hash/maphash"
	"math"
	"slices"
	"sync"
)

// counter counts terms in an open hash table over one arena, so that analyzing
// a memory costs a handful of allocations, not one per term.
type counter struct {
	analyzer
	weight int
	length int
	slots  []int32 // index into tally plus one; zero is free; size a power of two
	tally  []counted
	arena  []byte
}

type counted struct {
	hash     uint64
	key      uint64 // the first eight bytes, big endian: settles most comparisons
	from, to int
	freq     int
}

var (
	counters = sync.Pool{New: func() any {
		c := &counter{slots: make([]int32, 512)}
		c.emit = c.add
		return c
	}}
	seed = maphash.MakeSeed()
)

// keepSlots bounds what a pooled counter keeps from one huge text to the next.
const keepSlots = 1 << 14

func (c *counter) reset() {
	if len(c.slots) > keepSlots {
		c.slots, c.tally, c.arena = make([]int32, 512), nil, nil
	}
	clear(c.slots)
	c.tally, c.arena, c.length = c.tally[:0], c.arena[:0], 0
}

func (c *counter) add(term []byte, r role) {
	if r == word || r == letter || r == lone {
		c.length += c.weight
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
	from := len(c.arena)
	c.arena = append(c.arena, term...)
	c.tally = append(c.tally, counted{hash, prefixKey(term), from, len(c.arena), c.weight})
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

func prefixKey[T string | []byte](b T) uint64 {
	var k [8]byte
	copy(k[:], b)
	return binary.BigEndian.Uint64(k[:])
}

func (c *counter) document() Document {
	slices.SortFunc(c.tally, func(a, b counted) int {
		if a.key != b.key {
			return cmp.Compare(a.key, b.key)
		}
		return cmp.Compare(string(c.arena[a.from:a.to]), string(c.arena[b.from:b.to]))
	})
	arena := string(c.arena)
	d := Document{length: uint32(min(c.length, maxLength)), terms: make([]entry, len(c.tally))}
	for i, t := range c.tally {
		d.terms[i] = entry{arena[t.from:t.to], uint8(min(t.freq, math.MaxUint8))}
	}
	return d
}
