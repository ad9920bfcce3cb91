package query

import (
	"slices"
	"unicode"
	"unicode/utf8"

	"github.com/loci-memory/loci/internal/analysis"
)

// A cjkUnigram is a character of a query in a script without spaces, and the pairs that it
// makes with its neighbours; empty where it has none.
type cjkUnigram struct{ text, bigramBefore, bigramAfter string }

// unigramWeight is the weight of a character that stands for a word.
const unigramWeight = .5

// unigramFallback lists the glyphs that may be words of which no document holds any pair: the
// noun of one syllable or one Han character whose particle the texts have not
// (책을, 猫は). Kana and the letters of other scripts say too little alone. known
// tells of the query's terms.
func (q *Query) unigramFallback(words *vocabulary, known func(i int) (bool, error)) (list []string, err error) {
	paired := map[string]bool{}
	for _, s := range q.unigrams {
		for _, pair := range []string{s.bigramBefore, s.bigramAfter} {
			if pair == "" || paired[s.text] {
				continue
			}
			i, asked := q.termIndex[pair]
			if !asked { // there are too many
				paired[s.text] = true
			} else if paired[s.text], err = known(i); err != nil {
				return nil, err
			}
		}
	}
	for _, s := range q.unigrams {
		c, _ := utf8.DecodeRuneInString(s.text)
		if paired[s.text] || slices.Contains(list, s.text) || !unicode.In(c, unicode.Han, unicode.Hangul) {
			continue
		}
		held, err := words.Contains(s.text)
		if err != nil {
			return nil, err
		}
		if held {
			list = append(list, s.text)
		}
	}
	return list, nil
}

// withUnigrams is the query with characters that count by themselves, as far as there
// is room for terms.
func (q Query) withUnigrams(list []string) Query {
	if len(list) == 0 {
		return q
	}
	q.terms = slices.Clone(q.terms)
	for _, s := range list[:min(len(list), max(0, maxQueryWords-q.wordCount))] {
		q.terms = append(q.terms, queryTerm{text: s, wordIndex: q.wordCount, weight: unigramWeight,
			tokenType: analysis.Unigram})
		q.wordCount++
	}
	q.buildLookup()
	return q
}
