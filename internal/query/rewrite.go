package query

import (
	"maps"
	"slices"
	"strings"

	"github.com/loci-memory/loci/internal/index"
)

// Search adapts a query to the words of the workspace and searches for it. It returns the query that it searched for,
// and the k best hits that the filter admits. now is in microseconds.
//
// A word without any form in a live document is corrected, or else becomes the prefix of longer words. Words of a query
// that is not English also match words with the same prefix: see prefixExpansion. Han and Hangul characters whose
// bigrams do not occur match alone: see unigramFallback. An English query whose words all occur is ranked only once.
//
// A filter of one large enough atlas ranks by the statistics and words of that atlas: see [index.Snapshot.ScopedTo].
// Missing pages are fetched into the cache.
func Search(v *index.Snapshot, cache *index.Cache, fetch index.PageFetcher, q Query, f index.Filter, now int64,
	k int) (Query, Result, error) {
	fetch = cache.ReadThrough(fetch)
	v = v.ScopedTo(&f)
	words := newVocabulary(v, cache, fetch)
	q, err := words.prepare(q)
	if err != nil {
		return q, Result{}, err
	}
	var r Result
	known := func(i int) (bool, error) { return words.contains(q.terms[i].text) }
	if !q.expandsWords {
		if r, err = rank(v, fetch, q, f, now, k); err != nil || q.allWordsFound(r.idf) {
			return q, r, err
		}
		known = func(i int) (bool, error) { return r.idf[i] > 0, nil }
	}
	rewritten, changed, err := words.rewrite(q, known)
	if err != nil || !changed && !q.expandsWords {
		return q, r, err
	}
	r, err = rank(v, fetch, rewritten, f, now, k)
	return rewritten, r, err
}

// SearchCorrected searches for a query whose words may be corrected, if the workspace corrects one. It returns false if
// the result is that of a search without corrections: see [Query.CorrectOnly].
func SearchCorrected(v *index.Snapshot, cache *index.Cache, fetch index.PageFetcher, q Query, f index.Filter, now int64,
	k int) (Query, Result, bool, error) {
	fetch = cache.ReadThrough(fetch)
	v = v.ScopedTo(&f)
	words := newVocabulary(v, cache, fetch)
	q, err := words.prepare(q)
	if err != nil {
		return q, Result{}, false, err
	}
	q, _, err = words.rewrite(q, func(i int) (bool, error) { return words.contains(q.terms[i].text) })
	if err != nil || !q.isCorrected() {
		return q, Result{}, false, err
	}
	r, err := rank(v, fetch, q, f, now, k)
	return q, r, err == nil, err
}

// isCorrected reports whether a query has words in place of unknown ones.
func (q *Query) isCorrected() bool {
	return len(q.corrections) > 0 || slices.ContainsFunc(q.expansionTerms, func(i int) bool {
		return q.terms[i].expansion.ofUnknownWord
	})
}

// prepare decides the language of a query and drops words above the limit.
func (v *vocabulary) prepare(q Query) (Query, error) {
	q, err := v.resolveLanguage(q)
	if err != nil {
		return q, err
	}
	return v.limitQuery(q)
}

// allWordsFound reports whether every word has a form that occurs, or may not be corrected. An empty idf means that no
// term was looked up.
func (q *Query) allWordsFound(idf []float32) bool {
	for i := 0; i < len(idf); {
		end := i + formCount(q.terms[i:])
		shared, ok := q.termIndex[q.terms[i].sharedForm]
		if !slices.ContainsFunc(idf[i:end], func(w float32) bool { return w > 0 }) && !(ok && idf[shared] > 0) &&
			(len(q.unigrams) > 0 || !q.trusts(q.terms[i].text)) {
			return false
		}
		i = end
	}
	return true
}

// rewrite rewrites a prepared query. known reports whether a term of the query occurs.
func (v *vocabulary) rewrite(q Query, known func(i int) (bool, error)) (_ Query, changed bool, err error) {
	expansions := map[string]*prefixExpansion{}
	if err := v.expandPrefixes(&q, expansions); err != nil {
		return q, false, err
	}
	unknown, err := q.unknownWords(expansions, known)
	if err != nil {
		return q, false, err
	}
	corrections, err := v.corrections(unknown)
	if err != nil {
		return q, false, err
	}
	if err := v.expandUnknownWords(unknown, corrections, expansions); err != nil {
		return q, false, err
	}
	unigrams, err := q.unigramFallback(v, known)
	if err != nil {
		return q, false, err
	}
	if len(corrections) > 0 {
		q = q.corrected(corrections)
		if err := v.expandPrefixes(&q, expansions); err != nil {
			return q, false, err
		}
	}
	q = q.withUnigrams(unigrams)
	for _, e := range expansions {
		if e != nil {
			return q.withExpansions(expansions), true, nil
		}
	}
	return q, len(corrections) > 0 || len(unigrams) > 0, nil
}

// corrected returns a prepared query with corrections. It keeps the language and the dropped words.
func (q *Query) corrected(corrections []Correction) Query {
	words := make(map[string]string, len(corrections))
	for _, c := range corrections {
		words[c.From] = c.To
	}
	other := parse(q.text, words)
	other.corrections = corrections
	if q.expandsWords && !other.expandsWords {
		other.weakenStopWords()
	}
	other.expandsWords, other.expandsASCII = q.expandsWords, q.expandsASCII
	return other.withoutWords(q.withoutCorrected(other))
}

// withoutCorrected returns the dropped and the ignored words of a query without those that are corrections in another.
func (q *Query) withoutCorrected(other Query) (dropped map[string]bool, ignored []string) {
	dropped = maps.Clone(q.droppedWords)
	for _, c := range other.corrections {
		for w := range strings.FieldsSeq(c.To) {
			if i, ok := other.termIndex[w]; ok {
				delete(dropped, other.terms[other.firstTerm[other.terms[i].wordIndex]].text)
			}
		}
	}
	return dropped, slices.DeleteFunc(slices.Clone(q.ignored), func(w string) bool { return !dropped[w] })
}

// unknownWords returns the words that may be misspelled, have no expansion and occur in no form.
func (q *Query) unknownWords(expansions map[string]*prefixExpansion,
	known func(i int) (bool, error)) (words []string, err error) {
	for i := 0; i < len(q.terms) && len(words) < maxCorrections; {
		head := &q.terms[i]
		shared, ok := q.termIndex[head.sharedForm]
		found := expansions[head.text] != nil || q.trusts(head.text) || !mayBeMisspelled(head) ||
			head.sharedForm != "" && !ok // limitQuery dropped the other word
		if ok && !found {
			if found, err = known(shared); err != nil {
				return nil, err
			}
		}
		for end := i + formCount(q.terms[i:]); i < end; i++ {
			if !found {
				if found, err = known(i); err != nil {
					return nil, err
				}
			}
		}
		if !found {
			words = append(words, head.text)
		}
	}
	return words, nil
}
