package search

import (
	"unicode/utf8"

	"github.com/loci-memory/loci/internal/analysis"
)

// The shortest first and second part of a word that is two words in the texts, in
// characters.
const (
	minFirstPart  = 3
	minSecondPart = 2
)

// breakWord finds two words, with a space between them, for an unknown word that is both of
// them written as one: "white box" for whitebox. Some document holds both; of several
// ways, that counts which most documents hold, then that with the longer first part.
func (d *termDictScanner) breakWord(word string) (best string, ok bool, err error) {
	most := 0
	for at := range word {
		if utf8.RuneCountInString(word[:at]) < minFirstPart || utf8.RuneCountInString(word[at:]) < minSecondPart ||
			analysis.IsStopWord(word[:at]) || analysis.IsStopWord(word[at:]) {
			continue
		}
		n, err := d.coDocFreq(word[:at], word[at:])
		if err != nil {
			return "", false, err
		}
		if n > 0 && n >= most {
			best, most = word[:at]+" "+word[at:], n
		}
	}
	return best, most > 0, nil
}

// coDocFreq counts the live documents that hold two terms.
func (d *termDictScanner) coDocFreq(a, b string) (n int, err error) {
	for _, s := range d.snapshot.segments {
		first, err := d.liveDocs(s, a)
		if err != nil {
			return 0, err
		}
		if len(first) == 0 {
			continue
		}
		second, err := d.liveDocs(s, b)
		if err != nil {
			return 0, err
		}
		n += intersectionSize(first, second)
	}
	return n + intersectionSize(d.liveRows(a), d.liveRows(b)), nil
}

// liveDocs lists the live documents of a segment that hold a term, in order.
func (d *termDictScanner) liveDocs(g *Segment, term string) (list []uint32, err error) {
	d.iterator.seekRange(g, d.fetch, term, term)
	for d.iterator.next() {
		d.postings.reset()
		if err = d.iterator.block.decode(&d.postings, 0, g.numDocs()); err != nil {
			return nil, err
		}
		for _, doc := range d.postings.docs {
			if g.deleted == nil || !isSet(g.deleted, int(doc)) {
				list = append(list, doc)
			}
		}
	}
	return list, d.iterator.err
}

// liveRows lists the unfolded rows that hold a term and live, in order.
func (d *termDictScanner) liveRows(term string) (list []uint32) {
	for _, p := range d.snapshot.memtable.postings(term) {
		if int(p.doc) < len(d.snapshot.rows) && !isSet(d.snapshot.deleted, int(p.doc)) {
			list = append(list, p.doc)
		}
	}
	return list
}

// intersectionSize counts what two lists in order have in common.
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
