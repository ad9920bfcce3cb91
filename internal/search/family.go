package search

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// What makes a family: a word has at least familyWord characters, its family the
// same beginning, at least familyRoot of them, and at most familyEnd characters more
// than the word has. Of a large one the most frequent words count. The numbers were
// measured on Russian: others around them are as good.
const (
	familyWord  = 5
	familyRoot  = 4
	familyEnd   = 3
	familyWords = 32
)

// ownWeight is the weight of a word as it is spelled, and of its other forms,
// beside its family.
const ownWeight = .3

// family is the words of a workspace that begin like a word and end as they like:
// what endings are is not known of most languages.
type family struct {
	prefix string
	last   string   // what comes after all that begin with it
	runes  int      // how many a word has at most
	words  []string // sorted
	held   int      // documents that hold each of them, in all
	begun  bool     // of a word that no document holds: see newBeginning
}

// newFamily is the family of a word, of an Arabic one behind its prefix: what has the
// article is no other word. In Hebrew the letters are too often the word's own.
func newFamily(word string) *family {
	if rest := afterArabic([]byte(word)); rest != nil {
		if bare, _, _ := unaccent(nil, rest); utf8.RuneCount(bare) >= familyRoot {
			word = string(bare)
		}
	}
	n := utf8.RuneCountInString(word)
	keep := max(familyRoot, n-familyEnd)
	prefix := word[:forward(word, keep)]
	return &family{prefix: prefix, last: lastOf(prefix), runes: n + familyEnd}
}

// newBeginning is the words that begin with an unknown one, such as compounds.
func newBeginning(word string) *family {
	return &family{prefix: word, last: lastOf(word), runes: longestRepair, begun: true}
}

// lastOf comes after all terms that begin with a prefix: no UTF-8 has its byte.
func lastOf(prefix string) string { return prefix + "\xff" }

// last is the end of the range of terms that a term of a query stands for.
func (t *queryTerm) last() string {
	if t.kin != nil {
		return t.kin.last
	}
	return t.text
}

// admits reports whether a term may be of the family.
func (k *family) admits(term []byte) bool {
	return len(term) >= len(k.prefix) && string(term[:len(k.prefix)]) == k.prefix &&
		utf8.RuneCount(term) <= k.runes && onlyLetters(term)
}

func (k *family) has(term []byte) bool {
	_, ok := slices.BinarySearchFunc(k.words, term, func(w string, t []byte) int { return strings.Compare(w, string(t)) })
	return ok
}

// choose takes the most frequent words, ties by text. What no live document holds
// has no frequency.
func (k *family) choose(dfs map[string]int) {
	for w := range dfs {
		k.words = append(k.words, w)
	}
	slices.SortFunc(k.words, func(a, b string) int { return cmp.Or(cmp.Compare(dfs[b], dfs[a]), strings.Compare(a, b)) })
	k.words = k.words[:min(len(k.words), familyWords)]
	for _, w := range k.words {
		k.held += dfs[w]
	}
	slices.Sort(k.words)
}

// onlyLetters reports a term of letters and the marks upon them.
func onlyLetters(term []byte) bool {
	for i := 0; i < len(term); {
		if c := term[i]; c < utf8.RuneSelf {
			if class[c]&(lower|upper) == 0 {
				return false
			}
			i++
			continue
		}
		r, n := utf8.DecodeRune(term[i:])
		if !unicode.In(r, unicode.L, unicode.M) {
			return false
		}
		i += n
	}
	return true
}

// hasFamily reports whether a term of a query stands for its family too.
func (q *Query) hasFamily(t *queryTerm) bool {
	n := utf8.RuneCountInString(t.text)
	return q.foreign && !q.without.Has(FeatureFamilies) && t.role == word && !t.fixed && n >= familyWord && (q.latin || n < len(t.text)) &&
		onlyLetters([]byte(t.text)) && !stopWords[t.text]
}

// withFamilies is the query with the families of its words, each behind the forms
// of its word.
func (q Query) withFamilies(families map[string]*family) Query {
	terms := q.terms
	q.terms, q.families = make([]queryTerm, 0, len(terms)+len(families)), nil
	for len(terms) > 0 {
		n := forms(terms)
		q.terms = append(q.terms, terms[:n]...)
		if k := families[terms[0].text]; k != nil && (k.begun || q.hasFamily(&terms[0])) {
			q.join(n, k)
		}
		terms = terms[n:]
	}
	q.index()
	return q
}

// forms counts the terms at the start of a list that are forms of one word.
func forms(terms []queryTerm) (n int) {
	for n < len(terms) && terms[n].group == terms[0].group {
		n++
	}
	return n
}

// join adds the family of the word whose forms are the last n terms, with the
// weight that the word has in all.
func (q *Query) join(n int, k *family) {
	own, weight := q.terms[len(q.terms)-n:], float32(0)
	for _, t := range own {
		weight = max(weight, t.weight)
	}
	for i := range own {
		own[i].weight = min(own[i].weight, ownWeight*weight)
	}
	q.terms = append(q.terms, queryTerm{text: k.prefix, group: own[0].group, weight: weight, kin: k})
}

// union makes one list of the postings of several words.
type union struct {
	freqs []uint8
	marks []uint64
}

// of unites the hits behind the first n, which are of documents below docs, each
// plus base: in the order of the documents, frequencies summed up to 255.
func (u *union) of(h *hits, n, base, docs int) {
	if len(u.freqs) < docs {
		u.freqs, u.marks = make([]uint8, padded(docs)), make([]uint64, padded(docs)/64)
	}
	for i := n; i < len(h.docs); i++ {
		doc := int(h.docs[i]) - base
		u.marks[doc/64] |= 1 << (doc % 64)
		u.freqs[doc] = uint8(min(int(u.freqs[doc])+int(h.freqs[i]), math.MaxUint8))
	}
	h.docs, h.freqs = h.docs[:n], h.freqs[:n]
	for i, w := range u.marks[:padded(docs)/64] {
		u.marks[i] = 0
		for ; w != 0; w &= w - 1 {
			doc := i*64 + bits.TrailingZeros64(w)
			h.docs, h.freqs = append(h.docs, uint32(base+doc)), append(h.freqs, u.freqs[doc])
			u.freqs[doc] = 0
		}
	}
}

// families finds the families of a query's words that are not among those found,
// by word; nil where nothing in the workspace is of it.
func (d *dictionary) families(q *Query, found map[string]*family) error {
	var fresh []*family
	var words, prefixes []string
	for i := range q.terms {
		t := &q.terms[i]
		if _, done := found[t.text]; done || !q.hasFamily(t) {
			continue
		}
		k := newFamily(t.text)
		found[t.text] = nil
		fresh, words, prefixes = append(fresh, k), append(words, t.text), append(prefixes, k.prefix)
	}
	return d.fill(found, fresh, words, prefixes)
}

// fill finds the words of families, and keeps those families that have any.
func (d *dictionary) fill(found map[string]*family, fresh []*family, words, prefixes []string) error {
	dfs, err := d.frequencies(fresh, prefixes)
	if err != nil {
		return err
	}
	for i, k := range fresh {
		if k.choose(dfs[i]); len(k.words) > 0 {
			found[words[i]] = k
		}
	}
	return nil
}

// beginnings finds the words that begin with unknown ones for which no correction stands.
func (d *dictionary) beginnings(unknown []string, repairs []Correction, found map[string]*family) error {
	var fresh []*family
	var words []string
	for _, w := range unknown {
		corrected := slices.ContainsFunc(repairs, func(c Correction) bool { return c.From == w })
		if !corrected && utf8.RuneCountInString(w) >= familyWord && onlyLetters([]byte(w)) {
			fresh, words = append(fresh, newBeginning(w)), append(words, w)
		}
	}
	return d.fill(found, fresh, words, slices.Clone(words))
}

// frequencies counts for each family the live documents of each word that may be
// of it and that any document holds.
func (d *dictionary) frequencies(families []*family, prefixes []string) ([]map[string]int, error) {
	dfs := make([]map[string]int, len(families))
	for i := range dfs {
		dfs[i] = map[string]int{}
	}
	return dfs, d.each(apart(prefixes), func(term []byte, live func() (int, error)) error {
		for i, k := range families {
			if !k.admits(term) {
				continue
			}
			n, err := live()
			if err != nil {
				return err
			}
			if n > 0 {
				dfs[i][string(term)] += n
			}
		}
		return nil
	})
}

// apart leaves out prefixes that begin with another one.
func apart(prefixes []string) (list []string) {
	slices.Sort(prefixes)
	for _, p := range prefixes {
		if n := len(list); n == 0 || !strings.HasPrefix(p, list[n-1]) {
			list = append(list, p)
		}
	}
	return list
}
