package retrieve

import (
	"time"

	"github.com/loci-memory/loci/internal/query"
)

// Depths of the keyword retriever.
const (
	// maxKeywordHits is the number of hits ranked in a workspace with conversations, whose turns raise each other. It
	// is also the number of hits kept for the pages of a search, unless these need more.
	maxKeywordHits = 1000
	// rescoreDepth is the number of best hits rescored by their texts, because the index has no positions. Measured:
	// rescoring all hits is not better.
	rescoreDepth = 20
	// exactRescoreDepth is the same for a query with a quoted phrase, or of one identifier.
	exactRescoreDepth = 100
)

// Weights of the turns of a conversation in one another's scores. An answer often has no word of the question, which is
// in the turn before. Measured on conversations: .05 of nDCG and .10 of recall for keywords, .02 for semantics. Half or
// twice the weights are as good.
var (
	keywordNeighborWeights  = query.NeighborWeights{Adjacent: .3, TwoApart: .1, GroupBest: .3}
	semanticNeighborWeights = query.NeighborWeights{Adjacent: .1, GroupBest: .1}
)

// Depths of the semantic retriever.
const (
	// minCandidates is the number of vectors that are compared whole, the nearest by their codes of all workspaces.
	minCandidates = 200
	// maxCandidates stops the doubling for further pages: 1600 candidates are doubled a last time.
	maxCandidates = 2 * maxKeywordHits
	// crossScoredHits is the number of best keyword hits whose vectors are compared too, so that both retrievers score
	// them. Measured: twice as many change nothing.
	crossScoredHits = 50
	// chunksPerCrossScoredHit is the number of chunks of each of those that are compared.
	chunksPerCrossScoredHit = 4
)

// Parameters of the fusion: a convex combination of scores, each divided by the best score of its retriever (Bruch, Gai
// and Ingber, An Analysis of Fusion Functions for Hybrid Retrieval, 2023). semanticWeight is the weight of the semantic
// retriever beside 1. rankDamping damps the scores slightly by rank, as reciprocal rank fusion does (Cormack, Clarke
// and Buettcher, 2009). Reciprocal ranks alone, with the constant 60 and equal weights, let the weaker retriever
// harm the stronger one. Measured with these values, it never does. Weights from .5 to .8 are as good.
const (
	rankDamping    = 1000
	semanticWeight = .7
)

// fusionWindow is the number of best keyword hits that are fused.
const fusionWindow = 200

// strongRatio is the least ratio of the best two scores at which keywords alone answer. It holds for queries of several
// words. Measured: .92 of the gain from vectors is kept on the worst dataset. Keywords alone answer up to a quarter of
// the queries.
const strongRatio = 2

// noRunnerUp is the score ratio of a hit without another one behind it.
const noRunnerUp = 1e9

// Bounds of similar memories. The list of a stored memory has related texts; its least cosine was not measured. The
// writer of a new memory is to see what says the same or may be replaced: "We switched from pnpm to bun" has .66 with
// "We use pnpm", and few unrelated sentences have .55.
var (
	SimilarToStored = SimilarLimits{least: .5, most: 100, candidates: minCandidates}
	SimilarToNew    = SimilarLimits{least: .6, most: 5, candidates: 32}
)

// defaultEmbedTimeout is the time for which a search waits for the vector of its query before keywords alone answer.
const defaultEmbedTimeout = 300 * time.Millisecond

// heldShare is the share of the budget of all caches that one search holds in snapshots of several workspaces.
const heldShare = 16

// Bounds of cached rankings. They are their bytes and the time for which each is used. The time covers the next page
// and the hybrid search that follows. A ranking is never used for another state of an index.
const (
	maxRankingBytes = 12 << 20
	rankingTTL      = 10 * time.Second
)

// Bounds of an answer.
const (
	MaxPagedResults = 1000    // memories on all pages of a search
	maxIgnored      = 100     // ignored words of the query that are reported
	maxCorrected    = 20      // corrected words of the query that are reported
	highlightBytes  = 8 << 10 // reserved on a page for the highlights of one memory
)

// minMerged is the number of merged hits from which on those are dropped that no page needs.
const minMerged = 64
