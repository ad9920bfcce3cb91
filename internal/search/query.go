package search

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
	if p.query.foreign {
		p.query.damp()
	}
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
			q.roots.addFamily(t.kin.prefix)
		}
	}
}

// Empty reports a query without a single term.
func (q Query) Empty() bool { return len(q.terms) == 0 }
