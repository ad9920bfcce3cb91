package retrieve

import (
	"context"
	"math"
	"time"

	"github.com/loci-memory/loci"
)

// A Request is a search in a mode.
type Request struct {
	CacheOwner loci.ID // shares no cached query with another one
	Query      Query
	Mode       loci.Mode

	// Find answers a query from the database; it may be called twice.
	Find func(Query) (Result, error)
}

// Run answers a request in its mode, or in the mode that is available. The automatic mode searches by keywords, and
// adds vectors unless the keywords are strong.
func (e *Searcher) Run(ctx context.Context, r Request) (Result, loci.SearchMeta, error) {
	k := &modeRun{Searcher: e, Request: r, ctx: ctx,
		meta: loci.SearchMeta{RequestedMode: r.Mode, Cache: loci.CacheNone}}
	err := k.run()
	k.meta.Candidates = loci.CandidateCounts{Keyword: k.result.KeywordCandidates, Semantic: k.result.SemanticCandidates}
	k.meta.IgnoredTerms = k.result.Ignored
	for _, c := range k.result.Corrected {
		k.meta.Corrected = append(k.meta.Corrected, loci.Correction{From: c.From, To: c.To})
	}
	return k.result, k.meta, err
}

// A modeRun is a request in progress.
type modeRun struct {
	*Searcher
	Request
	ctx        context.Context
	embeddings []Embedding
	result     Result
	meta       loci.SearchMeta
}

func (k *modeRun) run() error {
	switch k.Mode {
	case loci.ModeKeyword:
		return k.find(loci.ResolvedKeyword)
	case loci.ModeAuto:
		k.Query.MayFuse = true
		if err := k.find(loci.ResolvedKeyword); err != nil || k.meta.StrongKeyword {
			return err
		}
		if !k.embedQuery() {
			k.meta.ResolvedMode = loci.ResolvedKeywordFallback
			return nil
		}
		k.Query = k.Query.WithPrevious(k.result)
		return k.find(loci.ResolvedHybrid)
	default:
		if !k.embedQuery() {
			return k.find(loci.ResolvedKeywordFallback)
		}
		return k.find(loci.ResolvedMode(k.Mode))
	}
}

// find searches in a mode.
func (k *modeRun) find(mode loci.ResolvedMode) (err error) {
	q := k.Query
	if mode == loci.ResolvedSemantic || mode == loci.ResolvedHybrid {
		q.Embeddings, q.Hybrid = k.embeddings, mode == loci.ResolvedHybrid
	}
	k.result, err = k.Find(q)
	// A second search may hit the entry of the first.
	if k.meta.ResolvedMode == "" && k.result.CacheHit {
		k.meta.Cache = loci.CacheQuery
	}
	k.meta.ResolvedMode = mode
	t := &k.meta.Timings
	t.KeywordMs = addMilliseconds(t.KeywordMs, k.result.KeywordTime)
	t.SemanticMs = addMilliseconds(t.SemanticMs, k.result.SemanticTime)
	t.FuseMs = addMilliseconds(t.FuseMs, k.result.FusionTime)
	if mode != loci.ResolvedSemantic {
		k.meta.StrongKeyword, k.meta.StrongKeywordReason = k.result.TopHit.IsStrong()
	} else {
		k.meta.StrongKeywordReason = "keywords were not searched"
	}
	return err
}

// embedQuery embeds the query within the timeout, and reports whether that worked. A query that the model cannot read
// has no vector, unless only semantic search was requested. While workspaces migrate to a new model, the previous model
// serves those that have not.
func (k *modeRun) embedQuery() bool {
	began := time.Now()
	v, ok := k.embedWith(&k.current)
	ok = ok && (v == nil || k.models.AcceptsVector(v))
	if ok {
		k.add(&k.current, v)
	}
	if p := k.previous.model; ok && p != nil && k.models.ServesGeneration(p.Generation()) {
		if v, ok = k.embedWith(&k.previous); ok {
			k.add(&k.previous, v)
		}
	}
	k.meta.Timings.EmbedMs = Milliseconds(time.Since(began))
	return ok
}

func (k *modeRun) embedWith(m *queryEmbedder) (v []float32, ok bool) {
	v, known, err := m.embedding(k.ctx, queryKey{k.CacheOwner, k.Query.Text}, k.Mode == loci.ModeSemantic)
	if known && k.meta.Cache == loci.CacheNone {
		k.meta.Cache = loci.CacheEmbedding
	}
	return v, err == nil
}

func (k *modeRun) add(m *queryEmbedder, v []float32) {
	if v != nil {
		k.embeddings = append(k.embeddings, Embedding{Generation: m.model.Generation(), Vector: v})
	}
}

// Milliseconds returns milliseconds with three decimals.
func Milliseconds(d time.Duration) float64 { return addMilliseconds(0, d) }

// addMilliseconds adds a duration to milliseconds. The sum has three decimals too, in spite of binary fractions.
func addMilliseconds(sum float64, d time.Duration) float64 {
	return float64(int64(math.Round(sum*1e3))+d.Round(time.Microsecond).Microseconds()) / 1e3
}
