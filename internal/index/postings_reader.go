package index

import (
	"math"
	"math/bits"
	"slices"
	"sort"

	"github.com/loci-memory/loci/internal/analysis"
)

// A PostingsReader reads the postings of the live documents of a snapshot. Documents have ordinals over the whole
// snapshot. Each segment begins at a multiple of 64, and the rows of the memtable follow.
type PostingsReader struct {
	decoded  decodedPostings
	ends     []int // indexes into decoded, by segment
	iterator termIterator
	union    postingsUnion
}

// Docs returns the ordinals of the documents in ascending order.
func (r *PostingsReader) Docs() []uint32 { return r.decoded.docs }

// Freqs returns the term frequencies in these documents.
func (r *PostingsReader) Freqs() []uint8 { return r.decoded.freqs }

// SegmentEnds returns the end of the postings of each segment in Docs. Postings of the memtable follow.
func (r *PostingsReader) SegmentEnds() []int { return r.ends }

// Release drops the references to the snapshot, so that a pooled reader does not keep it alive.
func (r *PostingsReader) Release() { r.iterator = termIterator{} }

// Read replaces the postings by the union of those of some terms. There is at least one, and they are sorted.
func (r *PostingsReader) Read(s *Snapshot, fetch PageFetcher, terms ...string) error {
	r.decoded.reset()
	r.ends = r.ends[:0]
	base := 0
	for _, g := range s.segments {
		if err := r.readSegment(g, fetch, terms, base); err != nil {
			return err
		}
		r.ends = append(r.ends, len(r.decoded.docs))
		base += PadTo64(g.Docs())
	}
	r.readMemtable(s, terms, base)
	return nil
}

func (r *PostingsReader) readSegment(g *Segment, fetch PageFetcher, terms []string, base int) error {
	d := &r.decoded
	from := len(d.docs)
	r.iterator.seekRange(g, fetch, terms[0], terms[len(terms)-1])
	for r.iterator.next() {
		if _, found := slices.BinarySearch(terms, string(r.iterator.block.term)); !found {
			continue
		}
		if err := r.iterator.block.decode(d, uint32(base), g.Docs()); err != nil {
			return err
		}
	}
	if r.iterator.err != nil {
		return r.iterator.err
	}
	if len(terms) > 1 {
		r.union.mergeDuplicates(d, from, base, g.Docs())
	}
	if g.deleted == nil {
		return nil
	}
	to := from
	for i := from; i < len(d.docs); i++ {
		if !isSet(g.deleted, int(d.docs[i])-base) {
			d.docs[to], d.freqs[to] = d.docs[i], d.freqs[i]
			to++
		}
	}
	d.docs, d.freqs = d.docs[:to], d.freqs[:to]
	return nil
}

// readMemtable appends the live rows of the memtable with any of the terms.
func (r *PostingsReader) readMemtable(s *Snapshot, terms []string, base int) {
	d, from := &r.decoded, len(r.decoded.docs)
	for _, t := range terms {
		for _, p := range s.memtable.postings(t) {
			if int(p.doc) < len(s.rows) && !isSet(s.deleted, int(p.doc)) {
				d.docs, d.freqs = append(d.docs, uint32(base)+p.doc), append(d.freqs, p.freq)
			}
		}
	}
	if len(terms) > 1 {
		r.union.mergeDuplicates(d, from, base, len(s.rows))
	}
}

// PadTo64 rounds a number of documents up to a multiple of 64. So each segment has words of its own in a bit set.
func PadTo64(n int) int { return (n + 63) &^ 63 }

// A postingsUnion merges the postings of several terms.
type postingsUnion struct {
	freqs []uint8
	seen  []uint64
}

// mergeDuplicates merges the postings from position n on. The result is sorted by document. Each document has the sum
// of its frequencies, at most 255. Ordinals lie in [base, base+docs).
func (u *postingsUnion) mergeDuplicates(d *decodedPostings, n, base, docs int) {
	if len(u.freqs) < docs {
		u.freqs, u.seen = make([]uint8, PadTo64(docs)), make([]uint64, PadTo64(docs)/64)
	}
	for i := n; i < len(d.docs); i++ {
		doc := int(d.docs[i]) - base
		u.seen[doc/64] |= 1 << (doc % 64)
		u.freqs[doc] = uint8(min(int(u.freqs[doc])+int(d.freqs[i]), math.MaxUint8))
	}
	d.docs, d.freqs = d.docs[:n], d.freqs[:n]
	for i, w := range u.seen[:PadTo64(docs)/64] {
		u.seen[i] = 0
		for ; w != 0; w &= w - 1 {
			doc := i*64 + bits.TrailingZeros64(w)
			d.docs, d.freqs = append(d.docs, uint32(base+doc)), append(d.freqs, u.freqs[doc])
			u.freqs[doc] = 0
		}
	}
}

// termIterator iterates over the blocks of a range of terms in one segment, in order.
type termIterator struct {
	segment             *Segment
	fetch               PageFetcher
	firstTerm, lastTerm string // inclusive bounds of the range
	nextPage            int
	decoder             decoder
	block               postingsBlock
	termBuf             [analysis.MaxTermBytes]byte // backs block.term
	err                 error
}

// seekRange positions the iterator before a range of terms. For a single term it asks the Bloom filter first.
func (r *termIterator) seekRange(g *Segment, fetch PageFetcher, from, to string) {
	r.begin(g, fetch, from, to)
	if from == to && g.excludes(fetch, HashTerm(from)) {
		r.nextPage = len(g.pageFirstTerms)
	}
}

func (r *termIterator) begin(g *Segment, fetch PageFetcher, from, to string) {
	r.segment, r.fetch, r.firstTerm, r.lastTerm = g, fetch, from, to
	r.decoder, r.err = decoder{}, nil
	// The page before the first one that begins with the term may end with it.
	r.nextPage = max(sort.SearchStrings(g.pageFirstTerms, from)-1, 0)
}

// next reads the next block header. It returns false at the end or after an error.
func (r *termIterator) next() bool {
	for {
		for len(r.decoder.data) == 0 {
			if !r.advancePage() {
				return false
			}
		}
		if r.block.readHeader(&r.decoder); r.decoder.failed {
			r.err = ErrCorrupt
			return false
		}
		if string(r.block.term) > r.lastTerm {
			return false
		}
		if string(r.block.term) >= r.firstTerm {
			return true
		}
	}
}

// advancePage fetches the next page that may hold a term of the range.
func (r *termIterator) advancePage() bool {
	if r.nextPage >= len(r.segment.pageFirstTerms) || r.segment.pageFirstTerms[r.nextPage] > r.lastTerm {
		return false
	}
	page, err := r.fetch(r.segment.id, r.nextPage)
	shared := 0
	if err == nil {
		r.decoder, shared, err = seekBlock(page, r.firstTerm)
	}
	r.nextPage++
	r.block.term = append(r.termBuf[:0], r.firstTerm[:shared]...)
	r.err = err
	return err == nil
}

// lastTerm is greater than all terms, because no UTF-8 has the byte ff.
const lastTerm = "\xff"
