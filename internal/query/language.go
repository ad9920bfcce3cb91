package query

import (
	"slices"
	"unicode"
	"unicode/utf8"

	"github.com/loci-memory/loci/internal/analysis"
)

// languageStats counts features by which English queries are recognized.
type languageStats struct {
	words, stopWords, foreignMarkers int
	nonASCII, nonASCIILatin          int // words beyond ASCII; those of them in Latin letters
}

// observe counts a word of the query.
func (s *languageStats) observe(word []byte) {
	s.words++
	switch {
	case analysis.IsStopWord(string(word)):
		s.stopWords++
	case analysis.IsForeignMarker(string(word)):
		s.foreignMarkers++
	}
	if analysis.HasNonASCII(word) {
		s.nonASCII++
		if r, _ := utf8.DecodeRune(word); unicode.Is(unicode.Latin, r) {
			s.nonASCIILatin++
		}
	}
}

// expandsWords reports whether some words are expanded by prefix. Words beyond ASCII always are.
func (s *languageStats) expandsWords() bool { return s.nonASCII > 0 || s.expandsASCII() }

// expandsASCII reports whether the query is in another language with Latin letters. Then its words in ASCII are
// expanded as well. Such a query has a stop word of that language or several accents, and few English stop words. Names
// and lists of English words do not qualify.
func (s *languageStats) expandsASCII() bool {
	return (s.foreignMarkers > 0 || s.nonASCIILatin > 1) && 5*s.stopWords < s.words
}

// ambiguous reports whether the words do not decide about the language. All have Latin letters, none is a foreign stop
// word, and fewer than half are English stop words. Some of these, such as "in" and "an", are words of other languages
// too. The workspace decides: see resolveLanguage.
func (s *languageStats) ambiguous() bool {
	return !s.expandsASCII() && s.nonASCII == s.nonASCIILatin && 2*s.stopWords < s.words
}

// englishMarkers are frequent English words that hardly occur in other languages, with or without accents. "the" is
// Vietnamese too, "for" Danish, "of" Dutch, "to" Polish, "is" Turkish. Half of them are keywords of programming
// languages, because names in programs are English.
var englishMarkers = []string{"and", "with", "this", "from", "you", "if", "return", "true"}

// A workspace of fewer than minLanguageDocs memories does not decide. A workspace is English if the document
// frequencies of the markers add up to one for each docsPerEnglishMarker memories. Measured: a memory in another
// language has .06 of the first six markers at most. Code has .47 and more, and English sentences .93. English without
// articles, most prepositions and forms of "be" and "have" still has .15.
const (
	minLanguageDocs      = 8
	docsPerEnglishMarker = 8
)

// resolveLanguage treats an ambiguous query as one in another language if the workspace is not English.
func (v *vocabulary) resolveLanguage(q Query) (Query, error) {
	if !q.ambiguousLanguage || v.snapshot.LiveDocs() < minLanguageDocs {
		return q, nil
	}
	other := q
	other.expandsWords, other.expandsASCII = true, true
	if !slices.ContainsFunc(q.terms, func(t queryTerm) bool { return other.isExpandable(&t) }) {
		return q, nil
	}
	english, err := v.snapshot.IsEnglish(v.isEnglish)
	if english || err != nil {
		return q, err
	}
	if !q.expandsWords { // else Parse did
		other.weakenStopWords()
	}
	return other, nil
}

// isEnglish reports whether the workspace is English.
func (v *vocabulary) isEnglish() (bool, error) {
	sum := 0
	for _, w := range englishMarkers {
		n, err := v.DocFreq(w)
		if err != nil {
			return false, err
		}
		if sum += n; sum*docsPerEnglishMarker >= v.snapshot.LiveDocs() {
			return true, nil
		}
	}
	return false, nil
}
