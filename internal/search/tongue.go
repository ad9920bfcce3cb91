package search

import (
	"slices"
	"unicode"
	"unicode/utf8"
)

// tongue is what tells whether a query is English.
type tongue struct {
	words, stops, others int
	wide, accented       int // words beyond ASCII, and of them those in Latin letters
}

func (t *tongue) hear(word []byte) {
	t.words++
	switch {
	case stopWords[string(word)]:
		t.stops++
	case otherStopWords[string(word)]:
		t.others++
	}
	if beyondASCII(word) {
		t.wide++
		if r, _ := utf8.DecodeRune(word); unicode.Is(unicode.Latin, r) {
			t.accented++
		}
	}
}

// foreign reports a query in which some words stand for their families: those
// beyond ASCII, whatever stands beside them.
func (t *tongue) foreign() bool { return t.wide > 0 || t.latin() }

// latin reports a query in another language in Latin letters, whose words in ASCII
// do so too: it has stop words of one, or several accents, and hardly an English
// stop word. Names and lists of English words are not enough.
func (t *tongue) latin() bool {
	return (t.others > 0 || t.accented > 1) && 5*t.stops < t.words
}

// open reports a query whose words do not tell its language: all in spaces are in
// Latin letters, none is a stop word of another one, and fewer than half are English
// ones, which may be those of others ("in", "an"). The workspace tells: see settle.
func (t *tongue) open() bool { return !t.latin() && t.wide == t.accented && 2*t.stops < t.words }

// englishAlone are frequent words of English that hardly another language has, with
// or without its accents: "the" is Vietnamese too, "for" Danish, "of" Dutch, "to"
// Polish, "is" Turkish. Half of them are words of programming languages, because
// names in programs are English.
var englishAlone = []string{"and", "with", "this", "from", "you", "if", "return", "true"}

// A workspace of fewer memories tells nothing. One in which words of English alone
// stand less often than in one memory of so many is not English. Measured: the first
// six are held .06 times by a memory in another language at most, .47 times and more
// by code, .93 by English sentences, and still .15 without their articles, most
// prepositions and forms of "be" and "have".
const (
	leastTold   = 8
	englishOnce = 8
)

// settle takes an open query for one in another language where the workspace is not
// English.
func (v *View) settle(cache *Cache, fetch Fetch, q Query) (Query, error) {
	if !q.open || v.docs < leastTold {
		return q, nil
	}
	other := q
	other.foreign, other.latin = true, true
	if !slices.ContainsFunc(q.terms, func(t queryTerm) bool { return other.hasFamily(&t) }) {
		return q, nil
	}
	english, err := v.isEnglish(cache, fetch)
	if english || err != nil {
		return q, err
	}
	other.damp()
	return other, nil
}

// isEnglish reports whether the workspace is English. A view never changes, and neither does the answer.
func (v *View) isEnglish(cache *Cache, fetch Fetch) (bool, error) {
	if known := v.english.Load(); known != nil {
		return *known, nil
	}
	words := dictionary{view: v, cache: cache, fetch: fetch}
	english, err := words.english()
	if err == nil {
		v.english.Store(&english)
	}
	return english, err
}

// english reports whether the workspace is English. Which documents died is looked
// up only where it decides, because that takes reading all that hold a word.
func (d *dictionary) english() (bool, error) {
	enough := (d.view.docs + englishOnce - 1) / englishOnce
	least, most := 0, 0
	for _, w := range englishAlone {
		rows := d.view.liveRows(w)
		least, most = least+rows, most+rows
		for _, g := range d.view.segments {
			n, err := d.ever(g, w)
			if err != nil {
				return false, err
			}
			least, most = least+max(0, n-g.docs()+g.live), most+n
			if least >= enough {
				return true, nil
			}
		}
	}
	if most < enough {
		return false, nil
	}
	held := 0
	for _, x := range d.spelled(englishAlone) {
		n, err := d.holders(x)
		if err != nil {
			return false, err
		}
		held += n
	}
	return held >= enough, nil
}

// ever counts the documents of a segment that hold a word, living or dead.
func (d *dictionary) ever(g *Segment, word string) (n int, err error) {
	d.reader.start(g, d.fetch, word, word)
	for d.reader.next() {
		n += d.reader.block.count
	}
	return n, d.reader.err
}
