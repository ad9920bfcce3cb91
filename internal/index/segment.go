package index

import (
	"context"
	"hash/maphash"
	"math/bits"
	"slices"
)

// PageFetcher returns a page of the postings of a segment. Callers do not change the bytes.
type PageFetcher func(segment int64, page int) ([]byte, error)

// EncodedSegment is the stored form of a segment: its header, its pages in order, and the number of its documents.
type EncodedSegment struct {
	Header []byte
	Pages  [][]byte
	Docs   int
}

// Segment is an immutable part of the index. Its documents are sorted by memory id. Tombstones mark the deleted ones.
type Segment struct {
	id int64
	*segmentHeader
	deleted     []uint64 // tombstones, one bit a document; nil if there are none
	liveDocs    int
	totalLength int64 // sum of the lengths of the live documents
	scopeCache  *scopeCache[*Segment]
}

// Open reads the header and the tombstones of a segment. Empty tombstones mean that all documents are live.
func Open(id int64, header, tombstones []byte) (*Segment, error) {
	h, err := decodeSegmentHeader(header)
	if err != nil {
		return nil, err
	}
	g := &Segment{id: id, segmentHeader: h}
	return g.WithTombstones(tombstones)
}

// WithTombstones returns the segment with other tombstones. Both share the columns.
func (g *Segment) WithTombstones(tombstones []byte) (*Segment, error) {
	set, err := decodeTombstones(tombstones, g.Docs())
	if err != nil {
		return nil, err
	}
	return g.withDeleted(set), nil
}

func (g *Segment) withDeleted(tombstones []uint64) *Segment {
	t := &Segment{id: g.id, segmentHeader: g.segmentHeader, deleted: tombstones, liveDocs: g.Docs(),
		scopeCache: new(scopeCache[*Segment])}
	for _, n := range g.lengths {
		t.totalLength += int64(n)
	}
	for i, w := range tombstones {
		for ; w != 0; w &= w - 1 {
			t.liveDocs--
			t.totalLength -= int64(g.lengths[i*64+bits.TrailingZeros64(w)])
		}
	}
	return t
}

// ID returns the number with which the segment was opened.
func (g *Segment) ID() int64 { return g.id }

// LiveDocs returns the number of documents without a tombstone.
func (g *Segment) LiveDocs() int { return g.liveDocs }

// MarkDeleted returns a segment with tombstones for the documents of some memories, and whether any is new. It ignores
// unknown memories. The receiver does not change.
func (g *Segment) MarkDeleted(memories []int64) (*Segment, bool) {
	var tombstones []uint64
	next := *g
	for _, m := range memories {
		doc, ok := g.ordinalOf(m)
		if !ok || isSet(next.deleted, doc) {
			continue
		}
		if tombstones == nil {
			tombstones = make([]uint64, (g.Docs()+63)/64)
			copy(tombstones, g.deleted)
			next.deleted, next.scopeCache = tombstones, new(scopeCache[*Segment])
		}
		tombstones[doc/64] |= 1 << (doc % 64)
		next.liveDocs--
		next.totalLength -= int64(g.lengths[doc])
	}
	if tombstones == nil {
		return g, false
	}
	return &next, true
}

// MarkAtlasDeleted returns a segment with tombstones for the documents of an atlas, and whether any is new. The
// receiver does not change.
func (g *Segment) MarkAtlasDeleted(atlas int64) (*Segment, bool) {
	number := slices.Index(g.atlases, atlas)
	if number < 0 {
		return g, false
	}
	tombstones := make([]uint64, (g.Docs()+63)/64)
	copy(tombstones, g.deleted)
	for doc, at := range g.atlas {
		if int(at) == number {
			tombstones[doc/64] |= 1 << (doc % 64)
		}
	}
	next := g.withDeleted(tombstones)
	return next, next.liveDocs < g.liveDocs
}

// IsDeleted reports whether a document has a tombstone.
func (g *Segment) IsDeleted(doc int) bool { return isSet(g.deleted, doc) }

func isSet(set []uint64, i int) bool {
	return set != nil && set[i/64]>>(i%64)&1 == 1
}

// Tombstones returns the bytes that [Open] reads: nothing if all documents are live. Otherwise the format is version
// byte, uvarint count, and uvarint distances. Each distance is that of the ordinal of a deleted document to the one
// before.
func (g *Segment) Tombstones() []byte {
	if g.liveDocs == g.Docs() {
		return nil
	}
	var docs []uint32
	for i, w := range g.deleted {
		for ; w != 0; w &= w - 1 {
			docs = append(docs, uint32(i*64+bits.TrailingZeros64(w)))
		}
	}
	return appendSparse([]byte{FormatVersion}, docs, func(out []byte, _ int) []byte { return out })
}

func decodeTombstones(data []byte, docs int) ([]uint64, error) {
	if len(data) == 0 {
		return nil, nil
	}
	d := decoder{data: data}
	d.version()
	set := make([]uint64, (docs+63)/64)
	d.sparseColumn(1, docs, func(doc uint32) { set[doc/64] |= 1 << (doc % 64) })
	return set, d.end()
}

// digestSeed makes digests differ between processes, so none can be stored.
var digestSeed = maphash.MakeSeed()

// Digest returns a hash of the attributes, the length and the terms of an update. Equal documents have equal digests in
// one process, also those of two memories.
func (u *DocUpdate) Digest() uint64 {
	sum := headerDigest(u.DocAttributes, u.Document.Length)
	for _, t := range u.Document.Terms {
		sum += maphash.Comparable(digestSeed, t)
	}
	return sum
}

// Digests returns the digests of all documents of a segment, by ordinal. It reads each page once.
func (g *Segment) Digests(ctx context.Context, fetch PageFetcher) ([]uint64, error) {
	sums := make([]uint64, g.Docs())
	for doc := range sums {
		sums[doc] = headerDigest(g.Attributes(doc), g.lengths[doc])
	}
	var r termIterator
	var p decodedPostings
	last := ""
	for r.begin(g, fetch, "", lastTerm); r.next() && ctx.Err() == nil; {
		term := string(r.block.term)
		if term < last {
			return nil, ErrCorrupt
		}
		last = term
		p.reset()
		if err := r.block.decode(&p, 0, g.Docs()); err != nil {
			return nil, err
		}
		for i, doc := range p.docs {
			sums[doc] += maphash.Comparable(digestSeed, TermFreq{term, p.freqs[i]})
		}
	}
	if r.err != nil {
		return nil, r.err
	}
	return sums, ctx.Err()
}

// headerDigest is the part of a digest that depends on what the header of a segment holds.
func headerDigest(a DocAttributes, length uint32) uint64 {
	sum := maphash.Comparable(digestSeed, struct {
		atlas, created, validUntil, group, position int64
		memoryType, status                          uint8
		verified                                    bool
		length                                      uint32
	}{a.Atlas, a.Created, a.ValidUntil, a.Group, a.Position, a.Type, a.Status, a.Verified, length})
	for _, tag := range a.Tags {
		sum += maphash.String(digestSeed, tag)
	}
	return sum
}

// SelectMerge chooses the segments to merge next from their numbers of live documents. A tier is a range of sizes that
// grows eightfold. SelectMerge returns the smallest segments, at most FanIn, of the lowest tier with at least
// minSegments of them. It returns nil if no tier has as many.
func SelectMerge(docs []int, minSegments int) []int {
	var tiers [tierCount][]int
	for i, n := range docs {
		t := tierOf(n)
		if t < tierCount {
			tiers[t] = append(tiers[t], i)
		}
	}
	for _, tier := range tiers {
		if len(tier) >= minSegments {
			slices.SortStableFunc(tier, func(a, b int) int { return docs[a] - docs[b] })
			pick := tier[:min(len(tier), FanIn)]
			slices.Sort(pick)
			return pick
		}
	}
	return nil
}

// Numbers of segments of one tier that are merged: FanIn while a workspace changes, IdleFanIn once it is idle. Each
// segment costs a search one look-up for each term. Each merge writes all documents again.
const (
	FanIn     = 8
	IdleFanIn = 3

	baseTierDocs = 64 // segments of the lowest tier have less than FanIn times as many
	tierCount    = 5  // segments of 2 Mi documents and more are not merged
)

func tierOf(docs int) int {
	t := 0
	for limit := baseTierDocs; docs >= limit*FanIn && t < tierCount; limit *= FanIn {
		t++
	}
	return t
}
