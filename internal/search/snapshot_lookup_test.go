package search

import "slices"

// What an index says of one memory, looked up by itself: searches need it not, and
// tests compare it with what the memory holds.

// matchedWords counts the query's words that a memory's document holds.
func (v *Snapshot) matchedWords(fetch PageFetcher, q Query, memory int64) (int, error) {
	n, last := 0, -1
	for _, t := range q.terms {
		if t.wordIndex == last {
			continue
		}
		ok, err := v.containsAny(fetch, memory, t)
		if err != nil {
			return 0, err
		}
		if ok {
			n, last = n+1, t.wordIndex
		}
	}
	return n, nil
}

// containsAny reports whether the memory's live document has the term, or any word
// of a family.
func (v *Snapshot) containsAny(fetch PageFetcher, memory int64, t queryTerm) (ok bool, err error) {
	if t.expansion == nil {
		return v.containsTerm(fetch, memory, t.text)
	}
	for _, w := range t.expansion.terms {
		if ok, err = v.containsTerm(fetch, memory, w); ok || err != nil {
			return ok, err
		}
	}
	return false, nil
}

// containsTerm reports whether the memory's live document has the term.
func (v *Snapshot) containsTerm(fetch PageFetcher, memory int64, term string) (bool, error) {
	for _, s := range v.segments {
		if doc, ok := s.ordinalOf(memory); ok && !isSet(s.deleted, doc) {
			return s.containsTerm(fetch, doc, term)
		}
	}
	for _, p := range v.memtable.postings(term) {
		row := int(p.doc)
		if row < len(v.rows) && v.rows[row].Memory == memory && !isSet(v.deleted, row) {
			return true, nil
		}
	}
	return false, nil
}

// containsTerm reports whether a document has a term.
func (s *Segment) containsTerm(fetch PageFetcher, doc int, term string) (bool, error) {
	var r termIterator
	var h decodedPostings
	r.seekRange(s, fetch, term, term)
	for r.next() && r.block.first <= uint64(doc) {
		h.reset()
		if err := r.block.decode(&h, 0, s.numDocs()); err != nil {
			return false, err
		}
		if _, ok := slices.BinarySearch(h.docs, uint32(doc)); ok {
			return true, nil
		}
	}
	return false, r.err
}
