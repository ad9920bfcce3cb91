package search

import "slices"

// What an index says of one memory, looked up by itself: searches need it not, and
// tests compare it with what the memory holds.

// covered counts the query's words that a memory's document holds.
func (v *View) covered(fetch Fetch, q Query, memory int64) (int, error) {
	n, last := 0, -1
	for _, t := range q.terms {
		if t.group == last {
			continue
		}
		ok, err := v.holdsAny(fetch, memory, t)
		if err != nil {
			return 0, err
		}
		if ok {
			n, last = n+1, t.group
		}
	}
	return n, nil
}

// holdsAny reports whether the memory's live document has the term, or any word
// of a family.
func (v *View) holdsAny(fetch Fetch, memory int64, t queryTerm) (ok bool, err error) {
	if t.kin == nil {
		return v.holds(fetch, memory, t.text)
	}
	for _, w := range t.kin.words {
		if ok, err = v.holds(fetch, memory, w); ok || err != nil {
			return ok, err
		}
	}
	return false, nil
}

// holds reports whether the memory's live document has the term.
func (v *View) holds(fetch Fetch, memory int64, term string) (bool, error) {
	for _, s := range v.segments {
		if doc, ok := s.find(memory); ok && !isSet(s.dead, doc) {
			return s.holds(fetch, doc, term)
		}
	}
	for _, p := range v.tail.postings(term) {
		row := int(p.doc)
		if row < len(v.rows) && v.rows[row].Memory == memory && !isSet(v.dead, row) {
			return true, nil
		}
	}
	return false, nil
}

// holds reports whether a document has a term.
func (s *Segment) holds(fetch Fetch, doc int, term string) (bool, error) {
	var r reader
	var h hits
	r.start(s, fetch, term, term)
	for r.next() && r.block.first <= uint64(doc) {
		h.reset()
		if err := r.block.decode(&h, 0, s.docs()); err != nil {
			return false, err
		}
		if _, ok := slices.BinarySearch(h.docs, uint32(doc)); ok {
			return true, nil
		}
	}
	return false, r.err
}
