package query

import (
	"slices"

	"github.com/loci-memory/loci/internal/analysis"
)

// stopWordWeight is the factor in the weight of a stop word of the query's language. In a workspace of several
// languages such a word is in few memories. So BM25 takes it for a rare one. Measured on Russian questions: weights
// from .1 to .4 are as good.
const stopWordWeight = .25

// weakenStopWords lowers the weights of the stop words of the query's language: that with most stop words in the query.
// Verbatim words keep their weights, and so do all if the query has only stop words.
func (q *Query) weakenStopWords() {
	heads := q.unaccentedWords()
	best, most := []map[string]bool(nil), 1
	for _, list := range analysis.ForeignStopLists() {
		n := 0
		for _, w := range heads {
			if list[w] {
				n++
			}
		}
		if n > most {
			best, most = nil, n
		}
		if n == most {
			best = append(best, list)
		}
	}
	if len(best) == 0 || most == q.wordCount {
		return
	}
	q.terms = slices.Clone(q.terms)
	for i := range q.terms {
		w := heads[q.terms[i].wordIndex]
		if slices.ContainsFunc(best, func(list map[string]bool) bool { return list[w] }) {
			q.terms[i].weight *= stopWordWeight
		}
	}
}

// unaccentedWords returns the words of the query without accents. Identifiers, characters and verbatim words are empty.
func (q *Query) unaccentedWords() []string {
	list := make([]string, q.wordCount)
	for i := 0; i < len(q.terms); i += formCount(q.terms[i:]) {
		t := &q.terms[i]
		if t.tokenType == analysis.Word && !t.verbatim {
			unaccented, _, _ := analysis.Unaccent(nil, []byte(t.text))
			list[t.wordIndex] = string(unaccented)
		}
	}
	return list
}
