package search

import "slices"

// maxTerms is how many distinct terms of a query count.
const maxTerms = 32

// Query is a parsed query: distinct terms in the order of its text. The zero
// Query matches nothing.
type Query struct {
	terms  []queryTerm
	groups int // words and identifiers asked for

	// The words of a text in spaces that stand side by side but for stop words, by
	// their groups.
	pairs [][2]int

	// For reading texts: where each term stands in terms, and what the words begin
	// with that can become one of them.
	place map[string]int
	roots *roots
}

// roots holds, by their first bytes, what a word of ASCII letters begins with
// if it or its stem is one of some terms, and with which two bytes these begin.
type roots struct {
	by    [256][]string
	pairs [256][4]uint64
}

// A stem differs from its word in its last two letters at most (conflating,
// conflate). What comes late in a long term does not matter.
const (
	stemChanges = 2
	longestRoot = 12
)

func (r *roots) add(term string) {
	root := term[:max(1, min(len(term)-stemChanges, longestRoot))]
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
}

// beside is the weight of a word as it is spelled where its stem or accentless
// form is asked for too: by their one meaning they are found in the stem's list,
// so the exact word only tips the balance. Measured: weights from .25 to .5 are
// best, at 1 code loses .04 and conversations .02.
const beside = .3

// Parse turns the text of a query into its terms. Stop words are dropped unless
// nothing else is left; of more than 32 distinct terms the first count.
func Parse(text string) Query {
	p := parser{seen: map[string]bool{}, group: map[string]int{}}
	p.emit = p.add
	p.analyze(text)
	if p.query.groups == 0 {
		p = parser{seen: map[string]bool{}, group: map[string]int{}, all: true}
		p.emit = p.add
		p.analyze(text)
	}
	p.query.index()
	return p.query
}

func (q *Query) index() {
	q.place, q.roots = make(map[string]int, len(q.terms)), new(roots)
	for i, t := range q.terms {
		q.place[t.text] = i
		q.roots.add(t.text)
	}
}

// Empty reports a query without a single term.
func (q Query) Empty() bool { return len(q.terms) == 0 }

type parser struct {
	analyzer
	query Query
	seen  map[string]bool
	all   bool // stop words too
	first int  // the word before
	skip  bool // the word before was left out, and so are its other forms
	group map[string]int
	last  int // the group of the word before, stop words passed over; 0 is none, else one more
}

func (p *parser) add(term []byte, r role) {
	if r == letter || len(p.query.terms) == maxTerms {
		return
	}
	form := r == stem || r == plain
	if !form {
		stop := r == word && stopWords[string(term)]
		p.skip = p.seen[string(term)] || stop && !p.all
		if !p.skip {
			p.query.groups++
			p.group[string(term)] = p.query.groups
		}
		if !stop {
			p.pair(p.group[string(term)], r == word)
		}
	}
	if p.skip || p.seen[string(term)] {
		return
	}
	text := string(term)
	p.seen[text] = true
	if form {
		p.query.terms[p.first].weight = beside
	} else {
		p.first = len(p.query.terms)
	}
	p.query.terms = append(p.query.terms, queryTerm{text, p.query.groups - 1, 1})
}

// pair notes that a word comes after another one.
func (p *parser) pair(group int, word bool) {
	if word && p.last != 0 && p.last != group {
		if x := [2]int{p.last - 1, group - 1}; !slices.Contains(p.query.pairs, x) {
			p.query.pairs = append(p.query.pairs, x)
		}
	}
	p.last = 0
	if word {
		p.last = group
	}
}
