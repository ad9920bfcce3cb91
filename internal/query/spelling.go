package query

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/loci-memory/loci/internal/analysis"
	"github.com/loci-memory/loci/internal/index"
)

// Repairs: a word of at least repairWord characters is taken for another one of at
// least shortestRepair, with one letter other, missing, too much or swapped with
// the next, from twoErrors characters on two of them. Of a query so many words are
// repaired at most, and of so many the first letter is doubted, which takes some
// fifty look-ups, .3 ms among 100,000 memories.
const (
	minMisspelledRunes    = 4
	maxCorrections        = 6
	maxFirstLetterLookups = 2
)

// correctionWeight is the weight of a word that stands for another one.
const correctionWeight = .8

// mayBeMisspelled reports whether a term of a query may have been misspelled.
func mayBeMisspelled(t *queryTerm) bool {
	n := utf8.RuneCountInString(t.text)
	return t.tokenType == analysis.Word && !t.verbatim && n >= minMisspelledRunes && n <= index.MaxMisspelledRunes &&
		!strings.ContainsAny(t.text, "0123456789") && !isCommonWord(t.text)
}

// MisspellingCandidates lists the words of a query that a workspace which does not know them takes for misspelled ones.
func (q Query) MisspellingCandidates() (words []string) {
	for _, at := range q.firstTerm {
		if mayBeMisspelled(&q.terms[at]) {
			words = append(words, q.terms[at].text)
		}
	}
	return words
}

// CorrectOnly is the query of which a workspace corrects no words but these.
func (q Query) CorrectOnly(words []string) Query {
	q.limitCorrections, q.correctable = true, words
	return q
}

// trusts reports a word that is not corrected, whatever the workspace knows.
func (q *Query) trusts(word string) bool {
	return q.limitCorrections && !slices.Contains(q.correctable, word)
}

// UnknownWords leaves those words in a list of which a workspace knows no form. It has answered q with r.
func (r Result) UnknownWords(q Query, words []string) []string {
	known := q.ignored
	for i, weight := range r.idf {
		if weight > 0 {
			known = append(known[:len(known):len(known)], q.terms[q.firstTerm[q.terms[i].wordIndex]].text)
		}
	}
	return slices.DeleteFunc(words, func(w string) bool { return slices.Contains(known, w) })
}

// A Correction is a word of a query for which another one was searched.
type Correction struct{ From, To string }

// A vocabulary reads the terms of a snapshot for the words of one query.
type vocabulary struct {
	*index.TermDictScanner
	snapshot           *index.Snapshot
	firstLetterLookups int // words whose first letter was doubted
}

func newVocabulary(v *index.Snapshot, cache *index.Cache, fetch index.PageFetcher) *vocabulary {
	return &vocabulary{TermDictScanner: index.NewTermDictScanner(v, cache, fetch), snapshot: v}
}

// corrections finds what words are most likely meant to be.
func (d *vocabulary) corrections(words []string) (list []Correction, err error) {
	for _, w := range words {
		x, ok, err := d.breakWord(w)
		if err == nil && !ok {
			x, ok, err = d.nearestTerm(w)
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

// nearestTerm finds the most likely correction of an unknown word: the one at
// the least distance, then the most frequent, then the first by text. Typists
// mostly get the first letter right, or swap it with the second. Without a near
// word, only that letter may be wrong: see firstLetterVariants.
func (d *vocabulary) nearestTerm(word string) (string, bool, error) {
	s := index.NewEditDistanceMatcher(word)
	var found []index.SegmentTerm // at the distance s.most; if that was lowered, one of them lives
	err := d.EachFuzzyMatch(s, func(x index.SegmentTerm, distance int) error {
		if distance < s.MaxDistance {
			if n, err := d.LiveDocFreq(x); n == 0 || err != nil {
				return err
			}
			if ok, err := d.isSurfaceWord(x.Term); !ok || err != nil {
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
	best, ok, err := d.mostFrequent(found)
	if ok || err != nil || d.firstLetterLookups == maxFirstLetterLookups {
		return best, ok, err
	}
	others := firstLetterVariants([]rune(word))
	if len(others) > 0 {
		d.firstLetterLookups++
	}
	return d.mostFrequent(d.SegmentTerms(others))
}

// firstLetterVariants is all that a word can be whose first letter is another one, missing or
// too much, where it is long enough that this means something. Words of the Latin
// script are more alike than others.
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

// alphabet is the letters of one in small case, and how many characters the shortest
// word has whose first letter is looked for.
type alphabet struct {
	first, last rune
	minRunes    int
}

var alphabets = [...]alphabet{{'a', 'z', 6}, {'α', 'ω', 5}, {'а', 'џ', 5}, {'א', 'ת', 5}, {'ء', 'ي', 5}}

// mostFrequent is the word that most live documents hold, if any does, ties by text.
func (d *vocabulary) mostFrequent(found []index.SegmentTerm) (best string, ok bool, err error) {
	dfs := map[string]int{}
	for _, x := range found {
		n, err := d.LiveDocFreq(x)
		if err != nil {
			return "", false, err
		}
		dfs[x.Term] += n
	}
	words := slices.SortedFunc(maps.Keys(dfs), func(a, b string) int {
		return cmp.Or(cmp.Compare(dfs[b], dfs[a]), strings.Compare(a, b))
	})
	for _, w := range words {
		if dfs[w] == 0 {
			break
		}
		if ok, err := d.isSurfaceWord(w); ok || err != nil {
			return w, ok, err
		}
	}
	return "", false, nil
}

// isSurfaceWord reports whether a term of the index stands in a document as a word. The index
// does not tell words from stems; a term is a word if no known word has it as its stem,
// or if more documents hold it than hold these.
func (d *vocabulary) isSurfaceWord(term string) (bool, error) {
	if analysis.HasNonASCII(term) || len(term) <= analysis.MaxStemChange {
		return true, nil
	}
	own, err := d.DocFreq(term)
	if err != nil {
		return false, err
	}
	inflected := 0
	err = d.EachTerm([]string{term[:len(term)-analysis.MaxStemChange]},
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

// isStemOf reports whether a term is the stem of a word that is another one.
func isStemOf(word []byte, term string) bool {
	if string(word) == term || len(word) < 3 || len(word) > analysis.MaxTermBytes/2 || analysis.HasNonASCII(word) ||
		!analysis.OnlyLetters(word) {
		return false
	}
	return string(analysis.Porter(slices.Clone(word))) == term
}
