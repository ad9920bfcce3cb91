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

// Bounds of a prefix expansion. A word of at least minExpandedRunes characters is expanded. Its expansion shares all
// but its last maxSuffixRunes characters, at least minExpansionPrefix of them. Terms have at most maxSuffixRunes
// characters more than the word. Of many terms the maxExpansionTerms most frequent count. The numbers were measured on
// Russian: nearby ones are as good.
const (
	minExpandedRunes   = 5
	minExpansionPrefix = 4
	maxSuffixRunes     = 3
	maxExpansionTerms  = 32
)

// originalTermWeight is the weight of a word as it is spelled, and of its other forms, beside its expansion. The
// expansion contains the word, so the exact word only breaks ties: see surfaceFormWeight.
const originalTermWeight = .3

// prefixExpansion is the set of terms of a workspace that share a prefix with a word. It replaces a stemmer for
// languages without one.
type prefixExpansion struct {
	prefix        string
	maxRunes      int      // greatest length of a term
	terms         []string // sorted
	docFreq       int      // sum of the document frequencies of the terms
	ofUnknownWord bool     // see newUnknownWordExpansion
}

// newPrefixExpansion returns the expansion of a word, without an Arabic prefix, because the article makes no other word
// of it. Hebrew prefixes stay, because they are too often letters of the word itself.
func newPrefixExpansion(word string) *prefixExpansion {
	if rest := analysis.StripArabicPrefix([]byte(word)); rest != nil {
		if unaccented, _, _ := analysis.Unaccent(nil, rest); utf8.RuneCount(unaccented) >= minExpansionPrefix {
			word = string(unaccented)
		}
	}
	n := utf8.RuneCountInString(word)
	keep := max(minExpansionPrefix, n-maxSuffixRunes)
	prefix := word[:analysis.RunePrefixLen(word, keep)]
	return &prefixExpansion{prefix: prefix, maxRunes: n + maxSuffixRunes}
}

// newUnknownWordExpansion returns the expansion of an unknown word to the words that begin with it, such as compounds.
func newUnknownWordExpansion(word string) *prefixExpansion {
	return &prefixExpansion{prefix: word, maxRunes: index.MaxMisspelledRunes, ofUnknownWord: true}
}

// indexTerms returns the index terms of a query term, sorted.
func (t *queryTerm) indexTerms() []string {
	if t.expansion != nil {
		return t.expansion.terms
	}
	return []string{t.text}
}

// matches reports whether a term can belong to the expansion.
func (e *prefixExpansion) matches(term []byte) bool {
	return len(term) >= len(e.prefix) && string(term[:len(e.prefix)]) == e.prefix &&
		utf8.RuneCount(term) <= e.maxRunes && analysis.OnlyLetters(term)
}

// selectTerms selects the terms with the highest document frequencies. Ties are broken by text.
func (e *prefixExpansion) selectTerms(dfs map[string]int) {
	e.terms = byFrequency(dfs)
	e.terms = e.terms[:min(len(e.terms), maxExpansionTerms)]
	for _, w := range e.terms {
		e.docFreq += dfs[w]
	}
	slices.Sort(e.terms)
}

// byFrequency returns the terms of a map by descending document frequency. Ties are broken by text.
func byFrequency(dfs map[string]int) []string {
	return slices.SortedFunc(maps.Keys(dfs), func(a, b string) int {
		return cmp.Or(cmp.Compare(dfs[b], dfs[a]), strings.Compare(a, b))
	})
}

// isExpandable reports whether a term of the query is expanded by prefix.
func (q *Query) isExpandable(t *queryTerm) bool {
	n := utf8.RuneCountInString(t.text)
	return q.expandsWords && t.tokenType == analysis.Word && !t.verbatim &&
		n >= minExpandedRunes && (q.expandsASCII || n < len(t.text)) &&
		analysis.OnlyLetters([]byte(t.text)) && !analysis.IsStopWord(t.text)
}

// withExpansions returns the query with the expansions of its words, each after the forms of its word.
func (q Query) withExpansions(expansions map[string]*prefixExpansion) Query {
	terms := q.terms
	q.terms, q.expansionTerms = make([]queryTerm, 0, len(terms)+len(expansions)), nil
	for len(terms) > 0 {
		n := formCount(terms)
		q.terms = append(q.terms, terms[:n]...)
		if e := expansions[terms[0].text]; e != nil && (e.ofUnknownWord || q.isExpandable(&terms[0])) {
			q.addExpansion(n, e)
		}
		terms = terms[n:]
	}
	q.buildLookup()
	return q
}

// formCount returns the number of terms at the start of a list that are forms of one word.
func formCount(terms []queryTerm) (n int) {
	for n < len(terms) && terms[n].wordIndex == terms[0].wordIndex {
		n++
	}
	return n
}

// addExpansion adds the expansion of the word whose forms are the last n terms, with the highest weight of these.
func (q *Query) addExpansion(n int, e *prefixExpansion) {
	own, weight := q.terms[len(q.terms)-n:], float32(0)
	for _, t := range own {
		weight = max(weight, t.weight)
	}
	for i := range own {
		own[i].weight = min(own[i].weight, originalTermWeight*weight)
	}
	q.terms = append(q.terms, queryTerm{text: e.prefix, wordIndex: own[0].wordIndex, weight: weight, expansion: e})
}

// expandPrefixes adds the expansions of the words of a query to those found before. An expansion without terms is nil.
func (v *vocabulary) expandPrefixes(q *Query, found map[string]*prefixExpansion) error {
	var fresh []*prefixExpansion
	var words, prefixes []string
	for i := range q.terms {
		t := &q.terms[i]
		if _, done := found[t.text]; done || !q.isExpandable(t) {
			continue
		}
		e := newPrefixExpansion(t.text)
		found[t.text] = nil
		fresh, words, prefixes = append(fresh, e), append(words, t.text), append(prefixes, e.prefix)
	}
	return v.addExpansions(found, fresh, words, prefixes)
}

// addExpansions selects the terms of expansions, and adds those that have any to found.
func (v *vocabulary) addExpansions(found map[string]*prefixExpansion, fresh []*prefixExpansion,
	words, prefixes []string) error {
	dfs, err := v.expansionDocFreqs(fresh, prefixes)
	if err != nil {
		return err
	}
	for i, e := range fresh {
		if e.selectTerms(dfs[i]); len(e.terms) > 0 {
			found[words[i]] = e
		}
	}
	return nil
}

// expandUnknownWords adds the expansions of unknown words without a correction.
func (v *vocabulary) expandUnknownWords(unknown []string, corrections []Correction,
	found map[string]*prefixExpansion) error {
	var fresh []*prefixExpansion
	var words []string
	for _, w := range unknown {
		corrected := slices.ContainsFunc(corrections, func(c Correction) bool { return c.From == w })
		if !corrected && utf8.RuneCountInString(w) >= minExpandedRunes && analysis.OnlyLetters([]byte(w)) {
			fresh, words = append(fresh, newUnknownWordExpansion(w)), append(words, w)
		}
	}
	return v.addExpansions(found, fresh, words, slices.Clone(words))
}

// expansionDocFreqs returns for each expansion the document frequencies of its terms.
func (v *vocabulary) expansionDocFreqs(expansions []*prefixExpansion, prefixes []string) ([]map[string]int, error) {
	dfs := make([]map[string]int, len(expansions))
	for i := range dfs {
		dfs[i] = map[string]int{}
	}
	return dfs, v.EachTerm(minimalPrefixes(prefixes), func(term []byte, live func() (int, error)) error {
		for i, e := range expansions {
			if !e.matches(term) {
				continue
			}
			n, err := live()
			if err != nil {
				return err
			}
			if n > 0 {
				dfs[i][string(term)] += n
			}
		}
		return nil
	})
}

// minimalPrefixes sorts prefixes and removes those that begin with another one.
func minimalPrefixes(prefixes []string) (list []string) {
	slices.Sort(prefixes)
	for _, p := range prefixes {
		if n := len(list); n == 0 || !strings.HasPrefix(p, list[n-1]) {
			list = append(list, p)
		}
	}
	return list
}
