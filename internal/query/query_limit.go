package query

import (
	"cmp"
	"math"
	"slices"

	"github.com/loci-memory/loci/internal/analysis"
)

// maxReportedIgnored is the greatest number of dropped words that a query reports.
const maxReportedIgnored = 100

// bigramsPerWord is the number of character bigrams, of scripts without spaces, that count as one word. Measured with
// pasted texts before questions: with 8, Chinese and Japanese lose .08. With 2 they gain .03 and .10, but questions of
// 100 characters are no longer searched whole.
const bigramsPerWord = 4

// The words of a long query that count are edgeWords at each end and rareWords of the others. The latter are the rarest
// in the workspace. A question is often before or after a pasted text. Measured with such queries: more rare words
// lose, because they find the pasted texts. Without the words at the ends the question is lost.
const (
	edgeWords     = 8
	rareWords     = 16
	maxQueryWords = rareWords + 2*edgeWords
)

// maxQuerySize is the greatest size of a query in bigrams.
const maxQuerySize = maxQueryWords * bigramsPerWord

// sizeOf returns the size of a word in bigrams.
func (q *Query) sizeOf(word int) int {
	if q.terms[q.firstTerm[word]].tokenType == analysis.Bigram {
		return 1
	}
	return bigramsPerWord
}

// size returns the size of all words.
func (q *Query) size() (n int) {
	for g := range q.wordCount {
		n += q.sizeOf(g)
	}
	return n
}

// limitQuery drops words of a query that exceeds maxQuerySize. It keeps the words at both ends. Of the others it keeps
// those with the lowest document frequency, which is the highest one of their forms. Ties keep the order of the query.
// Words that do not occur rank last.
func (v *vocabulary) limitQuery(q Query) (Query, error) {
	if q.size() <= maxQuerySize {
		return q, nil
	}
	docFreqs, err := v.wordDocFreqs(&q)
	if err != nil {
		return q, err
	}
	order, kept := make([]int, q.wordCount), make([]bool, q.wordCount)
	for i := range order {
		order[i] = i
	}
	q.keepWords(kept, order, edgeWords)
	last := func(g int) int { return q.terms[q.firstTerm[g]].lastOccurrence }
	slices.SortFunc(order, func(a, b int) int { return cmp.Or(last(b)-last(a), b-a) })
	q.keepWords(kept, order, edgeWords)
	rarity := func(g int) int { return cmp.Or(docFreqs[g], math.MaxInt) }
	slices.SortFunc(order, func(a, b int) int { return cmp.Or(cmp.Compare(rarity(a), rarity(b)), a-b) })
	q.keepWords(kept, order, rareWords)
	dropped, ignored := map[string]bool{}, []string(nil)
	for g, keep := range kept {
		if keep {
			continue
		}
		word := q.terms[q.firstTerm[g]].text
		dropped[word] = true
		if docFreqs[g] > 0 && len(ignored) < maxReportedIgnored {
			ignored = append(ignored, word)
		}
	}
	return q.withoutWords(dropped, ignored), nil
}

// keepWords marks the first unmarked words of an order, as many as have the size of n words.
func (q *Query) keepWords(kept []bool, order []int, n int) {
	size := n * bigramsPerWord
	for _, word := range order {
		if kept[word] {
			continue
		}
		if size -= q.sizeOf(word); size < 0 {
			return
		}
		kept[word] = true
	}
}

// wordDocFreqs returns for each word of a query the highest document frequency of its forms.
func (v *vocabulary) wordDocFreqs(q *Query) ([]int, error) {
	expansions := map[string]*prefixExpansion{}
	if err := v.expandPrefixes(q, expansions); err != nil {
		return nil, err
	}
	held := make([]int, q.wordCount)
	for _, t := range q.terms {
		n, err := v.DocFreq(t.text)
		if err != nil {
			return nil, err
		}
		if e := expansions[t.text]; e != nil {
			n = max(n, e.docFreq)
		}
		held[t.wordIndex] = max(held[t.wordIndex], n)
	}
	return held, nil
}

// withoutWords returns the query without some words, each named by its first term. ignored are the words that Ignored
// reports.
func (q Query) withoutWords(dropped map[string]bool, ignored []string) Query {
	if len(dropped) == 0 {
		return q
	}
	q.droppedWords, q.ignored = dropped, ignored
	terms, newIndexes := q.terms, make([]int, q.wordCount)
	q.terms, q.wordCount = nil, 0
	for len(terms) > 0 {
		n := formCount(terms)
		word := terms[0].wordIndex
		if newIndexes[word] = -1; !dropped[terms[0].text] {
			newIndexes[word] = q.wordCount
			for _, t := range terms[:n] {
				t.wordIndex = q.wordCount
				q.terms = append(q.terms, t)
			}
			q.wordCount++
		}
		terms = terms[n:]
	}
	pairs := q.wordBigrams
	q.wordBigrams = nil
	for _, p := range pairs {
		if a, b := newIndexes[p[0]], newIndexes[p[1]]; a >= 0 && b >= 0 {
			q.wordBigrams = append(q.wordBigrams, [2]int{a, b})
		}
	}
	q.buildLookup()
	return q
}

// Ignored returns the words that occur in documents but were dropped, because the query has too many rarer ones.
func (q Query) Ignored() []string { return q.ignored }
