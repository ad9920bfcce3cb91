package query

import (
	"slices"

	"github.com/loci-memory/loci/internal/index"
)

// SearchRewritten searches for what a query can mean in this workspace: see Adapt. The
// result, and what the texts of its hits are to be read for, belong to the query
// that it returns. It costs hardly more than Search where query or workspace are
// English and some form of every word is known. Where one atlas alone is searched, its
// statistics and words count, if it is large enough: see scoped. Pages that the cache
// does not hold are fetched.
func SearchRewritten(v *index.Snapshot, cache *index.Cache, fetch index.PageFetcher, q Query, f index.Filter, now int64,
	k int) (Query, Result,
	error) {
	fetch = cache.ReadThrough(fetch)
	v = v.ScopedTo(&f)
	q, err := prepare(v, cache, fetch, q)
	if err != nil {
		return q, Result{}, err
	}
	var r Result
	var known func(int) (bool, error)
	if !q.nonEnglish {
		if r, err = Search(v, fetch, q, f, now, k); err != nil || q.allWordsFound(r.idf) {
			return q, r, err
		}
		known = func(i int) (bool, error) { return r.idf[i] > 0, nil }
	}
	rewritten, changed, err := rewrite(v, cache, fetch, q, known)
	if err != nil || !changed && !q.nonEnglish {
		return q, r, err
	}
	r, err = Search(v, fetch, rewritten, f, now, k)
	return rewritten, r, err
}

// Rewrite returns the query as this workspace can answer it. Words of which no live
// document holds any form stand for the word that they are most likely meant to
// be, or else for the words that begin with them; if that says nothing, neither do they.
// Where the query is not English, or does
// not tell and the workspace is not, words stand for all that begin alike too: see
// family. Han and Hangul of which no pair is known count by themselves: see bare.
// Everything else stays as it is.
func Rewrite(v *index.Snapshot, cache *index.Cache, fetch index.PageFetcher, q Query) (Query, error) {
	fetch = cache.ReadThrough(fetch)
	q, err := prepare(v, cache, fetch, q)
	if err != nil {
		return q, err
	}
	rewritten, _, err := rewrite(v, cache, fetch, q, nil)
	return rewritten, err
}

// prepare settles the language of a query and the words that count.
func prepare(v *index.Snapshot, cache *index.Cache, fetch index.PageFetcher, q Query) (Query, error) {
	q, err := resolveLanguage(v, cache, fetch, q)
	if err != nil {
		return q, err
	}
	return limitQuery(v, cache, fetch, q)
}

// allWordsFound reports whether some form of every word has a weight or the word needs none,
// because no other word may stand for it, or whether nothing has been looked up.
func (q *Query) allWordsFound(idf []float32) bool {
	for i := 0; i < len(idf); {
		end := i + formCount(q.terms[i:])
		if !slices.ContainsFunc(idf[i:end], func(w float32) bool { return w > 0 }) &&
			(len(q.unigrams) > 0 || !q.trusts(q.terms[i].text)) {
			return false
		}
		i = end
	}
	return true
}

// rewrite takes from known which of the query's terms are, if it is not nil.
func rewrite(v *index.Snapshot, cache *index.Cache, fetch index.PageFetcher, q Query,
	known func(i int) (bool, error)) (_ Query,
	changed bool, err error) {
	words, expansions := newVocabulary(v, cache, fetch), map[string]*prefixExpansion{}
	if known == nil {
		known = func(i int) (bool, error) { return words.Contains(q.terms[i].text) }
	}
	if err := words.expandPrefixes(&q, expansions); err != nil {
		return q, false, err
	}
	unknown, err := q.unknownWords(expansions, known)
	if err != nil {
		return q, false, err
	}
	corrections, err := words.corrections(unknown)
	if err != nil {
		return q, false, err
	}
	if err := words.expandUnknownWords(unknown, corrections, expansions); err != nil {
		return q, false, err
	}
	unaccented, err := q.unigramFallback(words, known)
	if err != nil {
		return q, false, err
	}
	if len(corrections) > 0 {
		before := q
		q = parse(q.text, correctionMap(corrections))
		q.corrections = corrections
		if before.nonEnglish && !q.nonEnglish {
			q.weakenStopWords()
		}
		q.nonEnglish, q.nonEnglishLatin = before.nonEnglish, before.nonEnglishLatin
		q = q.withoutWords(before.droppedWords, before.ignored)
		if err := words.expandPrefixes(&q, expansions); err != nil {
			return q, false, err
		}
	}
	q = q.withUnigrams(unaccented)
	for _, k := range expansions {
		if k != nil {
			return q.withExpansions(expansions), true, nil
		}
	}
	return q, len(corrections) > 0 || len(unaccented) > 0, nil
}

// correctionMap tells what to read in place of misspelled words.
func correctionMap(list []Correction) map[string]string {
	words := make(map[string]string, len(list))
	for _, c := range list {
		words[c.From] = c.To
	}
	return words
}

// unknownWords lists the words without a family that may be misspelled and of which no
// form is known.
func (q *Query) unknownWords(expansions map[string]*prefixExpansion, known func(i int) (bool, error)) (words []string,
	err error) {
	for i := 0; i < len(q.terms) && len(words) < maxCorrections; {
		head := &q.terms[i]
		found := expansions[head.text] != nil || q.trusts(head.text) || !mayBeMisspelled(head)
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
