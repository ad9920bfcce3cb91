package retrieve

import (
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/dates"
	"github.com/loci-memory/loci/internal/query"
)

// A Query is a parsed query with its vectors. Without vectors keywords alone answer it, with them vectors alone, or
// both if it is Hybrid.
type Query struct {
	Text       string
	Keywords   query.Query
	Exact      query.ExactMatcher
	Dates      []dates.Date // named in the text
	Embeddings []Embedding  // one of each model whose vectors may answer
	Hybrid     bool
	MayFuse    bool // a hybrid search of the same query may follow

	previous *loadedRows
}

// NewQuery parses the text of a query.
func NewQuery(text string) Query {
	return Query{Text: text, Keywords: query.Parse(text), Exact: query.NewExactMatcher(text), Dates: dates.Parse(text)}
}

// WithPrevious returns the query for a search after a keyword search of it. The rows that the former has read are not
// read again unless something has changed.
func (q Query) WithPrevious(r Result) Query {
	q.previous = r.loaded
	return q
}

// An Embedding is the vector of a query. A workspace that answers from another model's vectors cannot use it.
type Embedding struct {
	Generation string // as the embedder names it
	Vector     []float32
}

// A Result is one page of memories, best first, ties by lower row id. It also has the number of candidates of each
// retriever.
type Result struct {
	Hits               []Hit
	HasMore            bool
	Seen               SeenSet // memories of this page and those before it
	KeywordCandidates  int     // memories that contain a word of the query
	SemanticCandidates int     // memories whose vectors were compared
	CacheHit           bool    // the keyword ranking was cached
	TopHit             TopHit

	Ignored   []string           // words of the query that did not count: see query.Query.Ignored
	Corrected []query.Correction // words for which others were searched

	loaded *loadedRows

	KeywordTime, SemanticTime, FusionTime time.Duration
}

// A Hit is a memory with its score and the matches of the query in its text.
type Hit struct {
	Memory  loci.Memory
	Score   float64
	Matches query.Matches
	Chunk   int // number of the chunk with the best vector, from 1 on; 0 if no vector counted
}

// A TopHit describes how well the best memory matches the words of a query.
type TopHit struct {
	QueryWords   int     // distinct words of the query
	MatchedWords int     // words of the query that the memory contains
	ScoreRatio   float64 // ratio of its score to that of the next one
	ExactMatch   string  // kind of exact match: see query.ExactMatcher.Match
}

// IsStrong reports whether keywords alone answer the query, and why.
func (h TopHit) IsStrong() (bool, string) {
	switch {
	case h.ExactMatch != "":
		return true, "the best memory has the " + h.ExactMatch
	case h.MatchedWords == 0:
		return false, "no memory holds a word of the query"
	case h.QueryWords == 1:
		return false, "one word alone says little about what is meant"
	case h.MatchedWords < h.QueryWords:
		return false, "the best memory lacks words of the query"
	case h.ScoreRatio < strongRatio:
		return false, "other memories come near the best one"
	}
	return true, "the best memory holds every word of the query, and no other comes near"
}
