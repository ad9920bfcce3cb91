package query

import (
	"unsafe"

	"github.com/loci-memory/loci/internal/analysis"
	"github.com/loci-memory/loci/internal/index"
)

// Query is a parsed query: distinct terms in the order of its text. The zero Query matches nothing.
type Query struct {
	text              string // the text that was parsed
	terms             []queryTerm
	wordCount         int  // words, identifiers, bigrams and characters
	expandsWords      bool // words beyond ASCII are expanded by prefix
	expandsASCII      bool // words in ASCII are expanded as well
	ambiguousLanguage bool // the workspace decides about the language: see resolveLanguage
	minScore          float32

	droppedWords map[string]bool // words that limitQuery dropped
	ignored      []string        // dropped words that occur in the workspace

	corrections      []Correction
	limitCorrections bool // only the words of correctable may be corrected: see CorrectOnly
	correctable      []string

	// Pairs of adjacent words of the text, apart from stop words, as word indexes.
	wordBigrams [][2]int

	unigrams []queryUnigram // characters of scripts without spaces, in text order

	// Look-up tables for matching texts.
	termIndex      map[string]int // index in terms
	firstTerm      []int          // first term of each word
	expansionTerms []int          // terms with an expansion
	prefilter      *analysis.TermPrefilter
}

// A queryTerm is one form of a word of the query: the word itself, its stem, or an expansion.
type queryTerm struct {
	text           string
	hash           uint64 // of the text
	wordIndex      int    // word of which it is a form
	weight         float32
	count          int // occurrences in the query
	lastOccurrence int // of the word in the query, counted in words; set in its first term
	tokenType      analysis.TokenType
	verbatim       bool             // part of an identifier, or in quotation marks
	dated          bool             // occurs only in dates; weight includes dateWordWeight
	sharedForm     string           // form that an earlier word has, if any; set in the first term
	expansion      *prefixExpansion // set of terms in place of text; nil for text alone
}

// surfaceFormWeight is the weight of a word as it is spelled beside its stem or unaccented form. The postings of that
// form contain the word, so the exact word only breaks ties. Measured: weights from .25 to .5 are best. At 1, code
// loses .04 and conversations .02.
const surfaceFormWeight = .3

// queryTermFreqWeight returns the query term factor of BM25 for a term that occurs count times in the query.
func queryTermFreqWeight(count int) float32 {
	return float32((bm25K3 + 1) * float64(count) / (bm25K3 + float64(count)))
}

// bm25K3 is the parameter k3 of BM25, which saturates the frequency of a term in the query. With 1, a repeated word
// counts less than twice as much as a single one.
const bm25K3 = 1

// Parse parses the text of a query. It drops stop words, unless nothing else is left.
func Parse(text string) Query { return parse(text, nil) }

// parse parses a query with some words replaced by corrections.
func parse(text string, corrections map[string]string) Query {
	p := newParser(text, corrections)
	p.Analyze(text)
	if len(p.words) == 0 {
		p = newParser(text, corrections)
		p.keepStopWords = true
		p.Analyze(text)
	}
	q := p.finish(text)
	if q.expandsWords {
		q.weakenStopWords()
	}
	return q
}

// buildLookup builds the look-up tables of the terms.
func (q *Query) buildLookup() {
	q.termIndex, q.firstTerm, q.expansionTerms = make(map[string]int, len(q.terms)), make([]int, q.wordCount), nil
	q.prefilter = new(analysis.TermPrefilter)
	for i, t := range q.terms {
		q.terms[i].hash = index.HashTerm(t.text)
		if i == 0 || t.wordIndex != q.terms[i-1].wordIndex {
			q.firstTerm[t.wordIndex] = i
		}
		if t.expansion == nil {
			q.termIndex[t.text] = i
			q.prefilter.AddTerm(t.text)
		} else {
			q.expansionTerms = append(q.expansionTerms, i)
			q.prefilter.AddPrefix(t.expansion.prefix)
		}
	}
}

// WithMinScore returns the query without the hits that score less. Their number still counts.
func (q Query) WithMinScore(score float32) Query {
	q.minScore = score
	return q
}

// Corrections returns the corrections of misspelled words in the order of the query.
func (q Query) Corrections() []Correction { return q.corrections }

// SharesTerms reports whether two queries have the same terms in memory.
func (q *Query) SharesTerms(other *Query) bool {
	return len(q.terms) == len(other.terms) && (len(q.terms) == 0 || &q.terms[0] == &other.terms[0])
}

// SizeBytes returns about the size of the terms and tables of the query in RAM, beside the Query.
func (q *Query) SizeBytes() int {
	n := len(q.text) + int(unsafe.Sizeof(analysis.TermPrefilter{})) + 24*len(q.ignored) + 32*len(q.corrections) +
		16*len(q.wordBigrams) + 40*len(q.unigrams) + 8*len(q.firstTerm)
	for _, t := range q.terms {
		n += int(unsafe.Sizeof(t)) + 2*len(t.text) + 64
		if e := t.expansion; e != nil {
			n += int(unsafe.Sizeof(*e)) + 32*len(e.terms)
		}
	}
	return n
}

// Empty reports whether the query has no terms.
func (q Query) Empty() bool { return len(q.terms) == 0 }
