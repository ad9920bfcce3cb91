package search

import (
	"unicode/utf8"
)

// The shortest first and second part of a word that is two words in the texts, in
// characters.
const (
	leastFirst  = 3
	leastSecond = 2
)

// split finds two words, with a space between them, for an unknown word that is both of
// them written as one: "white box" for whitebox. Some document holds both; of several
// ways, that counts which most documents hold, then that with the longer first part.
func (d *dictionary) split(word string) (best string, ok bool, err error) {
	most := 0
	for at := range word {
		if utf8.RuneCountInString(word[:at]) < leastFirst || utf8.RuneCountInString(word[at:]) < leastSecond ||
			stopWords[word[:at]] || stopWords[word[at:]] {
			continue
		}
		n, err := d.holdBoth(word[:at], word[at:])
		if err != nil {
			return "", false, err
		}
		if n > 0 && n >= most {
			best, most = word[:at]+" "+word[at:], n
		}
	}
	return best, most > 0, nil
}

// holdBoth counts the live documents that hold two terms.
func (d *dictionary) holdBoth(a, b string) (n int, err error) {
	for _, s := range d.view.segments {
		first, err := d.documents(s, a)
		if err != nil {
			return 0, err
		}
		if len(first) == 0 {
			continue
		}
		second, err := d.documents(s, b)
		if err != nil {
			return 0, err
		}
		n += countBoth(first, second)
	}
	return n + countBoth(d.rows(a), d.rows(b)), nil
}

// documents lists the live documents of a segment that hold a term, in order.
func (d *dictionary) documents(g *Segment, term string) (list []uint32, err error) {
	d.reader.start(g, d.fetch, term, term)
	for d.reader.next() {
		d.hits.reset()
		if err = d.reader.block.decode(&d.hits, 0, g.docs()); err != nil {
			return nil, err
		}
		for _, doc := range d.hits.docs {
			if g.dead == nil || !isSet(g.dead, int(doc)) {
				list = append(list, doc)
			}
		}
	}
	return list, d.reader.err
}

// rows lists the unfolded rows that hold a term and live, in order.
func (d *dictionary) rows(term string) (list []uint32) {
	for _, p := range d.view.tail.postings(term) {
		if int(p.doc) < len(d.view.rows) && !isSet(d.view.dead, int(p.doc)) {
			list = append(list, p.doc)
		}
	}
	return list
}

// countBoth counts what two lists in order have in common.
func countBoth(a, b []uint32) (n int) {
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
