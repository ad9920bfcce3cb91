package search

import (
	"bytes"
	"unicode/utf8"
)

// dictionary goes through the words of a view: of terms that are letters alone,
// since the index does not tell words from other terms.
type dictionary struct {
	view   *View
	cache  *Cache
	fetch  Fetch
	reader reader
	hits   hits
	firsts int // words of which the first letter was doubted: see repair.go
}

// each calls take for the blocks of all terms that begin with one of the prefixes,
// in each segment in order, then for the unfolded rows, in any order. live counts
// the documents of the block that live.
func (d *dictionary) each(prefixes []string, take func(term []byte, live func() (int, error)) error) error {
	for _, g := range d.view.segments {
		live := func() (int, error) { return d.live(g) }
		for _, p := range prefixes {
			d.reader.start(g, d.fetch, p, lastOf(p))
			for d.reader.next() {
				if err := take(d.reader.block.term, live); err != nil {
					return err
				}
			}
			if d.reader.err != nil {
				return d.reader.err
			}
		}
	}
	for _, p := range prefixes {
		var term string
		live := func() (int, error) { return d.view.liveRows(term), nil }
		for _, term = range d.view.tail.begin(p) {
			if err := take([]byte(term), live); err != nil {
				return err
			}
		}
	}
	return nil
}

// live counts the documents of the reader's block that live.
func (d *dictionary) live(g *Segment) (n int, err error) {
	if g.dead == nil {
		return d.reader.block.count, nil
	}
	d.hits.reset()
	err = d.reader.block.decode(&d.hits, 0, g.docs())
	if err != nil {
		return 0, err
	}
	for _, doc := range d.hits.docs {
		if !isSet(g.dead, int(doc)) {
			n++
		}
	}
	return n, nil
}

// words calls take with the lists of words of each segment, and with no segment
// that of the unfolded rows, in which all are that begin with a prefix.
func (d *dictionary) words(prefix string, take func(*Segment, *wordlist) error) error {
	for _, g := range d.view.segments {
		l, err := d.list(g, prefix)
		if err != nil {
			return err
		}
		if err := take(g, l); err != nil {
			return err
		}
	}
	letter, _ := utf8.DecodeRuneInString(prefix)
	return take(nil, d.view.tail.words(letter))
}

// list is the list of the words of a segment in which all are that begin with a
// prefix. The cache keeps those of one letter; where it has none, a prefix of two
// gets a short list that is not worth keeping.
func (d *dictionary) list(g *Segment, prefix string) (*wordlist, error) {
	letter, n := utf8.DecodeRuneInString(prefix)
	if l, ok := d.cache.words(g.id, letter); ok {
		return l, nil
	}
	draft := drafts.Get().(*wordlist)
	defer drafts.Put(draft)
	draft.clear()
	var last []byte
	d.reader.start(g, d.fetch, prefix, lastOf(prefix))
	for d.reader.next() {
		if term := d.reader.block.term; !bytes.Equal(term, last) {
			draft.add(term)
			last = append(last[:0], term...)
		}
	}
	if d.reader.err != nil {
		return nil, d.reader.err
	}
	l := draft.copy()
	if n == len(prefix) {
		d.cache.keep(g.id, letter, l)
	}
	return l, nil
}

// spelling is a word of a segment, or of the unfolded rows if that is nil.
type spelling struct {
	term string
	in   *Segment
}

// holders counts the live documents that hold a word where it was found.
func (d *dictionary) holders(x spelling) (n int, err error) {
	if x.in == nil {
		return d.view.liveRows(x.term), nil
	}
	d.reader.start(x.in, d.fetch, x.term, x.term)
	for d.reader.next() {
		live, err := d.live(x.in)
		if err != nil {
			return 0, err
		}
		n += live
	}
	return n, d.reader.err
}

// count counts the live documents that hold a term.
func (d *dictionary) count(term string) (int, error) {
	sum := d.view.liveRows(term)
	for _, g := range d.view.segments {
		n, err := d.holders(spelling{term, g})
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}

// knows reports whether a live document holds a term.
func (d *dictionary) knows(term string) (bool, error) {
	for _, g := range d.view.segments {
		d.reader.start(g, d.fetch, term, term)
		for d.reader.next() {
			if n, err := d.live(g); n > 0 || err != nil {
				return n > 0, err
			}
		}
		if d.reader.err != nil {
			return false, d.reader.err
		}
	}
	return d.view.liveRows(term) > 0, nil
}

// liveRows counts the unfolded rows that hold a term and live.
func (v *View) liveRows(term string) (n int) {
	for _, p := range v.tail.postings(term) {
		if int(p.doc) >= len(v.rows) {
			break
		}
		if !isSet(v.dead, int(p.doc)) {
			n++
		}
	}
	return n
}
