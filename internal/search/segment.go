package search

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// Fetch gives a page of a segment's postings. The bytes must stay as they are.
type Fetch func(segment int64, page int) ([]byte, error)

// Blob is a segment to be stored: its head, its pages in order, and the number
// of its documents.
type Blob struct {
	Head  []byte
	Pages [][]byte
	Docs  int
}

// Segment is an immutable part of the index: documents in the order of their
// memories, and which of them are dead.
type Segment struct {
	id int64
	*columns
	dead   []uint64 // bit set, nil if all live
	live   int
	length int64 // of the live documents
	scopes *scopes[*Segment]
}

// Open reads a segment's head and its dead bytes (empty if none died). Pages
// are fetched when a search needs them.
func Open(id int64, head, dead []byte) (*Segment, error) {
	c, err := decodeColumns(head)
	if err != nil {
		return nil, err
	}
	s := &Segment{id: id, columns: c}
	return s.WithDead(dead)
}

// WithDead is the same segment with other dead bytes; it shares the columns.
func (s *Segment) WithDead(dead []byte) (*Segment, error) {
	set, err := decodeDead(dead, s.docs())
	if err != nil {
		return nil, err
	}
	return s.with(set), nil
}

func (s *Segment) with(dead []uint64) *Segment {
	t := &Segment{id: s.id, columns: s.columns, dead: dead, live: s.docs(), scopes: new(scopes[*Segment])}
	for _, n := range s.lengths {
		t.length += int64(n)
	}
	for i, w := range dead {
		for ; w != 0; w &= w - 1 {
			t.live--
			t.length -= int64(s.lengths[i*64+bits.TrailingZeros64(w)])
		}
	}
	return t
}

// ID is the number the segment was opened with.
func (s *Segment) ID() int64 { return s.id }

// Docs is the number of documents, Live of those that are not dead.
func (s *Segment) Docs() int { return s.docs() }

// Live is the number of documents that were neither replaced nor deleted.
func (s *Segment) Live() int { return s.live }

// Kill marks the documents of these memories dead. It returns the segment with
// them dead and whether any of them was alive in it; memories that it does not
// hold are passed over. The receiver stays as it is.
func (s *Segment) Kill(memories []int64) (*Segment, bool) {
	var dead []uint64
	next := *s
	for _, m := range memories {
		doc, ok := s.find(m)
		if !ok || isSet(next.dead, doc) {
			continue
		}
		if dead == nil {
			dead = make([]uint64, (s.docs()+63)/64)
			copy(dead, s.dead)
			next.dead, next.scopes = dead, new(scopes[*Segment])
		}
		dead[doc/64] |= 1 << (doc % 64)
		next.live--
		next.length -= int64(s.lengths[doc])
	}
	if dead == nil {
		return s, false
	}
	return &next, true
}

func isSet(set []uint64, i int) bool {
	return set != nil && set[i/64]>>(i%64)&1 == 1
}

// Dead gives the bytes that Open takes: nothing if all documents live, else
// version byte, uvarint count, and uvarint distance of each dead ordinal to the
// one before.
func (s *Segment) Dead() []byte {
	if s.live == s.docs() {
		return nil
	}
	out := appendCount([]byte{FormatVersion}, s.docs()-s.live)
	last := 0
	for i, w := range s.dead {
		for ; w != 0; w &= w - 1 {
			doc := i*64 + bits.TrailingZeros64(w)
			out = binary.AppendUvarint(out, uint64(doc-last))
			last = doc
		}
	}
	return out
}

func decodeDead(data []byte, docs int) ([]uint64, error) {
	if len(data) == 0 {
		return nil, nil
	}
	c := cursor{data: data}
	c.version()
	set := make([]uint64, (docs+63)/64)
	doc := uint64(0)
	for i := range c.count(1) {
		gap := c.uvarint()
		doc += gap
		if gap >= uint64(docs) || doc >= uint64(docs) || i > 0 && gap == 0 {
			return nil, ErrCorrupt
		}
		set[doc/64] |= 1 << (doc % 64)
	}
	return set, c.end()
}

// Tiers chooses which segments to merge next from their numbers of live
// documents: the smallest, eight at most, of the lowest tier that holds as many as
// least, a tier being a range of sizes that grows eightfold. Nil if none should.
func Tiers(docs []int, least int) []int {
	var tiers [tierCount][]int
	for i, n := range docs {
		t := tierOf(n)
		if t < tierCount {
			tiers[t] = append(tiers[t], i)
		}
	}
	for _, tier := range tiers {
		if len(tier) >= least {
			slices.SortStableFunc(tier, func(a, b int) int { return docs[a] - docs[b] })
			pick := tier[:min(len(tier), FanIn)]
			slices.Sort(pick)
			return pick
		}
	}
	return nil
}

// FanIn is how many segments of a tier are merged while a workspace changes, and
// QuietFanIn once it does not any more: each of them costs a search a look at every
// word, and each merge writes all their documents again.
const (
	FanIn      = 8
	QuietFanIn = 3

	baseTier  = 64 // documents in a segment of the lowest tier
	tierCount = 5  // segments of 32 Ki documents times eight and more rest
)

func tierOf(docs int) int {
	t := 0
	for limit := baseTier; docs >= limit*FanIn && t < tierCount; limit *= FanIn {
		t++
	}
	return t
}
