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
// same beginning, at least familyRoot of them, and at most familyEnd more. Of a
// large one the most frequent words count. The numbers were measured on Russian:
// others around them are as good.
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
}

func newFamily(word string) *family {
	n := utf8.RuneCountInString(word)
	keep := max(familyRoot, n-familyEnd)
	prefix := word[:forward(word, keep)]
	return &family{prefix: prefix, last: lastOf(prefix), runes: keep + familyEnd}
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
	return q.foreign && t.role == word && !t.fixed && utf8.RuneCountInString(t.text) >= familyWord &&
		onlyLetters([]byte(t.text)) && !stopWords[t.text]
}

// withFamilies is the query with the families of its words, each behind the forms
// of its word.
func (q Query) withFamilies(families map[string]*family) Query {
	next := q
	next.terms, next.families = make([]queryTerm, 0, len(q.terms)+len(families)), nil
	for i := 0; i < len(q.terms); {
		head := q.terms[i]
		k := families[head.text]
		if !q.hasFamily(&head) {
			k = nil
		}
		weight := float32(0) // of all of the word
		for ; i < len(q.terms) && q.terms[i].group == head.group; i++ {
			t := q.terms[i]
			weight = max(weight, t.weight)
			if k != nil {
				t.weight = min(t.weight, ownWeight*q.full(head.group))
			}
			next.terms = append(next.terms, t)
		}
		if k != nil {
			next.terms = append(next.terms, queryTerm{text: k.prefix, group: head.group, weight: weight, kin: k})
		}
	}
	next.index()
	return next
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
