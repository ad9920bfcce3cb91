package loci

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Query is the text of a search.
type Query string

// Rule requires 1 to 2,000 characters.
func (Query) Rule() Rule {
	return Rule{MinLength: 1, MaxLength: 2000, Description: "Words, a question or a \"quoted phrase\""}
}

// Empty reports whether a query has no searchable text: only white space, punctuation and invisible characters.
func (q Query) Empty() bool {
	return !strings.ContainsFunc(string(q), func(r rune) bool {
		return !unicode.IsSpace(r) && !unicode.IsPunct(r) && !unicode.In(r, unicode.Cc, unicode.Cf)
	})
}

// charsPerCall is how many characters of a query count as one call of the rate.
const charsPerCall = 200

func (q Query) cost() int { return 1 + utf8.RuneCountInString(string(q))/charsPerCall }

// A Mode is a search mode.
type Mode string

// The modes of a request.
const (
	ModeAuto     Mode = "auto"
	ModeKeyword  Mode = "keyword"
	ModeSemantic Mode = "semantic"
	ModeHybrid   Mode = "hybrid"
)

// Rule lists the modes of a request.
func (Mode) Rule() Rule {
	return Rule{Enum: enumValues(ModeAuto, ModeKeyword, ModeSemantic, ModeHybrid), Default: "auto",
		Description: "Default: auto"}
}

// A ResolvedMode is the mode that a search used.
type ResolvedMode string

// The modes of a response. KeywordFallback means keyword results because the query could not be embedded in time.
const (
	ResolvedKeyword         ResolvedMode = "keyword"
	ResolvedSemantic        ResolvedMode = "semantic"
	ResolvedHybrid          ResolvedMode = "hybrid"
	ResolvedKeywordFallback ResolvedMode = "keyword_fallback"
)

// Rule lists the modes of a response.
func (ResolvedMode) Rule() Rule {
	return Rule{Enum: enumValues(ResolvedKeyword, ResolvedSemantic, ResolvedHybrid, ResolvedKeywordFallback)}
}

// A CacheLevel names the cached part of a search.
type CacheLevel string

// The levels of the cache.
const (
	CacheNone      CacheLevel = "none"
	CacheQuery     CacheLevel = "query"
	CacheEmbedding CacheLevel = "embedding"
)

// Rule lists the levels.
func (CacheLevel) Rule() Rule { return Rule{Enum: enumValues(CacheNone, CacheQuery, CacheEmbedding)} }

// SearchMemories is the input of memory.search.
type SearchMemories struct {
	Query Query `json:"query"`
	Mode  Mode  `json:"mode,omitzero"`
	MemoryFilter
	Paging `tool:"limit=10"`
}

// Cost returns how many calls of the rate a search counts as.
func (in SearchMemories) Cost() int { return in.Query.cost() }

// A FoundMemory is a memory with its score and highlights.
type FoundMemory struct {
	Memory
	Score      float64  `json:"score" jsonschema:"Best first; comparable within one answer only"`
	Highlights []string `json:"highlights" jsonschema:"Snippets with the matching words" show:"snippets"`
}

// FoundMemories is the output of memory.search.
type FoundMemories struct {
	Memories []FoundMemory `json:"memories" show:"columns=id score title:28 atlas:12 author:12 type status=active verifiedAt updatedAt"`
	Mode     ResolvedMode  `json:"mode"`
	Meta     SearchMeta    `json:"meta"`
	Page
}

// SearchMeta describes how a search was done.
type SearchMeta struct {
	RequestedMode       Mode            `json:"requestedMode"`
	ResolvedMode        ResolvedMode    `json:"resolvedMode" show:"-"`
	Cache               CacheLevel      `json:"cache" show:"-"`
	StrongKeyword       bool            `json:"strongKeyword" show:"-"`
	StrongKeywordReason string          `json:"strongKeywordReason" show:"-"`
	Candidates          CandidateCounts `json:"candidates" show:"-"`
	IgnoredTerms        []string        `json:"ignoredTerms,omitzero" jsonschema:"Words of a long query that were ignored"`
	Corrected           []Correction    `json:"corrected,omitzero" jsonschema:"Misspelled words"`
	Hint                string          `json:"hint,omitzero" jsonschema:"Present if little or nothing fits: a sentence"`
	Timings             SearchTimings   `json:"timings" show:"-"`
}

// A Correction is an unknown word of a query, and the word that was searched in its place.
type Correction struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// CandidateCounts counts the results of each retriever.
type CandidateCounts struct {
	Keyword  int `json:"keyword"`
	Semantic int `json:"semantic"`
}

// SearchTimings are the times of the stages of a search, in milliseconds.
type SearchTimings struct {
	KeywordMs  float64 `json:"keywordMs"`
	EmbedMs    float64 `json:"embedMs"`
	SemanticMs float64 `json:"semanticMs"`
	FuseMs     float64 `json:"fuseMs"`
	TotalMs    float64 `json:"totalMs"`
}
