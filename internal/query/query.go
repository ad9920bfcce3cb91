package query

import "github.com/loci-memory/loci/internal/analysis"

// maxQueryWords is how many different words of a query count, each with all of its forms:
// see limit.
const maxQueryWords = 32

// Query is a parsed query: distinct terms in the order of its text. The zero
// Query matches nothing.
type Query struct {
	text              string // as it was asked
	terms             []queryTerm
	wordCount         int  // words and identifiers asked for
	nonEnglish        bool // some of its words end in ways that no stemmer here knows:
	nonEnglishLatin   bool // those in ASCII too
	ambiguousLanguage bool // they do where the workspace is not English: see settle

	droppedWords map[string]bool // words that do not count because others are rarer: see limit
	ignored      []string        // those of them that the workspace knows

	corrections      []Correction
	limitCorrections bool // only the doubted words may be misspelled: see Doubting
	correctable      []string

	// The words of a text in spaces that stand side by side but for stop words, by
	// their groups.
	wordBigrams [][2]int

	unigrams []cjkUnigram // its characters of scripts without spaces, in their order

	// For reading texts: where each term stands in terms, which are families, and
	// what the words begin with that can become one of them.
	termIndex      map[string]int
	firstTerm      []int // term of each word
	expansionTerms []int
	prefilter      *analysis.TermPrefilter
}

type queryTerm struct {
	text      string
	wordIndex int // which of the query's words it is a form of
	weight    float32
	count     int // times that the query has it
	tokenType analysis.TokenType
	verbatim  bool             // part of an identifier, or in quotation marks
	dated     bool             // in dates alone; its weight holds dateWordWeight
	expansion *prefixExpansion // of which it is any word; nil if it is its text
}

// surfaceFormWeight is the weight of a word as it is spelled where its stem or accentless
// form is asked for too: by their one meaning they are found in the stem's list,
// so the exact word only tips the balance. Measured: weights from .25 to .5 are
// best, at 1 code loses .04 and conversations .02.
const surfaceFormWeight = .3

// queryTermFreqWeight is the factor in the weight of a term that stands so often in the query:
// BM25's, with a k3 of frequencySaturation.
func queryTermFreqWeight(count int) float32 {
	return float32((bm25K3 + 1) * float64(count) / (bm25K3 + float64(count)))
}

// bm25K3 is k3 of BM25.
const bm25K3 = 1

// Parse turns the text of a query into its terms. Stop words are dropped unless
// nothing else is left.
func Parse(text string) Query { return parse(text, nil) }

// parse reads other words in place of some.
func parse(text string, corrections map[string]string) Query {
	p := newParser(text, corrections)
	p.Analyze(text)
	if len(p.words) == 0 {
		p = newParser(text, corrections)
		p.keepStopWords = true
		p.Analyze(text)
	}
	q := p.finish(text)
	if q.nonEnglish {
		q.weakenStopWords()
	}
	return q
}

func (q *Query) buildLookup() {
	q.termIndex, q.firstTerm, q.prefilter = make(map[string]int, len(q.terms)), make([]int, q.wordCount),
		new(analysis.TermPrefilter)
	for i, t := range q.terms {
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

// Corrections lists the words for which the query takes others, in their order.
func (q Query) Corrections() []Correction { return q.corrections }

// Empty reports a query without a single term.
func (q Query) Empty() bool { return len(q.terms) == 0 }
