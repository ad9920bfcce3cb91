package search

// queryWords is how many different words of a query count, each with all of its forms:
// see limit.
const queryWords = 32

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

	left    map[string]bool // words that do not count because others are rarer: see limit
	ignored []string        // those of them that the workspace knows

	corrected []Correction
	checked   bool // only the doubted words may be misspelled: see Doubting
	doubted   []string

	// The words of a text in spaces that stand side by side but for stop words, by
	// their groups.
	pairs [][2]int

	glyphs []glyph // its characters of scripts without spaces, in their order

	// For reading texts: where each term stands in terms, which are families, and
	// what the words begin with that can become one of them.
	place    map[string]int
	first    []int // term of each word
	families []int
	roots    *roots
}

type queryTerm struct {
	text   string
	group  int // which of the query's words it is a form of
	weight float32
	count  int // times that the query has it
	role   role
	fixed  bool    // part of an identifier, or in quotation marks
	dated  bool    // in dates alone; its weight holds dateWordWeight
	kin    *family // of which it is any word; nil if it is its text
}

// beside is the weight of a word as it is spelled where its stem or accentless
// form is asked for too: by their one meaning they are found in the stem's list,
// so the exact word only tips the balance. Measured: weights from .25 to .5 are
// best, at 1 code loses .04 and conversations .02.
const beside = .3

// repeated is the factor in the weight of a term that stands so often in the query:
// BM25's, with a k3 of frequencySaturation.
func repeated(count int) float32 {
	return float32((frequencySaturation + 1) * float64(count) / (frequencySaturation + float64(count)))
}

// frequencySaturation is k3 of BM25.
const frequencySaturation = 1

// Parse turns the text of a query into its terms. Stop words are dropped unless
// nothing else is left.
func Parse(text string) Query { return parse(text, nil) }

// parse reads other words in place of some.
func parse(text string, repairs map[string]string) Query {
	p := newParser(text, repairs)
	p.analyze(text)
	if len(p.words) == 0 {
		p = newParser(text, repairs)
		p.all = true
		p.analyze(text)
	}
	q := p.finish(text)
	if q.foreign {
		q.damp()
	}
	return q
}

func (q *Query) index() {
	q.place, q.first, q.roots = make(map[string]int, len(q.terms)), make([]int, q.groups), new(roots)
	for i, t := range q.terms {
		if i == 0 || t.group != q.terms[i-1].group {
			q.first[t.group] = i
		}
		if t.kin == nil {
			q.place[t.text] = i
			q.roots.add(t.text)
		} else {
			q.families = append(q.families, i)
			q.roots.addFamily(t.kin.prefix)
		}
	}
}

// Corrected lists the words for which the query takes others, in their order.
func (q Query) Corrected() []Correction { return q.corrected }

// Empty reports a query without a single term.
func (q Query) Empty() bool { return len(q.terms) == 0 }
