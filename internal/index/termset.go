package index

import "hash/maphash"

// A termSet tells which terms a small segment cannot hold: a Bloom filter (Space/time trade-offs in hash coding
// with allowable errors, 1970) whose bits of a term are all in one word. A search of a thousand workspaces looks up
// most words where they are not, and a look at a page of postings costs some thirty times as much.
type termSet []uint64

// setPages is of how many pages a segment has a term set at most.
const setPages = 8

// newTermSet makes a set that has a byte for each term: of terms that are not there, some four in a hundred pass.
func newTermSet(terms int) termSet { return make(termSet, (terms+7)/8) }

// bits returns the word of a term and its bits there.
func (s termSet) bits(hash uint64) (at int, mask uint64) {
	mask = 1<<(hash&63) | 1<<(hash>>6&63) | 1<<(hash>>12&63)
	return int((hash >> 32) * uint64(len(s)) >> 32), mask
}

func (s termSet) add(term []byte) {
	at, mask := s.bits(maphash.Bytes(hashSeed, term))
	s[at] |= mask
}

func (s termSet) mayHold(term string) bool {
	at, mask := s.bits(maphash.String(hashSeed, term))
	return s[at]&mask == mask
}

// lacks reports a term that the segment cannot hold. The set is made when it is wanted first, of all pages; while
// one of them cannot be read there is none.
func (s *Segment) lacks(fetch PageFetcher, term string) bool {
	if len(s.pageFirstTerms) > setPages {
		return false
	}
	set := s.set.Load()
	if set == nil {
		var r termIterator
		made := newTermSet(max(1, min(s.termCount, setPages*pageBytes)))
		for r.begin(s, fetch, "", "\xff"); r.next(); {
			made.add(r.block.term)
		}
		if r.err != nil {
			return false
		}
		set = &made
		s.set.Store(set)
	}
	return !set.mayHold(term)
}
