package index

import (
	"bytes"
	"unicode/utf8"
)

// TermsReader looks up terms of a snapshot and their document frequencies. It is not safe for concurrent use.
type TermsReader struct {
	snapshot *Snapshot
	cache    *Cache
	fetch    PageFetcher
	iterator termIterator
	postings decodedPostings
	readers  *[2]PostingsReader // of CoDocFreq
}

// NewTermsReader returns a reader of a snapshot. It reads spelling dictionaries from the cache and pages by fetch.
func NewTermsReader(v *Snapshot, cache *Cache, fetch PageFetcher) *TermsReader {
	return &TermsReader{snapshot: v, cache: cache, fetch: fetch}
}

// EachTerm calls visit for all terms with one of the prefixes, which are not empty. It visits the blocks of segments in
// order, then the memtable in any order. A term of several blocks is visited once for each. live counts the live
// documents of the block.
func (r *TermsReader) EachTerm(prefixes []string, visit func(term []byte, live func() (int, error)) error) error {
	for _, g := range r.snapshot.segments {
		live := func() (int, error) { return r.liveCount(g) }
		for _, p := range prefixes {
			r.iterator.seekRange(g, r.fetch, p, p+lastTerm)
			for r.iterator.next() {
				if err := visit(r.iterator.block.term, live); err != nil {
					return err
				}
			}
			if r.iterator.err != nil {
				return r.iterator.err
			}
		}
	}
	for _, p := range prefixes {
		var term string
		live := func() (int, error) { return r.snapshot.memtableDocFreq(term), nil }
		for _, term = range r.snapshot.memtable.termsWithPrefix(p) {
			if err := visit([]byte(term), live); err != nil {
				return err
			}
		}
	}
	return nil
}

// liveCount counts the live documents in the iterator's block.
func (r *TermsReader) liveCount(g *Segment) (n int, err error) {
	if g.deleted == nil {
		return r.iterator.block.count, nil
	}
	r.postings.reset()
	err = r.iterator.block.decode(&r.postings, 0, g.Docs())
	if err != nil {
		return 0, err
	}
	for _, doc := range r.postings.docs {
		if !isSet(g.deleted, int(doc)) {
			n++
		}
	}
	return n, nil
}

// segmentSpellingDict returns a dictionary of a segment with all words that have a prefix of one or two letters. The
// cache keeps dictionaries of one letter. A prefix of two letters that misses the cache gets a short dictionary, which
// is not cached.
func (r *TermsReader) segmentSpellingDict(g *Segment, prefix string) (*spellingDict, error) {
	letter, n := utf8.DecodeRuneInString(prefix)
	key := cacheKey{segment: g.id, letter: letter}
	if x := r.cache.entries.Get(key); x != nil {
		return x.dict, nil
	}
	dict := &spellingDict{sorted: true}
	var last []byte
	r.iterator.seekRange(g, r.fetch, prefix, prefix+lastTerm)
	for r.iterator.next() {
		if term := r.iterator.block.term; !bytes.Equal(term, last) {
			dict.add(term)
			last = append(last[:0], term...)
		}
	}
	if r.iterator.err != nil {
		return nil, r.iterator.err
	}
	if n == len(prefix) {
		r.cache.entries.Put(key, &cacheEntry{dict: dict})
	}
	return dict, nil
}

// SegmentTerm is a term of a segment, or of the memtable if the segment is nil.
type SegmentTerm struct {
	Term    string
	segment *Segment
}

// LiveDocFreq returns the number of live documents with a term in its segment or in the memtable.
func (r *TermsReader) LiveDocFreq(x SegmentTerm) (n int, err error) {
	if x.segment == nil {
		return r.snapshot.memtableDocFreq(x.Term), nil
	}
	r.iterator.seekRange(x.segment, r.fetch, x.Term, x.Term)
	for r.iterator.next() {
		live, err := r.liveCount(x.segment)
		if err != nil {
			return 0, err
		}
		n += live
	}
	return n, r.iterator.err
}

// DocFreq returns the number of live documents with a term.
func (r *TermsReader) DocFreq(term string) (int, error) {
	sum := r.snapshot.memtableDocFreq(term)
	for _, g := range r.snapshot.segments {
		n, err := r.LiveDocFreq(SegmentTerm{term, g})
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}

// memtableDocFreq returns the number of live rows of the memtable with a term.
func (v *Snapshot) memtableDocFreq(term string) (n int) {
	for _, p := range v.memtable.postings(term) {
		if int(p.doc) < len(v.rows) && !isSet(v.deleted, int(p.doc)) {
			n++
		}
	}
	return n
}

// EachFuzzyMatch calls visit for the words within MaxDistance that begin with a prefix of the matcher. visit may lower
// MaxDistance. For each prefix, terms of segments precede those of the memtable.
func (r *TermsReader) EachFuzzyMatch(m *EditDistanceMatcher, visit func(t SegmentTerm, distance int) error) error {
	for _, prefix := range m.prefixes() {
		match := func(g *Segment, dict *spellingDict) error {
			return dict.eachFuzzyMatch(m, prefix, func(term []byte, distance int) error {
				return visit(SegmentTerm{string(term), g}, distance)
			})
		}
		for _, g := range r.snapshot.segments {
			dict, err := r.segmentSpellingDict(g, prefix)
			if err == nil {
				err = match(g, dict)
			}
			if err != nil {
				return err
			}
		}
		if err := match(nil, r.snapshot.memtable.spellingDict(prefix)); err != nil {
			return err
		}
	}
	return nil
}

// SegmentTerms returns each word as a term of the memtable and of every segment.
func (r *TermsReader) SegmentTerms(words []string) (list []SegmentTerm) {
	for _, w := range words {
		list = append(list, SegmentTerm{w, nil})
		for _, g := range r.snapshot.segments {
			list = append(list, SegmentTerm{w, g})
		}
	}
	return list
}

// CoDocFreq returns the number of live documents with both terms.
func (r *TermsReader) CoDocFreq(a, b string) (int, error) {
	if r.readers == nil {
		r.readers = new([2]PostingsReader)
	}
	for i, term := range []string{a, b} {
		reader := &r.readers[i]
		if err := reader.Read(r.snapshot, r.fetch, term); err != nil || len(reader.Docs()) == 0 {
			return 0, err
		}
	}
	return intersectionSize(r.readers[0].Docs(), r.readers[1].Docs()), nil
}

// intersectionSize returns the number of common elements of two sorted lists.
func intersectionSize(a, b []uint32) (n int) {
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0] < b[0]:
			a = a[1:]
		case a[0] > b[0]:
			b = b[1:]
		default:
			n, a, b = n+1, a[1:], b[1:]
		}
	}
	return n
}
