package index

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// PageFetcher gives a page of a segment's postings. The bytes must stay as they are.
type PageFetcher func(segment int64, page int) ([]byte, error)

// EncodedSegment is a segment to be stored: its head, its pages in order, and the number
// of its documents.
type EncodedSegment struct {
	Header []byte
	Pages  [][]byte
	Docs   int
}

// Segment is an immutable part of the index: documents in the order of their
// memories, and which of them are dead.
type Segment struct {
	id int64
	*docColumns
	deleted     []uint64 // bit set, nil if all live
	liveDocs    int
	totalLength int64 // of the live documents
	scopeCache  *scopeCache[*Segment]
}

// Open reads a segment's head and its dead bytes (empty if none died). Pages
// are fetched when a search needs them.
func Open(id int64, head, dead []byte) (*Segment, error) {
	c, err := decodeDocColumns(head)
	if err != nil {
		return nil, err
	}
	s := &Segment{id: id, docColumns: c}
	return s.WithTombstones(dead)
}

// WithTombstones is the same segment with other dead bytes; it shares the columns.
func (s *Segment) WithTombstones(dead []byte) (*Segment, error) {
	set, err := decodeTombstones(dead, s.numDocs())
	if err != nil {
		return nil, err
	}
	return s.withDeleted(set), nil
}

func (s *Segment) withDeleted(dead []uint64) *Segment {
	t := &Segment{id: s.id, docColumns: s.docColumns, deleted: dead, liveDocs: s.numDocs(),
		scopeCache: new(scopeCache[*Segment])}
	for _, n := range s.lengths {
		t.totalLength += int64(n)
	}
	for i, w := range dead {
		for ; w != 0; w &= w - 1 {
			t.liveDocs--
			t.totalLength -= int64(s.lengths[i*64+bits.TrailingZeros64(w)])
		}
	}
	return t
}

// ID is the number the segment was opened with.
func (s *Segment) ID() int64 { return s.id }

// Docs is the number of documents, Live of those that are not dead.
func (s *Segment) Docs() int { return s.numDocs() }

// LiveDocs is the number of documents that were neither replaced nor deleted.
func (s *Segment) LiveDocs() int { return s.liveDocs }

// MarkDeleted marks the documents of these memories dead. It returns the segment with
// them dead and whether any of them was alive in it; memories that it does not
// hold are passed over. The receiver stays as it is.
func (s *Segment) MarkDeleted(memories []int64) (*Segment, bool) {
	var dead []uint64
	next := *s
	for _, m := range memories {
		doc, ok := s.ordinalOf(m)
		if !ok || isSet(next.deleted, doc) {
			continue
		}
		if dead == nil {
			dead = make([]uint64, (s.numDocs()+63)/64)
			copy(dead, s.deleted)
			next.deleted, next.scopeCache = dead, new(scopeCache[*Segment])
		}
		dead[doc/64] |= 1 << (doc % 64)
		next.liveDocs--
		next.totalLength -= int64(s.lengths[doc])
	}
	if dead == nil {
		return s, false
	}
	return &next, true
}

// IsDeleted reports whether a document has a tombstone.
func (s *Segment) IsDeleted(doc int) bool { return isSet(s.deleted, doc) }

func isSet(set []uint64, i int) bool {
	return set != nil && set[i/64]>>(i%64)&1 == 1
}

// Tombstones gives the bytes that Open takes: nothing if all documents live, else
// version byte, uvarint count, and uvarint distance of each dead ordinal to the
// one before.
func (s *Segment) Tombstones() []byte {
	if s.liveDocs == s.numDocs() {
		return nil
	}
	out := appendCount([]byte{FormatVersion}, s.numDocs()-s.liveDocs)
	last := 0
	for i, w := range s.deleted {
		for ; w != 0; w &= w - 1 {
			doc := i*64 + bits.TrailingZeros64(w)
			out = binary.AppendUvarint(out, uint64(doc-last))
			last = doc
		}
	}
	return out
}

func decodeTombstones(data []byte, docs int) ([]uint64, error) {
	if len(data) == 0 {
		return nil, nil
	}
	c := decoder{data: data}
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

// SelectMerge chooses which segments to merge next from their numbers of live
// documents: the smallest, eight at most, of the lowest tier that holds as many as
// least, a tier being a range of sizes that grows eightfold. Nil if none should.
func SelectMerge(docs []int, least int) []int {
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
	FanIn     = 8
	IdleFanIn = 3

	baseTierDocs = 64 // documents in a segment of the lowest tier
	tierCount    = 5  // segments of 32 Ki documents times eight and more rest
)

func tierOf(docs int) int {
	t := 0
	for limit := baseTierDocs; docs >= limit*FanIn && t < tierCount; limit *= FanIn {
		t++
	}
	return t
}
