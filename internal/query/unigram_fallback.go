package query

import (
	"slices"
	"unicode"
	"unicode/utf8"

	"github.com/loci-memory/loci/internal/analysis"
)

// A queryUnigram is a character of a query in a script without spaces. It has the bigrams with its neighbors, which are
// empty where there is no neighbor.
type queryUnigram struct{ text, bigramBefore, bigramAfter string }

// unigramWeight is the weight of a character that matches alone. It is below 1, because most characters are parts of
// many words. Measured: weights from .25 to 1 are as good.
const unigramWeight = .5

// unigramFallback returns the Han and Hangul characters whose bigrams do not occur but which occur themselves. Such a
// character may be a noun of one syllable, followed by a particle that texts lack (책을, 猫は). Kana and letters of other
// scripts are too frequent alone. known reports whether a term of the query occurs.
func (q *Query) unigramFallback(words *vocabulary, known func(i int) (bool, error)) (list []string, err error) {
	paired := map[string]bool{}
	for _, s := range q.unigrams {
		for _, pair := range []string{s.bigramBefore, s.bigramAfter} {
			if pair == "" || paired[s.text] {
				continue
			}
			i, asked := q.termIndex[pair]
			if !asked { // dropped by limitQuery
				paired[s.text] = true
			} else if paired[s.text], err = known(i); err != nil {
				return nil, err
			}
		}
	}
	for _, s := range q.unigrams {
		c, _ := utf8.DecodeRuneInString(s.text)
		if _, asked := q.termIndex[s.text]; asked || paired[s.text] || slices.Contains(list, s.text) ||
			!unicode.In(c, unicode.Han, unicode.Hangul) {
			continue
		}
		held, err := words.contains(s.text)
		if err != nil {
			return nil, err
		}
		if held {
			list = append(list, s.text)
		}
	}
	return list, nil
}

// withUnigrams returns the query with characters as further words, as far as maxQuerySize has room.
func (q Query) withUnigrams(list []string) Query {
	if len(list) == 0 {
		return q
	}
	q.terms = slices.Clone(q.terms)
	for _, s := range list[:min(len(list), max(0, maxQuerySize-q.size())/bigramsPerWord)] {
		q.terms = append(q.terms, queryTerm{text: s, wordIndex: q.wordCount, weight: unigramWeight,
			tokenType: analysis.Unigram})
		q.wordCount++
	}
	q.buildLookup()
	return q
}
