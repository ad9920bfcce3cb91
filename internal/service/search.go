package service

import (
	"context"
	"math"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/retrieve"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/vector"
)

// SearchMemories finds memories by keywords, by vectors, or by both.
func (s *Service) SearchMemories(ctx context.Context, actor *identity.Actor,
	in loci.SearchMemories) (loci.FoundMemories,
	error) {
	// The search runs in several transactions without the Idempotency-Key. The
	// last one stores the answer under the key, or replays a stored one.
	plain := *actor
	plain.Idempotency = nil
	out, err := s.search(ctx, &plain, in)
	if err != nil || actor.Idempotency == nil {
		return out, err
	}
	kept, err := read(ctx, s, actor, func(*store.Tx) (loci.FoundMemories, error) { return out, nil })
	if err != nil || !actor.Idempotency.Replayed {
		return kept, err
	}
	if there, err := s.allReadable(ctx, &plain, kept); err != nil || there {
		return kept, err
	}
	actor.Idempotency.Replayed = false
	return out, nil
}

// allReadable reports whether the actor can still read all memories of an
// answer. A replay must not show deleted memories, or those of a workspace that
// the actor has left.
func (s *Service) allReadable(ctx context.Context, actor *identity.Actor, answer loci.FoundMemories) (bool, error) {
	_, err := read(ctx, s, actor, func(tx *store.Tx) (nothing loci.Empty, err error) {
		for _, m := range answer.Memories {
			if _, err = tx.MemoryRecord(m.ID); err != nil {
				break
			}
		}
		return nothing, err
	})
	if loci.Is(err, loci.CodeNotFound) {
		return false, nil
	}
	return err == nil, err
}

// A searchRequest is a search in progress.
type searchRequest struct {
	*Service
	ctx    context.Context
	who    *identity.Actor
	filter store.Filter
	seen   retrieve.SeenSet
	limit  int

	query      retrieve.Query
	embeddings []retrieve.Embedding
	meta       loci.SearchMeta
	result     retrieve.Result
}

// emptyQueryError returns the error for a query without searchable text.
func emptyQueryError() error {
	return loci.Errorf(loci.CodeInvalidQuery,
		"query holds no letter, digit or symbol: give it words, a question or a \"quoted phrase\"")
}

func (s *Service) search(ctx context.Context, actor *identity.Actor, in loci.SearchMemories) (out loci.FoundMemories,
	err error) {
	began := time.Now()
	if in.Query.Empty() {
		return out, emptyQueryError()
	}
	paging := in.Paging
	in.Paging = loci.Paging{}
	if in.Mode == "" {
		in.Mode = loci.ModeAuto
	}
	q := pageQuery{s, actor, in}
	p, err := q.parse(paging)
	if err != nil {
		return out, err
	}
	k := &searchRequest{Service: s, ctx: ctx, who: actor, seen: retrieve.SeenSet(p.After.ID),
		query: retrieve.NewQuery(string(in.Query))}
	k.limit = min(p.Limit, retrieve.MaxPagedResults-k.seen.Len())
	k.filter = store.Filter{WorkspaceID: string(in.WorkspaceID), AtlasID: string(in.AtlasID), Types: in.Type,
		Tags:    in.Tags.Unique(),
		Include: in.Include}
	k.meta = loci.SearchMeta{RequestedMode: in.Mode, Cache: loci.CacheNone}
	if err := k.run(string(in.Query)); err != nil {
		return out, err
	}
	k.meta.Candidates = loci.Candidates{Keyword: k.result.KeywordCount, Semantic: k.result.SemanticCount}
	k.meta.IgnoredTerms = k.result.Ignored
	for _, c := range k.result.Corrected {
		k.meta.Corrected = append(k.meta.Corrected, loci.Correction{From: c.From, To: c.To})
	}
	k.meta.Timings.TotalMs = toMilliseconds(time.Since(began))
	out = loci.FoundMemories{Memories: make([]loci.FoundMemory, len(k.result.Hits)), Mode: k.meta.ResolvedMode,
		Meta: k.meta}
	for i, m := range k.result.Hits {
		out.Memories[i] = loci.FoundMemory{Memory: m.Memory, Score: m.Score, Highlights: k.highlights(m)}
	}
	if k.result.HasMore && k.result.Seen.Len() < retrieve.MaxPagedResults {
		out.NextCursor = q.cursor(store.PageKey{ID: string(k.result.Seen)})
	}
	return out, nil
}

// highlights returns the matches of the query, or else the beginning of the
// best chunk.
func (k *searchRequest) highlights(f retrieve.Hit) []string {
	r := f.Matches
	if r.Empty() && f.Chunk > 1 && k.Embedder != nil {
		r = r.WithFallback(vector.ChunkStart(f.Memory.Title, f.Memory.Content, f.Chunk, k.Embedder))
	}
	return r.Highlights()
}

// run searches in the requested mode, or in the mode that is available.
func (k *searchRequest) run(query string) error {
	switch mode := k.meta.RequestedMode; mode {
	case loci.ModeKeyword:
		return k.search(loci.ResolvedKeyword)
	case loci.ModeAuto:
		k.query.MayFuse = true
		if err := k.search(loci.ResolvedKeyword); err != nil || k.meta.StrongKeyword {
			return err
		}
		if !k.embedQuery(query, false) {
			k.meta.ResolvedMode = loci.ResolvedKeywordFallback
			return nil
		}
		k.query = k.query.WithPrevious(k.result)
		return k.search(loci.ResolvedHybrid)
	default:
		resolved := loci.ResolvedMode(mode)
		if !k.embedQuery(query, mode == loci.ModeSemantic) {
			resolved = loci.ResolvedKeywordFallback
		}
		return k.search(resolved)
	}
}

// search searches in a mode.
func (k *searchRequest) search(mode loci.ResolvedMode) (err error) {
	q := k.query
	if mode == loci.ResolvedSemantic || mode == loci.ResolvedHybrid {
		q.Embeddings, q.Hybrid = k.embeddings, mode == loci.ResolvedHybrid
	}
	k.result, err = read(k.ctx, k.Service, k.who, func(tx *store.Tx) (retrieve.Result, error) {
		return k.find(tx, q, k.filter, k.seen, k.limit)
	})
	// a second run may hit the entry of the first
	if k.meta.ResolvedMode == "" && k.result.CacheHit {
		k.meta.Cache = loci.CacheQuery
	}
	k.meta.ResolvedMode = mode
	t := &k.meta.Timings
	t.KeywordMs += toMilliseconds(k.result.KeywordTime)
	t.SemanticMs += toMilliseconds(k.result.SemanticTime)
	t.FuseMs += toMilliseconds(k.result.FusionTime)
	if mode != loci.ResolvedSemantic {
		k.meta.StrongKeyword, k.meta.StrongKeywordReason = k.result.TopHit.IsStrong()
	} else {
		k.meta.StrongKeywordReason = "keywords were not searched"
	}
	return err
}

// find searches within a filter.
func (s *Service) find(tx *store.Tx, q retrieve.Query, f store.Filter, seen retrieve.SeenSet,
	limit int) (retrieve.Result, error) {
	src, err := tx.SearchSource(f)
	if err != nil {
		return retrieve.Result{}, err
	}
	return s.searcher.Search(src, q, seen, limit)
}

// embedQuery embeds the query within the timeout, and reports whether that
// worked. A query that the model cannot read has no vector, unless only
// semantic search was requested. While workspaces migrate to a new model, the
// previous model serves those that have not.
func (k *searchRequest) embedQuery(query string, always bool) bool {
	began := time.Now()
	ok := k.embedWith(&k.queryEmbedder, query, always)
	if f := k.previousEmbedder.model; ok && f != nil && k.Store.Embedder().ServesGeneration(f.Generation()) {
		ok = k.embedWith(&k.previousEmbedder, query, always)
	}
	k.meta.Timings.EmbedMs = toMilliseconds(time.Since(began))
	return ok
}

func (k *searchRequest) embedWith(m *queryEmbedder, query string, always bool) bool {
	v, known, err := m.embedding(k.ctx, queryKey{k.who.UserID, query}, always)
	if err != nil {
		return false
	}
	if known && k.meta.Cache == loci.CacheNone {
		k.meta.Cache = loci.CacheEmbedding
	}
	if m == &k.queryEmbedder && v != nil && !k.Store.Embedder().AcceptsVector(v) {
		return false
	}
	if v != nil {
		k.embeddings = append(k.embeddings, retrieve.Embedding{Generation: m.model.Generation(), Vector: v})
	}
	return true
}

// toMilliseconds returns milliseconds with three decimals.
func toMilliseconds(d time.Duration) float64 {
	return math.Round(float64(d.Nanoseconds())/1e3) / 1e3
}
