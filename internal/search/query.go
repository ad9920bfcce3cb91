package search

import (
	"unicode"
	"unicode/utf8"
)

// maxTerms is how many distinct terms of a query count.
const maxTerms = 32

// adaptedTerms is how many terms a query has at most with families: each word has
// one.
const adaptedTerms = 2 * maxTerms

// Query is a parsed query: distinct terms in the order of its text. The zero
// Query matches nothing.
type Query struct {
	text    string // as it was asked
	terms   []queryTerm
	groups  int  // words and identifiers asked for
	foreign bool // some of its words end in ways that no stemmer here knows:
	latin   bool // those in ASCII too
	open    bool // they do where the workspace is not English: see settle
	without Features

	// The words of a text in spaces that stand side by side but for stop words, by
	// their groups.
	pairs [][2]int

	glyphs []glyph // its characters of scripts without spaces, in their order

	// For reading texts: where each term stands in terms, which are families, and
	// what the words begin with that can become one of them.
	place    map[string]int
	families []int
	roots    *roots
}

// roots holds, by their first bytes, what a word of ASCII letters begins with
// if it or its stem is one of some terms, and with which two bytes these begin. Of
// terms beyond ASCII it holds the characters, those of different ones together.
type roots struct {
	by    [256][]string
	pairs [256][4]uint64
	wide  [64]uint64
}

// A stem differs from its word in its last two letters at most (conflating,
// conflate). What comes late in a long term does not matter.
const (
	stemChanges = 2
	longestRoot = 12
)

func (r *roots) add(term string) {
	for _, c := range term {
		if c >= utf8.RuneSelf {
			r.wide[c/64%64] |= 1 << (c % 64)
		}
	}
	r.allow(term[:max(1, len(term)-stemChanges)])
}

// knows reports whether a term may hold a character beyond ASCII.
func (r *roots) knows(c rune) bool { return r.wide[c/64%64]>>(c%64)&1 == 1 }

// skips reports a word beyond ASCII, of a script with spaces in which no character
// becomes another one, that begins as no term does.
func (r *roots) skips(word string) bool {
	c, _ := utf8.DecodeRuneInString(word)
	if c < firstPlain || c >= lastPlain || isDense(c) || unicode.IsDigit(c) {
		return false
	}
	low := unicode.ToLower(c)
	bare, _ := utf8.DecodeRuneInString(bareForm(low))
	return !r.knows(low) && (bare == utf8.RuneError || bare < utf8.RuneSelf || !r.knows(bare))
}

// Scripts from Greek to those of India and Georgia.
const (
	firstPlain = 0x370
	lastPlain  = 0x1100
)

func (r *roots) allow(root string) {
	root = root[:min(len(root), longestRoot)]
	r.by[root[0]] = append(r.by[root[0]], root)
	pairs := &r.pairs[root[0]]
	if len(root) == 1 {
		*pairs = [4]uint64{^uint64(0), ^uint64(0), ^uint64(0), ^uint64(0)}
	} else {
		pairs[root[1]/64] |= 1 << (root[1] % 64)
	}
}

// begins reports whether a wanted word may begin with these two bytes.
func (r *roots) begins(a, b byte) bool { return r.pairs[a][b/64]>>(b%64)&1 == 1 }

func (r *roots) admit(word []byte) bool {
	for _, root := range r.by[word[0]] {
		if len(word) >= len(root) && string(word[:len(root)]) == root {
			return true
		}
	}
	return false
}

type queryTerm struct {
	text   string
	group  int // which of the query's words it is a form of
	weight float32
	role   role
	fixed  bool    // part of an identifier, or in quotation marks
	kin    *family // of which it is any word; nil if it is its text
}

// beside is the weight of a word as it is spelled where its stem or accentless
// form is asked for too: by their one meaning they are found in the stem's list,
// so the exact word only tips the balance. Measured: weights from .25 to .5 are
// best, at 1 code loses .04 and conversations .02.
const beside = .3

// Parse turns the text of a query into its terms. Stop words are dropped unless
// nothing else is left; of more than 32 distinct terms the first count.
func Parse(text string) Query { return parse(text, nil) }

// parse reads other words in place of some.
func parse(text string, repairs map[string]string) Query {
	p := newParser(text, repairs)
	p.analyze(text)
	if p.query.groups == 0 {
		p = newParser(text, repairs)
		p.all = true
		p.analyze(text)
	}
	p.query.text = text
	p.query.foreign, p.query.latin, p.query.open = p.tongue.foreign(), p.tongue.latin(), p.tongue.open()
	p.query.index()
	return p.query
}

func (q *Query) index() {
	q.place, q.roots = make(map[string]int, len(q.terms)), new(roots)
	for i, t := range q.terms {
		if t.kin == nil {
			q.place[t.text] = i
			q.roots.add(t.text)
		} else {
			q.families = append(q.families, i)
			q.roots.allow(t.kin.prefix)
		}
	}
}

// Empty reports a query without a single term.
func (q Query) Empty() bool { return len(q.terms) == 0 }
