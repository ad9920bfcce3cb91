package search

import (
	"cmp"
	"slices"
)

// maxIgnored is how many ignored words a query names at most.
const maxIgnored = 100

// pairsPerWord is how many pairs of characters of scripts without spaces count as one
// word. Measured: with 2, texts in Chinese lose to BM25 over all pairs, with 8 those in
// Japanese are worse.
const pairsPerWord = 4

// maxSize is how much of a query counts, in pairs.
const maxSize = queryWords * pairsPerWord

// sizeOf is the size of a word, in pairs.
func (q *Query) sizeOf(group int) int {
	if q.terms[q.first[group]].role == gram {
		return 1
	}
	return pairsPerWord
}

// size is the size of all words.
func (q *Query) size() (n int) {
	for g := range q.groups {
		n += q.sizeOf(g)
	}
	return n
}

// limit leaves the rarest words in a query that asks for more than queryWords: those
// that the fewest live documents hold in any form, ties by their order in the query.
// Words that no document holds come last.
func (v *View) limit(cache *Cache, fetch Fetch, q Query) (Query, error) {
	if q.size() <= maxSize {
		return q, nil
	}
	words := dictionary{view: v, cache: cache, fetch: fetch}
	held, err := words.held(&q)
	if err != nil {
		return q, err
	}
	order := make([]int, q.groups)
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
	for n < len(order) && size+q.sizeOf(order[n]) <= maxSize {
		size += q.sizeOf(order[n])
		n++
	}
	rest := order[n:]
	slices.Sort(rest)
	left, ignored := make(map[string]bool, len(rest)), []string(nil)
	for _, g := range rest {
		word := q.terms[q.first[g]].text
		left[word] = true
		if held[g] > 0 && len(ignored) < maxIgnored {
			ignored = append(ignored, word)
		}
	}
	return q.leaving(left, ignored), nil
}

// held counts for each word of a query the live documents that hold it in any form.
func (d *dictionary) held(q *Query) ([]int, error) {
	families := map[string]*family{}
	if err := d.families(q, families); err != nil {
		return nil, err
	}
	held := make([]int, q.groups)
	for _, t := range q.terms {
		n, err := d.count(t.text)
		if err != nil {
			return nil, err
		}
		if k := families[t.text]; k != nil {
			n = max(n, k.held)
		}
		held[t.group] = max(held[t.group], n)
	}
	return held, nil
}

// leaving is the query without some words, each named by its first term. ignored are
// those that are worth telling of.
func (q Query) leaving(left map[string]bool, ignored []string) Query {
	if len(left) == 0 {
		return q
	}
	q.left, q.ignored = left, ignored
	terms, groups := q.terms, make([]int, q.groups)
	q.terms, q.groups, q.families = nil, 0, nil
	for len(terms) > 0 {
		n := forms(terms)
		group := terms[0].group
		if groups[group] = -1; !left[terms[0].text] {
			groups[group] = q.groups
			for _, t := range terms[:n] {
				t.group = q.groups
				q.terms = append(q.terms, t)
			}
			q.groups++
		}
		terms = terms[n:]
	}
	pairs := q.pairs
	q.pairs = nil
	for _, p := range pairs {
		if a, b := groups[p[0]], groups[p[1]]; a >= 0 && b >= 0 {
			q.pairs = append(q.pairs, [2]int{a, b})
		}
	}
	q.index()
	return q
}

// Ignored lists words that documents hold and that do not count because the query has
// too many others that are rarer, in its order.
func (q Query) Ignored() []string { return q.ignored }
