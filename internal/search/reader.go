package search

import "sort"

// reader goes through the blocks of a range of terms in one segment, in order.
type reader struct {
	segment  *Segment
	fetch    Fetch
	from, to string // the first term and the last, or what would be that
	page     int
	rest     cursor
	block    block
	store    [maxTerm]byte // of block.term
	err      error
}

// start goes to a range of terms. Of one term that the segment lacks it reads nothing.
func (r *reader) start(s *Segment, fetch Fetch, from, to string) {
	r.begin(s, fetch, from, to)
	if from == to && s.lacks(fetch, from) {
		r.page = len(s.pages)
	}
}

func (r *reader) begin(s *Segment, fetch Fetch, from, to string) {
	r.segment, r.fetch, r.from, r.to = s, fetch, from, to
	r.rest, r.err = cursor{}, nil
	// The page before the first that begins with the term may end with it.
	r.page = max(sort.SearchStrings(s.pages, from)-1, 0)
}

// next reads a block header; false at the end or with err.
func (r *reader) next() bool {
	for {
		if len(r.rest.data) == 0 && !r.turn() {
			return false
		}
		if r.block.next(&r.rest); r.rest.bad {
			r.err = ErrCorrupt
			return false
		}
		if string(r.block.term) > r.to {
			return false
		}
		if string(r.block.term) >= r.from {
			return true
		}
	}
}

// turn goes to the next page that may hold one of the terms.
func (r *reader) turn() bool {
	if r.page >= len(r.segment.pages) || r.segment.pages[r.page] > r.to {
		return false
	}
	page, err := r.fetch(r.segment.id, r.page)
	if err == nil {
		r.rest, err = seek(page, r.from)
	}
	r.page++
	r.block.term = r.store[:0]
	r.err = err
	return err == nil && len(r.rest.data) > 0
}
