package query

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/loci-memory/loci/internal/analysis"
	"github.com/loci-memory/loci/internal/index"
)

// Limits of spelling correction. A word of at least minMisspelledRunes characters may be corrected. At most
// maxCorrections words of a query are, which bounds the time. For maxFirstLetterLookups of them another first letter is
// tried, which takes some fifty look-ups, or .3 ms among 100,000 memories. Measured with one typo a query: with a
// minimum of 3, results are as good. With 5, code loses .013, and sessions lose .004.
const (
	minMisspelledRunes    = 4
	maxCorrections        = 6
	maxFirstLetterLookups = 2
)

// correctionWeight is the weight of a corrected word. It is below 1, because the correction may be wrong. Measured with
// one typo a query: at .6, conversations lose .006 and code .004. At 1, documentation gains .003.
const correctionWeight = .8

// mayBeMisspelled reports whether a term of a query may be a misspelled word.
func mayBeMisspelled(t *queryTerm) bool {
	n := utf8.RuneCountInString(t.text)
	return t.tokenType == analysis.Word && !t.verbatim && n >= minMisspelledRunes && n <= index.MaxMisspelledRunes &&
		!strings.ContainsAny(t.text, "0123456789") && !isCommonWord(t.text)
}

// MisspellingCandidates returns the words that are corrected in a workspace without them.
func (q Query) MisspellingCandidates() (words []string) {
	for _, at := range q.firstTerm {
		if mayBeMisspelled(&q.terms[at]) {
			words = append(words, q.terms[at].text)
		}
	}
	return words
}

// CorrectOnly returns the query with corrections limited to some words.
func (q Query) CorrectOnly(words []string) Query {
	q.limitCorrections, q.correctable = true, words
	return q
}

// trusts reports whether a word is never corrected.
func (q *Query) trusts(word string) bool {
	return q.limitCorrections && !slices.Contains(q.correctable, word)
}

// UnknownWords removes from a list the words with a form that occurs in the workspace. The result r is that of q.
func (r Result) UnknownWords(q Query, words []string) []string {
	known := slices.Clone(q.ignored)
	for i, weight := range r.idf {
		shared, ok := q.termIndex[q.terms[i].sharedForm]
		if weight > 0 || ok && r.idf[shared] > 0 {
			known = append(known, q.terms[q.firstTerm[q.terms[i].wordIndex]].text)
		}
	}
	return slices.DeleteFunc(words, func(w string) bool { return slices.Contains(known, w) })
}

// A Correction is a misspelled word of a query and its replacement.
type Correction struct{ From, To string }

// A vocabulary looks up the terms of a snapshot for one query.
type vocabulary struct {
	*index.TermsReader
	snapshot           *index.Snapshot
	firstLetterLookups int // words for which another first letter was tried
}

func newVocabulary(v *index.Snapshot, cache *index.Cache, fetch index.PageFetcher) *vocabulary {
	return &vocabulary{TermsReader: index.NewTermsReader(v, cache, fetch), snapshot: v}
}

// contains reports whether a live document has a term.
func (v *vocabulary) contains(term string) (bool, error) {
	n, err := v.DocFreq(term)
	return n > 0, err
}

// corrections returns the corrections of unknown words.
func (v *vocabulary) corrections(words []string) (list []Correction, err error) {
	for _, w := range words {
		x, ok, err := v.breakWord(w)
		if err == nil && !ok {
			x, ok, err = v.nearestTerm(w)
		}
		if err != nil {
			return nil, err
		}
		if ok {
			list = append(list, Correction{w, x})
		}
	}
	return list, nil
}

// nearestTerm returns the most likely correction of an unknown word. It is the term at the least edit distance, then
// the most frequent, then the first in order. Most typists get the first letter right, or swap it with the second. Only
// if no such term is near enough, other first letters are tried: see firstLetterVariants.
func (v *vocabulary) nearestTerm(word string) (string, bool, error) {
	s := index.NewEditDistanceMatcher(word)
	var found []index.SegmentTerm // at s.MaxDistance; if it was lowered, one has a live document
	err := v.EachFuzzyMatch(s, func(x index.SegmentTerm, distance int) error {
		if distance < s.MaxDistance {
			if n, err := v.LiveDocFreq(x); n == 0 || err != nil {
				return err
			}
			if ok, err := v.isSurfaceWord(x.Term); !ok || err != nil {
				return err
			}
			s.MaxDistance, found = distance, found[:0]
		}
		found = append(found, x)
		return nil
	})
	if err != nil {
		return "", false, err
	}
	best, ok, err := v.mostFrequent(found)
	if ok || err != nil || v.firstLetterLookups == maxFirstLetterLookups {
		return best, ok, err
	}
	others := firstLetterVariants([]rune(word))
	if len(others) > 0 {
		v.firstLetterLookups++
	}
	return v.mostFrequent(v.SegmentTerms(others))
}

// firstLetterVariants returns the words that differ from a word by a replaced, missing or additional first letter.
// Short words have none, because too many words would match. The limit is higher for Latin letters, whose words are
// more alike.
func firstLetterVariants(word []rune) (list []string) {
	at := slices.IndexFunc(alphabets[:], func(s alphabet) bool { return s.first <= word[0] && word[0] <= s.last })
	if at < 0 || len(word) < alphabets[at].minRunes || !analysis.OnlyLetters([]byte(string(word))) {
		return nil
	}
	rest := string(word[1:])
	list = append(list, rest)
	for c := alphabets[at].first; c <= alphabets[at].last; c++ {
		if c != word[0] {
			list = append(list, string(c)+rest)
		}
		list = append(list, string(c)+string(word))
	}
	return list
}

// alphabet is a range of lower-case letters. Another first letter is tried for words of at least minRunes characters.
type alphabet struct {
	first, last rune
	minRunes    int
}

var alphabets = [...]alphabet{{'a', 'z', 6}, {'α', 'ω', 5}, {'а', 'џ', 5}, {'א', 'ת', 5}, {'ء', 'ي', 5}}

// mostFrequent returns the word with the highest document frequency. Ties are broken by text. It returns false if no
// word has a live document.
func (v *vocabulary) mostFrequent(found []index.SegmentTerm) (best string, ok bool, err error) {
	dfs := map[string]int{}
	for _, x := range found {
		n, err := v.LiveDocFreq(x)
		if err != nil {
			return "", false, err
		}
		dfs[x.Term] += n
	}
	for _, w := range byFrequency(dfs) {
		if dfs[w] == 0 {
			break
		}
		if ok, err := v.isSurfaceWord(w); ok || err != nil {
			return w, ok, err
		}
	}
	return "", false, nil
}

// isSurfaceWord reports whether a term of the index occurs as a word. The index does not distinguish words from stems.
// A term counts as a word unless at least as many documents have words of which it is the stem. Such words share at
// least the first two letters of the stem.
func (v *vocabulary) isSurfaceWord(term string) (bool, error) {
	if analysis.HasNonASCII(term) || len(term) <= analysis.MaxStemChange {
		return true, nil
	}
	own, err := v.DocFreq(term)
	if err != nil {
		return false, err
	}
	inflected := 0
	err = v.EachTerm([]string{term[:max(2, len(term)-analysis.MaxStemChange)]},
		func(other []byte, live func() (int, error)) error {
			if !isStemOf(other, term) {
				return nil
			}
			n, err := live()
			inflected += n
			return err
		})
	return inflected < own, err
}

// isStemOf reports whether a term is the stem of another word.
func isStemOf(word []byte, term string) bool {
	if string(word) == term || len(word) < 3 || len(word) > analysis.MaxTermBytes/2 || analysis.HasNonASCII(word) ||
		!analysis.OnlyLetters(word) {
		return false
	}
	return string(analysis.Porter(slices.Clone(word))) == term
}
