package index

import (
	"sort"

	"github.com/loci-memory/loci/internal/analysis"
)

// termIterator goes through the blocks of a range of terms in one segment, in order.
type termIterator struct {
	segment             *Segment
	fetch               PageFetcher
	firstTerm, lastTerm string // the first term and the last, or what would be that
	nextPage            int
	decoder             decoder
	block               postingsBlock
	termBuf             [analysis.MaxTermBytes]byte // of block.term
	err                 error
}

// seekRange goes to a range of terms. Of one term that the segment lacks it reads nothing.
func (r *termIterator) seekRange(s *Segment, fetch PageFetcher, from, to string) {
	r.begin(s, fetch, from, to)
	if from == to && s.lacks(fetch, from) {
		r.nextPage = len(s.pageFirstTerms)
	}
}

func (r *termIterator) begin(s *Segment, fetch PageFetcher, from, to string) {
	r.segment, r.fetch, r.firstTerm, r.lastTerm = s, fetch, from, to
	r.decoder, r.err = decoder{}, nil
	// The page before the first that begins with the term may end with it.
	r.nextPage = max(sort.SearchStrings(s.pageFirstTerms, from)-1, 0)
}

// next reads a block header; false at the end or with err.
func (r *termIterator) next() bool {
	for {
		if len(r.decoder.data) == 0 && !r.advancePage() {
			return false
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

// advancePage goes to the next page that may hold one of the terms.
func (r *termIterator) advancePage() bool {
	if r.nextPage >= len(r.segment.pageFirstTerms) || r.segment.pageFirstTerms[r.nextPage] > r.lastTerm {
		return false
	}
	page, err := r.fetch(r.segment.id, r.nextPage)
	if err == nil {
		r.decoder, err = seekBlock(page, r.firstTerm)
	}
	r.nextPage++
	r.block.term = r.termBuf[:0]
	r.err = err
	return err == nil && len(r.decoder.data) > 0
}

// PrefixUpperBound comes after all terms that begin with a prefix: no UTF-8 has its byte.
func PrefixUpperBound(prefix string) string { return prefix + "\xff" }
