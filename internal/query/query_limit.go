package query

import (
	"cmp"
	"slices"

	"github.com/loci-memory/loci/internal/analysis"
	"github.com/loci-memory/loci/internal/index"
)

// maxReportedIgnored is the greatest number of dropped words that a query reports.
const maxReportedIgnored = 100

// bigramsPerWord is the number of character bigrams, of scripts without spaces, that count as one word. Measured: with
// 2, texts in Chinese lose to BM25 over all bigrams. With 8, texts in Japanese lose.
const bigramsPerWord = 4

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

// limitQuery keeps the rarest words of a query that exceeds maxQuerySize: those with the lowest document frequency of
// any form. Ties keep the order of the query. Words that do not occur come last.
func limitQuery(v *index.Snapshot, cache *index.Cache, fetch index.PageFetcher, q Query) (Query, error) {
	if q.size() <= maxQuerySize {
		return q, nil
	}
	words := newVocabulary(v, cache, fetch)
	held, err := words.wordDocFreqs(&q)
	if err != nil {
		return q, err
	}
	order := make([]int, q.wordCount)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		if known := held[a] > 0; known != (held[b] > 0) {
			if known {
				return -1
			}
			return 1
		}
		return cmp.Compare(held[a], held[b])
	})
	n, size := 0, 0
	for n < len(order) && size+q.sizeOf(order[n]) <= maxQuerySize {
		size += q.sizeOf(order[n])
		n++
	}
	rest := order[n:]
	slices.Sort(rest)
	left, ignored := make(map[string]bool, len(rest)), []string(nil)
	for _, g := range rest {
		word := q.terms[q.firstTerm[g]].text
		left[word] = true
		if held[g] > 0 && len(ignored) < maxReportedIgnored {
			ignored = append(ignored, word)
		}
	}
	return q.withoutWords(left, ignored), nil
}

// wordDocFreqs returns for each word of a query the highest document frequency of its forms.
func (d *vocabulary) wordDocFreqs(q *Query) ([]int, error) {
	expansions := map[string]*prefixExpansion{}
	if err := d.expandPrefixes(q, expansions); err != nil {
		return nil, err
	}
	held := make([]int, q.wordCount)
	for _, t := range q.terms {
		n, err := d.DocFreq(t.text)
		if err != nil {
			return nil, err
		}
		if k := expansions[t.text]; k != nil {
			n = max(n, k.docFreq)
		}
		held[t.wordIndex] = max(held[t.wordIndex], n)
	}
	return held, nil
}

// withoutWords returns the query without some words, each named by its first term. ignored are the words that Ignored
// reports.
func (q Query) withoutWords(left map[string]bool, ignored []string) Query {
	if len(left) == 0 {
		return q
	}
	q.droppedWords, q.ignored = left, ignored
	terms, groups := q.terms, make([]int, q.wordCount)
	q.terms, q.wordCount, q.expansionTerms = nil, 0, nil
	for len(terms) > 0 {
		n := formCount(terms)
		group := terms[0].wordIndex
		if groups[group] = -1; !left[terms[0].text] {
			groups[group] = q.wordCount
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
		if a, b := groups[p[0]], groups[p[1]]; a >= 0 && b >= 0 {
			q.wordBigrams = append(q.wordBigrams, [2]int{a, b})
		}
	}
	q.buildLookup()
	return q
}

// Ignored returns the words that occur in documents but were dropped, because the query has too many rarer ones.
func (q Query) Ignored() []string { return q.ignored }
