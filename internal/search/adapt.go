package search

import "slices"

// Answer searches for what a query can mean in this workspace: see Adapt. The
// result, and what the texts of its hits are to be read for, belong to the query
// that it returns. It costs hardly more than Search where query or workspace are
// English and some form of every word is known. Where one atlas alone is searched, its
// statistics and words count, if it is large enough: see scoped. Pages that the cache
// does not hold are fetched.
func (v *View) Answer(cache *Cache, fetch Fetch, q Query, f Filter, now int64, k int) (Query, Result, error) {
	fetch = cache.Through(fetch)
	v = v.scoped(&f)
	q, err := v.prepare(cache, fetch, q)
	if err != nil {
		return q, Result{}, err
	}
	var r Result
	var known func(int) (bool, error)
	if !q.foreign {
		if r, err = v.Search(fetch, q, f, now, k); err != nil || q.allKnown(r.idf) {
			return q, r, err
		}
		known = func(i int) (bool, error) { return r.idf[i] > 0, nil }
	}
	adapted, changed, err := v.adapt(cache, fetch, q, known)
	if err != nil || !changed && !q.foreign {
		return q, r, err
	}
	r, err = v.Search(fetch, adapted, f, now, k)
	return adapted, r, err
}

// Adapt returns the query as this workspace can answer it. Words of which no live
// document holds any form stand for the word that they are most likely meant to
// be, or else for the words that begin with them; if that says nothing, neither do they.
// Where the query is not English, or does
// not tell and the workspace is not, words stand for all that begin alike too: see
// family. Han and Hangul of which no pair is known count by themselves: see bare.
// Everything else stays as it is.
func (v *View) Adapt(cache *Cache, fetch Fetch, q Query) (Query, error) {
	fetch = cache.Through(fetch)
	q, err := v.prepare(cache, fetch, q)
	if err != nil {
		return q, err
	}
	adapted, _, err := v.adapt(cache, fetch, q, nil)
	return adapted, err
}

// prepare settles the language of a query and the words that count.
func (v *View) prepare(cache *Cache, fetch Fetch, q Query) (Query, error) {
	q, err := v.settle(cache, fetch, q)
	if err != nil {
		return q, err
	}
	return v.limit(cache, fetch, q)
}

// allKnown reports whether some form of every word has a weight or the word needs none,
// because no other word may stand for it, or whether nothing has been looked up.
func (q *Query) allKnown(idf []float32) bool {
	for i := 0; i < len(idf); {
		end := i + forms(q.terms[i:])
		if !slices.ContainsFunc(idf[i:end], func(w float32) bool { return w > 0 }) &&
			(len(q.glyphs) > 0 || !q.trusts(q.terms[i].text)) {
			return false
		}
		i = end
	}
	return true
}

// adapt takes from known which of the query's terms are, if it is not nil.
func (v *View) adapt(cache *Cache, fetch Fetch, q Query, known func(i int) (bool, error)) (_ Query, changed bool, err error) {
	words, families := dictionary{view: v, cache: cache, fetch: fetch}, map[string]*family{}
	if known == nil {
		known = func(i int) (bool, error) { return words.knows(q.terms[i].text) }
	}
	if err := words.families(&q, families); err != nil {
		return q, false, err
	}
	var unknown []string
	if !q.without.Has(FeatureRepair) {
		var err error
		if unknown, err = q.unknown(families, known); err != nil {
			return q, false, err
		}
	}
	repairs, err := words.repairs(unknown)
	if err != nil {
		return q, false, err
	}
	if err := words.beginnings(unknown, repairs, families); err != nil {
		return q, false, err
	}
	bare, err := q.bare(&words, known)
	if err != nil {
		return q, false, err
	}
	if len(repairs) > 0 {
		before := q
		q = parse(q.text, standIns(repairs)).Without(q.without)
		q.corrected = repairs
		if before.foreign && !q.foreign {
			q.damp()
		}
		q.foreign, q.latin = before.foreign, before.latin
		q = q.leaving(before.left, before.ignored)
		if err := words.families(&q, families); err != nil {
			return q, false, err
		}
	}
	q = q.withGlyphs(bare)
	for _, k := range families {
		if k != nil {
			return q.withFamilies(families), true, nil
		}
	}
	return q, len(repairs) > 0 || len(bare) > 0, nil
}

// standIns tells what to read in place of misspelled words.
func standIns(list []Correction) map[string]string {
	words := make(map[string]string, len(list))
	for _, c := range list {
		words[c.From] = c.To
	}
	return words
}

// unknown lists the words without a family that may be misspelled and of which no
// form is known.
func (q *Query) unknown(families map[string]*family, known func(i int) (bool, error)) (words []string, err error) {
	for i := 0; i < len(q.terms) && len(words) < maxRepairs; {
		head := &q.terms[i]
		found := families[head.text] != nil || q.trusts(head.text) || !mayRepair(head)
		for end := i + forms(q.terms[i:]); i < end; i++ {
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
