package vector

import (
	"cmp"
	"math"
	"slices"
	"sync/atomic"
	"unsafe"
)

// BinaryCodes are the sign bits of the vectors of one workspace, one bit for each dimension. They are immutable and
// safe for concurrent use.
//
// Recent vectors are in a small delta table, so that most calls of Apply do not copy all others. A large delta is
// merged into the base.
type BinaryCodes struct {
	base, delta *codeTable
	replaced    []uint64 // bit set of the codes of base that delta replaces
	locations   *atomic.Pointer[docLocations]
}

// A StoredVector is a row of the store: the stored form of a vector of a memory, and its key.
type StoredVector struct {
	Memory, Key int64
	Vector      []byte
}

// A codeTable holds codes sorted by memory id.
type codeTable struct {
	memories, keys []int64
	dimensions     int
	wordsPerCode   int // each of 64 dimensions
	bits           []uint64
}

// NewBinaryCodes returns the codes of a workspace without vectors.
func NewBinaryCodes() *BinaryCodes {
	return &BinaryCodes{base: &codeTable{}, delta: &codeTable{}, locations: new(atomic.Pointer[docLocations])}
}

// Len returns the number of vectors.
func (c *BinaryCodes) Len() int { return len(c.base.keys) + len(c.delta.keys) - popCount(c.replaced) }

// SizeBytes returns about the size of the codes in RAM, with the locations that searches add.
func (c *BinaryCodes) SizeBytes() int {
	return int(unsafe.Sizeof(*c)) + 8*cap(c.replaced) + c.base.sizeBytes() + c.delta.sizeBytes() +
		int(unsafe.Sizeof(docLocations{})) + 6*len(c.base.keys)
}

func (c *codeTable) sizeBytes() int {
	return int(unsafe.Sizeof(*c)) + 8*(cap(c.memories)+cap(c.keys)+cap(c.bits))
}

// Each Apply copies the delta, and each merge copies the base. A limit of the delta near the root of the size of the
// base keeps the sum low. Measured with 200,000 codes: an eighth of the base as the limit takes twelve times as long.
const (
	minMergedDelta = 1024
	deltaRoots     = 4
)

// Apply returns the codes with further vectors, which replace all vectors of their memories. All vectors have the same
// length: others are an error.
func (c *BinaryCodes) Apply(list []StoredVector) (*BinaryCodes, error) {
	if len(list) == 0 {
		return c, nil
	}
	add, err := buildCodeTable(list)
	if err != nil {
		return c, err
	}
	if n := max(c.base.dimensions, c.delta.dimensions); n > 0 && n != add.dimensions {
		return c, ErrCorrupt
	}
	next := &BinaryCodes{base: c.base, delta: mergeCodeTables(c.delta, nil, add), locations: c.locations}
	if len(next.delta.keys) > max(minMergedDelta, deltaRoots*int(math.Sqrt(float64(len(c.base.keys))))) {
		return &BinaryCodes{base: mergeCodeTables(c.base, c.replaced, next.delta), delta: &codeTable{},
			locations: new(atomic.Pointer[docLocations])}, nil
	}
	next.replaced = make([]uint64, (len(c.base.keys)+63)/64)
	copy(next.replaced, c.replaced)
	for i, m := range add.memories {
		if i > 0 && m == add.memories[i-1] {
			continue
		}
		for at, end := c.base.rangeOf(m); at < end; at++ {
			next.replaced[at/64] |= 1 << (at % 64)
		}
	}
	return next, nil
}

func buildCodeTable(list []StoredVector) (*codeTable, error) {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b StoredVector) int { return cmp.Compare(a.Memory, b.Memory) })
	size := len(list[0].Vector)
	c := &codeTable{dimensions: size - vectorHeaderBytes, wordsPerCode: (size - vectorHeaderBytes + 63) / 64}
	c.bits = make([]uint64, len(list)*c.wordsPerCode)
	for i, v := range list {
		if len(v.Vector) != size || size <= vectorHeaderBytes {
			return nil, ErrCorrupt
		}
		c.memories, c.keys = append(c.memories, v.Memory), append(c.keys, v.Key)
		packSigns(c.code(i), v.Vector)
	}
	return c, nil
}

func (c *codeTable) code(i int) []uint64 { return c.bits[i*c.wordsPerCode : (i+1)*c.wordsPerCode] }

// rangeOf returns the range of the codes of a memory.
func (c *codeTable) rangeOf(memory int64) (from, to int) {
	from, _ = slices.BinarySearch(c.memories, memory)
	for to = from; to < len(c.memories) && c.memories[to] == memory; to++ {
	}
	return from, to
}

// mergeCodeTables merges two tables. Codes of add replace those of the same memories. Deleted codes of a are dropped.
func mergeCodeTables(a *codeTable, deleted []uint64, add *codeTable) *codeTable {
	n := len(a.keys) + len(add.keys)
	out := &codeTable{memories: make([]int64, 0, n), keys: make([]int64, 0, n), dimensions: add.dimensions,
		wordsPerCode: add.wordsPerCode, bits: make([]uint64, 0, n*add.wordsPerCode)}
	i, j := 0, 0
	for i < len(a.keys) || j < len(add.keys) {
		switch {
		case j == len(add.keys) || i < len(a.keys) && a.memories[i] < add.memories[j]:
			if !isSet(deleted, i) {
				out.appendFrom(a, i)
			}
			i++
		case i < len(a.keys) && a.memories[i] == add.memories[j]:
			i++
		default:
			out.appendFrom(add, j)
			j++
		}
	}
	return out
}

func (c *codeTable) appendFrom(from *codeTable, i int) {
	c.memories, c.keys = append(c.memories, from.memories[i]), append(c.keys, from.keys[i])
	c.bits = append(c.bits, from.code(i)...)
}
