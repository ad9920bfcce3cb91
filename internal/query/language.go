package query

import (
	"slices"
	"unicode"
	"unicode/utf8"

	"github.com/loci-memory/loci/internal/analysis"
	"github.com/loci-memory/loci/internal/index"
)

// languageStats is what tells whether a query is English.
type languageStats struct {
	words, stopWords, otherStopWords int
	nonASCII, accented               int // words beyond ASCII, and of them those in Latin letters
}

func (t *languageStats) observe(word []byte) {
	t.words++
	switch {
	case analysis.IsStopWord(string(word)):
		t.stopWords++
	case analysis.IsForeignStopWord(string(word)):
		t.otherStopWords++
	}
	if analysis.HasNonASCII(word) {
		t.nonASCII++
		if r, _ := utf8.DecodeRune(word); unicode.Is(unicode.Latin, r) {
			t.accented++
		}
	}
}

// nonEnglish reports a query in which some words stand for their families: those
// beyond ASCII, whatever stands beside them.
func (t *languageStats) nonEnglish() bool { return t.nonASCII > 0 || t.nonEnglishLatin() }

// nonEnglishLatin reports a query in another language in Latin letters, whose words in ASCII
// do so too: it has stop words of one, or several accents, and hardly an English
// stop word. Names and lists of English words are not enough.
func (t *languageStats) nonEnglishLatin() bool {
	return (t.otherStopWords > 0 || t.accented > 1) && 5*t.stopWords < t.words
}

// ambiguous reports a query whose words do not tell its language: all in spaces are in
// Latin letters, none is a stop word of another one, and fewer than half are English
// ones, which may be those of others ("in", "an"). The workspace tells: see settle.
func (t *languageStats) ambiguous() bool {
	return !t.nonEnglishLatin() && t.nonASCII == t.accented && 2*t.stopWords < t.words
}

// englishMarkers are frequent words of English that hardly another language has, with
// or without its accents: "the" is Vietnamese too, "for" Danish, "of" Dutch, "to"
// Polish, "is" Turkish. Half of them are words of programming languages, because
// names in programs are English.
var englishMarkers = []string{"and", "with", "this", "from", "you", "if", "return", "true"}

// A workspace of fewer memories tells nothing. One in which words of English alone
// stand less often than in one memory of so many is not English. Measured: the first
// six are held .06 times by a memory in another language at most, .47 times and more
// by code, .93 by English sentences, and still .15 without their articles, most
// prepositions and forms of "be" and "have".
const (
	minLanguageDocs      = 8
	docsPerEnglishMarker = 8
)

// resolveLanguage takes an open query for one in another language where the workspace is not
// English.
func resolveLanguage(v *index.Snapshot, cache *index.Cache, fetch index.PageFetcher, q Query) (Query, error) {
	if !q.ambiguousLanguage || v.Docs() < minLanguageDocs {
		return q, nil
	}
	other := q
	other.nonEnglish, other.nonEnglishLatin = true, true
	if !slices.ContainsFunc(q.terms, func(t queryTerm) bool { return other.isExpandable(&t) }) {
		return q, nil
	}
	words := newVocabulary(v, cache, fetch)
	english, err := v.English(words.isEnglish)
	if english || err != nil {
		return q, err
	}
	other.weakenStopWords()
	return other, nil
}

// isEnglish reports whether the workspace is English. The tombstones are read only where they decide, because that
// reads all postings of a word.
func (d *vocabulary) isEnglish() (bool, error) {
	enough := (d.snapshot.Docs() + docsPerEnglishMarker - 1) / docsPerEnglishMarker
	least, most := 0, 0
	for _, w := range englishMarkers {
		low, high, err := d.DocFreqBounds(w)
		if err != nil {
			return false, err
		}
		if least, most = least+low, most+high; least >= enough {
			return true, nil
		}
	}
	if most < enough {
		return false, nil
	}
	held := 0
	for _, w := range englishMarkers {
		n, err := d.DocFreq(w)
		if err != nil {
			return false, err
		}
		held += n
	}
	return held >= enough, nil
}
