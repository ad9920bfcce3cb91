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
	readers  [2]PostingsReader // of CoDocFreq
}

// NewTermsReader returns a reader of a snapshot. It reads spelling dictionaries from the cache and pages by fetch.
func NewTermsReader(v *Snapshot, cache *Cache, fetch PageFetcher) *TermsReader {
	return &TermsReader{snapshot: v, cache: cache, fetch: fetch}
}

// EachTerm calls visit for all terms with one of the prefixes, which are not empty. It visits the blocks of segments in
// order, then the memtable in any order. A term of several blocks comes once for each. live counts the live documents
// of the block.
func (d *TermsReader) EachTerm(prefixes []string, visit func(term []byte, live func() (int, error)) error) error {
	for _, g := range d.snapshot.segments {
		live := func() (int, error) { return d.liveCount(g) }
		for _, p := range prefixes {
			d.iterator.seekRange(g, d.fetch, p, p+lastTerm)
			for d.iterator.next() {
				if err := visit(d.iterator.block.term, live); err != nil {
					return err
				}
			}
			if d.iterator.err != nil {
				return d.iterator.err
			}
		}
	}
	for _, p := range prefixes {
		var term string
		live := func() (int, error) { return d.snapshot.memtableDocFreq(term), nil }
		for _, term = range d.snapshot.memtable.termsWithPrefix(p) {
			if err := visit([]byte(term), live); err != nil {
				return err
			}
		}
	}
	return nil
}

// liveCount counts the live documents in the iterator's block.
func (d *TermsReader) liveCount(g *Segment) (n int, err error) {
	if g.deleted == nil {
		return d.iterator.block.count, nil
	}
	d.postings.reset()
	err = d.iterator.block.decode(&d.postings, 0, g.Docs())
	if err != nil {
		return 0, err
	}
	for _, doc := range d.postings.docs {
		if !isSet(g.deleted, int(doc)) {
			n++
		}
	}
	return n, nil
}

// segmentSpellingDict returns a dictionary of a segment with all words that have a prefix of one or two letters. The
// cache keeps dictionaries of one letter. A prefix of two letters that misses the cache gets a short dictionary, which
// is not cached.
func (d *TermsReader) segmentSpellingDict(g *Segment, prefix string) (*spellingDict, error) {
	letter, n := utf8.DecodeRuneInString(prefix)
	key := cacheKey{segment: g.id, letter: letter}
	if x := d.cache.entries.Get(key); x != nil {
		return x.dict, nil
	}
	l := &spellingDict{sorted: true}
	var last []byte
	d.iterator.seekRange(g, d.fetch, prefix, prefix+lastTerm)
	for d.iterator.next() {
		if term := d.iterator.block.term; !bytes.Equal(term, last) {
			l.add(term)
			last = append(last[:0], term...)
		}
	}
	if d.iterator.err != nil {
		return nil, d.iterator.err
	}
	if n == len(prefix) {
		d.cache.entries.Put(key, &cacheEntry{dict: l})
	}
	return l, nil
}

// SegmentTerm is a term of a segment, or of the memtable if the segment is nil.
type SegmentTerm struct {
	Term    string
	segment *Segment
}

// LiveDocFreq returns the number of live documents with a term in its segment or in the memtable.
func (d *TermsReader) LiveDocFreq(x SegmentTerm) (n int, err error) {
	if x.segment == nil {
		return d.snapshot.memtableDocFreq(x.Term), nil
	}
	d.iterator.seekRange(x.segment, d.fetch, x.Term, x.Term)
	for d.iterator.next() {
		live, err := d.liveCount(x.segment)
		if err != nil {
			return 0, err
		}
		n += live
	}
	return n, d.iterator.err
}

// DocFreq returns the number of live documents with a term.
func (d *TermsReader) DocFreq(term string) (int, error) {
	sum := d.snapshot.memtableDocFreq(term)
	for _, g := range d.snapshot.segments {
		n, err := d.LiveDocFreq(SegmentTerm{term, g})
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

// EachFuzzyMatch calls visit for the terms within MaxDistance of a matcher. visit may lower MaxDistance. For each
// prefix of the matcher, terms of segments come first, then those of the memtable.
func (d *TermsReader) EachFuzzyMatch(m *EditDistanceMatcher, visit func(t SegmentTerm, distance int) error) error {
	for _, prefix := range m.prefixes() {
		match := func(g *Segment, l *spellingDict) error {
			return l.eachFuzzyMatch(m, prefix, func(term []byte, distance int) error {
				return visit(SegmentTerm{string(term), g}, distance)
			})
		}
		for _, g := range d.snapshot.segments {
			l, err := d.segmentSpellingDict(g, prefix)
			if err == nil {
				err = match(g, l)
			}
			if err != nil {
				return err
			}
		}
		if err := match(nil, d.snapshot.memtable.spellingDict(prefix)); err != nil {
			return err
		}
	}
	return nil
}

// SegmentTerms returns each word as a term of the memtable and of every segment.
func (d *TermsReader) SegmentTerms(words []string) (list []SegmentTerm) {
	for _, w := range words {
		list = append(list, SegmentTerm{w, nil})
		for _, g := range d.snapshot.segments {
			list = append(list, SegmentTerm{w, g})
		}
	}
	return list
}

// CoDocFreq returns the number of live documents with both terms.
func (d *TermsReader) CoDocFreq(a, b string) (int, error) {
	for i, term := range []string{a, b} {
		r := &d.readers[i]
		if err := r.Read(d.snapshot, d.fetch, term); err != nil || len(r.Docs()) == 0 {
			return 0, err
		}
	}
	return intersectionSize(d.readers[0].Docs(), d.readers[1].Docs()), nil
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
