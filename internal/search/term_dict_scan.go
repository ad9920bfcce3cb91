package search

import (
	"bytes"
	"unicode/utf8"
)

// termDictScanner goes through the words of a view: of terms that are letters alone,
// since the index does not tell words from other terms.
type termDictScanner struct {
	snapshot           *Snapshot
	cache              *Cache
	fetch              PageFetcher
	iterator           termIterator
	postings           decodedPostings
	firstLetterLookups int // words of which the first letter was doubted: see repair.go
}

// eachTerm calls take for the blocks of all terms that begin with one of the prefixes,
// in each segment in order, then for the unfolded rows, in any order. live counts
// the documents of the block that live.
func (d *termDictScanner) eachTerm(prefixes []string, take func(term []byte, live func() (int, error)) error) error {
	for _, g := range d.snapshot.segments {
		live := func() (int, error) { return d.liveCount(g) }
		for _, p := range prefixes {
			d.iterator.seekRange(g, d.fetch, p, prefixUpperBound(p))
			for d.iterator.next() {
				if err := take(d.iterator.block.term, live); err != nil {
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
			if err := take([]byte(term), live); err != nil {
				return err
			}
		}
	}
	return nil
}

// liveCount counts the documents of the reader's block that live.
func (d *termDictScanner) liveCount(g *Segment) (n int, err error) {
	if g.deleted == nil {
		return d.iterator.block.count, nil
	}
	d.postings.reset()
	err = d.iterator.block.decode(&d.postings, 0, g.numDocs())
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

// eachTermDict calls take with the lists of words of each segment, and with no segment
// that of the unfolded rows, in which all are that begin with a prefix.
func (d *termDictScanner) eachTermDict(prefix string, take func(*Segment, *termDict) error) error {
	for _, g := range d.snapshot.segments {
		l, err := d.segmentTermDict(g, prefix)
		if err != nil {
			return err
		}
		if err := take(g, l); err != nil {
			return err
		}
	}
	letter, _ := utf8.DecodeRuneInString(prefix)
	return take(nil, d.snapshot.memtable.termDictFor(letter))
}

// segmentTermDict is the list of the words of a segment in which all are that begin with a
// prefix. The cache keeps those of one letter; where it has none, a prefix of two
// gets a short list that is not worth keeping.
func (d *termDictScanner) segmentTermDict(g *Segment, prefix string) (*termDict, error) {
	letter, n := utf8.DecodeRuneInString(prefix)
	if l, ok := d.cache.termDict(g.id, letter); ok {
		return l, nil
	}
	dict := termDictPool.Get().(*termDict)
	defer termDictPool.Put(dict)
	dict.reset()
	var last []byte
	d.iterator.seekRange(g, d.fetch, prefix, prefixUpperBound(prefix))
	for d.iterator.next() {
		if term := d.iterator.block.term; !bytes.Equal(term, last) {
			dict.add(term)
			last = append(last[:0], term...)
		}
	}
	if d.iterator.err != nil {
		return nil, d.iterator.err
	}
	l := dict.clone()
	if n == len(prefix) {
		d.cache.putTermDict(g.id, letter, l)
	}
	return l, nil
}

// segmentTerm is a word of a segment, or of the unfolded rows if that is nil.
type segmentTerm struct {
	term    string
	segment *Segment
}

// liveDocFreq counts the live documents that hold a word where it was found.
func (d *termDictScanner) liveDocFreq(x segmentTerm) (n int, err error) {
	if x.segment == nil {
		return d.snapshot.memtableDocFreq(x.term), nil
	}
	d.iterator.seekRange(x.segment, d.fetch, x.term, x.term)
	for d.iterator.next() {
		live, err := d.liveCount(x.segment)
		if err != nil {
			return 0, err
		}
		n += live
	}
	return n, d.iterator.err
}

// docFreq counts the live documents that hold a term.
func (d *termDictScanner) docFreq(term string) (int, error) {
	sum := d.snapshot.memtableDocFreq(term)
	for _, g := range d.snapshot.segments {
		n, err := d.liveDocFreq(segmentTerm{term, g})
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}

// containsTerm reports whether a live document holds a term.
func (d *termDictScanner) containsTerm(term string) (bool, error) {
	for _, g := range d.snapshot.segments {
		d.iterator.seekRange(g, d.fetch, term, term)
		for d.iterator.next() {
			if n, err := d.liveCount(g); n > 0 || err != nil {
				return n > 0, err
			}
		}
		if d.iterator.err != nil {
			return false, d.iterator.err
		}
	}
	return d.snapshot.memtableDocFreq(term) > 0, nil
}

// memtableDocFreq counts the unfolded rows that hold a term and live.
func (v *Snapshot) memtableDocFreq(term string) (n int) {
	for _, p := range v.memtable.postings(term) {
		if int(p.doc) >= len(v.rows) {
			break
		}
		if !isSet(v.deleted, int(p.doc)) {
			n++
		}
	}
	return n
}
