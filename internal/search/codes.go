package search

import (
	"cmp"
	"math/bits"
	"slices"
	"sync/atomic"
)

// Codes are the signs of the vectors of one workspace, a bit for each dimension,
// by which a search finds those that are worth reading. They are immutable and
// safe for concurrent use.
//
// What came last is kept apart from the rest until it is many, so that a few new
// vectors do not copy all the others.
type Codes struct {
	base, fresh *codes
	dead        []uint64 // of base: replaced in fresh
	places      *atomic.Pointer[places]
}

// A Coded is a vector as it comes from the store: of which memory it is, under
// which key it is stored, and its stored form.
type Coded struct {
	Memory, Key int64
	Vector      []byte
}

// codes are in the order of their memories.
type codes struct {
	memories, keys []int64
	words          int // of 64 dimensions, in a code
	bits           []uint64
}

// NewCodes is a workspace without vectors.
func NewCodes() *Codes {
	return &Codes{base: &codes{}, fresh: &codes{}, places: new(atomic.Pointer[places])}
}

// Len is the number of vectors.
func (c *Codes) Len() int { return len(c.base.keys) + len(c.fresh.keys) - ones64(c.dead) }

// With is c after further vectors came: they replace all that their memories had.
// Vectors of another length than those that are there are refused.
func (c *Codes) With(list []Coded) (*Codes, error) {
	if len(list) == 0 {
		return c, nil
	}
	add, err := encode(list)
	if err != nil {
		return c, err
	}
	if w := max(c.base.words, c.fresh.words); w > 0 && w != add.words {
		return c, ErrCorrupt
	}
	next := &Codes{base: c.base, fresh: join(c.fresh, nil, add), places: c.places}
	if len(next.fresh.keys) > max(1024, len(c.base.keys)/8) {
		return &Codes{base: join(c.base, c.dead, next.fresh), fresh: &codes{}, places: new(atomic.Pointer[places])}, nil
	}
	next.dead = make([]uint64, (len(c.base.keys)+63)/64)
	copy(next.dead, c.dead)
	for i, m := range add.memories {
		if i > 0 && m == add.memories[i-1] {
			continue
		}
		for at, end := c.base.of(m); at < end; at++ {
			next.dead[at/64] |= 1 << (at % 64)
		}
	}
	return next, nil
}

func encode(list []Coded) (*codes, error) {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b Coded) int { return cmp.Compare(a.Memory, b.Memory) })
	size := len(list[0].Vector)
	c := &codes{words: (size - vectorHead + 63) / 64}
	c.bits = make([]uint64, len(list)*c.words)
	for i, v := range list {
		if len(v.Vector) != size || size <= vectorHead {
			return nil, ErrCorrupt
		}
		c.memories, c.keys = append(c.memories, v.Memory), append(c.keys, v.Key)
		signs(c.code(i), v.Vector)
	}
	return c, nil
}

func (c *codes) code(i int) []uint64 { return c.bits[i*c.words : (i+1)*c.words] }

// of is where the codes of a memory stand.
func (c *codes) of(memory int64) (from, to int) {
	from, _ = slices.BinarySearch(c.memories, memory)
	for to = from; to < len(c.memories) && c.memories[to] == memory; to++ {
	}
	return from, to
}

// join puts add in place of what a holds of the same memories.
func join(a *codes, dead []uint64, add *codes) *codes {
	n := len(a.keys) + len(add.keys)
	out := &codes{memories: make([]int64, 0, n), keys: make([]int64, 0, n), words: add.words, bits: make([]uint64, 0, n*add.words)}
	i, j := 0, 0
	for i < len(a.keys) || j < len(add.keys) {
		switch {
		case j == len(add.keys) || i < len(a.keys) && a.memories[i] < add.memories[j]:
			if !isSet(dead, i) {
				out.take(a, i)
			}
			i++
		case i < len(a.keys) && a.memories[i] == add.memories[j]:
			i++
		default:
			out.take(add, j)
			j++
		}
	}
	return out
}

func (c *codes) take(from *codes, i int) {
	c.memories, c.keys = append(c.memories, from.memories[i]), append(c.keys, from.keys[i])
	c.bits = append(c.bits, from.code(i)...)
}

func ones64(set []uint64) (n int) {
	for _, w := range set {
		n += bits.OnesCount64(w)
	}
	return n
}
