package search

import (
	"slices"
	"unicode"
	"unicode/utf8"
)

// A glyph is a character of a query in a script without spaces, and the pairs that it
// makes with its neighbours; empty where it has none.
type glyph struct{ text, before, after string }

// glyphWeight is the weight of a character that stands for a word.
const glyphWeight = .5

// bare lists the glyphs that may be words of which no document holds any pair: the
// noun of one syllable or one Han character whose particle the texts have not
// (책을, 猫は). Kana and the letters of other scripts say too little alone. known
// tells of the query's terms.
func (q *Query) bare(words *dictionary, known func(i int) (bool, error)) (list []string, err error) {
	paired := map[string]bool{}
	for _, s := range q.glyphs {
		for _, pair := range []string{s.before, s.after} {
			if pair == "" || paired[s.text] {
				continue
			}
			i, asked := q.place[pair]
			if !asked { // there are too many
				paired[s.text] = true
			} else if paired[s.text], err = known(i); err != nil {
				return nil, err
			}
		}
	}
	for _, s := range q.glyphs {
		c, _ := utf8.DecodeRuneInString(s.text)
		if paired[s.text] || slices.Contains(list, s.text) || !unicode.In(c, unicode.Han, unicode.Hangul) {
			continue
		}
		held, err := words.knows(s.text)
		if err != nil {
			return nil, err
		}
		if held {
			list = append(list, s.text)
		}
	}
	return list, nil
}

// withGlyphs is the query with characters that count by themselves, as far as there
// is room for terms.
func (q Query) withGlyphs(list []string) Query {
	if len(list) == 0 {
		return q
	}
	q.terms = slices.Clone(q.terms)
	for _, s := range list[:min(len(list), max(0, queryWords-q.groups))] {
		q.terms = append(q.terms, queryTerm{text: s, group: q.groups, weight: glyphWeight, role: letter})
		q.groups++
	}
	q.index()
	return q
}
