package index

import (
	"hash/maphash"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/loci-memory/loci/internal/analysis"
)

// termCounter counts terms in an open-addressing hash table over one arena. So a memory costs a handful of allocations,
// not one for each term.
type termCounter struct {
	analysis.Analyzer
	weight  int32
	length  int
	slots   []int32 // index into entries plus one; zero is free; size a power of two
	entries []countedTerm
	arena   []byte
}

type countedTerm struct {
	hash     uint64
	from, to int32
	freq     int32
}

var (
	termCounterPool = sync.Pool{New: func() any {
		c := &termCounter{slots: make([]int32, 512)}
		c.Emit, c.Stems, c.MaxNormal = c.add, analysis.StemCache{}, analysis.MaxNormal
		return c
	}}
	hashSeed = maphash.MakeSeed()
)

// maxPooledSlots bounds the memory that a pooled counter keeps after a huge text.
const maxPooledSlots = 1 << 14

func (c *termCounter) reset() {
	if len(c.slots) > maxPooledSlots {
		c.slots, c.entries, c.arena = make([]int32, 512), nil, nil
	}
	clear(c.slots)
	c.entries, c.arena, c.length = c.entries[:0], c.arena[:0], 0
}

func (c *termCounter) countDoc(title, content string) {
	c.reset()
	if !analysis.TitleRepeatsContent(title, content) {
		c.weight = TitleWeight
		c.Analyze(title)
	}
	c.weight = 1
	c.Analyze(content)
}

func (c *termCounter) add(term []byte, r analysis.TokenType) {
	if r == analysis.Word || r == analysis.Unigram || r == analysis.LoneUnigram {
		c.length++
	}
	hash := maphash.Bytes(hashSeed, term)
	mask := uint64(len(c.slots) - 1)
	at := hash & mask
	for c.slots[at] != 0 {
		t := &c.entries[c.slots[at]-1]
		if t.hash == hash && string(c.arena[t.from:t.to]) == string(term) {
			t.freq += c.weight
			return
		}
		at = (at + 1) & mask
	}
	from := int32(len(c.arena))
	c.arena = append(c.arena, term...)
	c.entries = append(c.entries, countedTerm{hash, from, int32(len(c.arena)), c.weight})
	c.slots[at] = int32(len(c.entries))
	if 2*len(c.entries) > len(c.slots) {
		c.grow()
	}
}

func (c *termCounter) grow() {
	c.slots = make([]int32, 2*len(c.slots))
	mask := uint64(len(c.slots) - 1)
	for i, t := range c.entries {
		at := t.hash & mask
		for c.slots[at] != 0 {
			at = (at + 1) & mask
		}
		c.slots[at] = int32(i + 1)
	}
}

// document returns the counted terms, sorted.
func (c *termCounter) document() Document {
	arena := string(c.arena)
	d := Document{Length: uint32(min(c.length, maxDocLength)), Terms: make([]TermFreq, len(c.entries))}
	for i, t := range c.entries {
		d.Terms[i] = TermFreq{arena[t.from:t.to], uint8(min(t.freq, math.MaxUint8))}
	}
	slices.SortFunc(d.Terms, func(a, b TermFreq) int { return strings.Compare(a.Term, b.Term) })
	return d
}
