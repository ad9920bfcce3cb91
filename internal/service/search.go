package service

import (
	"context"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/page"
	"github.com/loci-memory/loci/internal/retrieve"
	"github.com/loci-memory/loci/internal/service/cursor"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/memorydb"
	"github.com/loci-memory/loci/internal/vector"
)

// SearchMemories finds memories by keywords, by vectors, or by both.
func (s *Service) SearchMemories(ctx context.Context, actor *identity.Actor,
	in loci.SearchMemories) (loci.FoundMemories, error) {
	// The search runs in several transactions without the Idempotency-Key. The
	// last one stores the response under the key, or returns a stored one.
	plain := actor.WithoutIdempotency()
	out, err := s.search(ctx, plain, in)
	if err != nil || actor.Idempotency == nil {
		return out, err
	}
	// With an Idempotency-Key, read stores the response or returns the stored one.
	kept, err := store.Read(ctx, s.Store, actor, func(tx *store.Tx) (loci.FoundMemories, error) {
		for _, m := range out.Memories {
			tx.LinkResponse(m.ID)
		}
		return out, requireReadable(tx, out)
	})
	if loci.Is(err, loci.CodeNotFound) { // deleted since the search
		return s.SearchMemories(ctx, actor, in)
	}
	if err != nil || !actor.Idempotency.Replayed {
		return kept, err
	}
	if there, err := s.allReadable(ctx, plain, kept); err != nil || there {
		return kept, err
	}
	actor.Idempotency.Replayed = false
	return out, nil
}

// allReadable reports whether the actor can still read all memories of a stored response. Memories that were deleted,
// or whose workspace the actor has left, must not be shown.
func (s *Service) allReadable(ctx context.Context, actor *identity.Actor, answer loci.FoundMemories) (bool, error) {
	_, err := store.Read(ctx, s.Store, actor, func(tx *store.Tx) (loci.Empty, error) {
		return loci.Empty{}, requireReadable(tx, answer)
	})
	if loci.Is(err, loci.CodeNotFound) {
		return false, nil
	}
	return err == nil, err
}

// requireReadable returns NotFound if a memory of a response is out of scope or deleted.
func requireReadable(tx *store.Tx, answer loci.FoundMemories) error {
	for _, m := range answer.Memories {
		if _, err := memorydb.Record(tx, m.ID); err != nil {
			return err
		}
	}
	return nil
}

// emptyQueryError returns the error for a query without searchable text.
func emptyQueryError() error {
	return loci.Errorf(loci.CodeInvalidQuery,
		"query holds no letter, digit or symbol: give it words, a question or a \"quoted phrase\"")
}

func (s *Service) search(ctx context.Context, actor *identity.Actor,
	in loci.SearchMemories) (out loci.FoundMemories, err error) {
	began := time.Now()
	if in.Query.Empty() {
		return out, emptyQueryError()
	}
	paging := in.Paging
	in.Paging = loci.Paging{}
	if in.Mode == "" {
		in.Mode = loci.ModeAuto
	}
	q := cursor.Query{Secret: s.Store.Secret(), Actor: actor, In: in}
	p, err := q.Parse(paging)
	if err != nil {
		return out, err
	}
	filter, err := in.MemoryFilter.At(s.Store.Now())
	if err != nil {
		return out, err
	}
	seen := retrieve.SeenSet(p.After.ID)
	limit := min(p.Limit, retrieve.MaxPagedResults-seen.Len())
	r, meta, err := s.retrieve(ctx, actor, in.Query, in.Mode, filter, nil, seen, limit)
	if err != nil {
		return out, err
	}
	if p.After.ID == "" {
		meta.Hint = searchHint(meta, len(r.Hits))
	}
	meta.Timings.TotalMs = retrieve.Milliseconds(time.Since(began))
	out = loci.FoundMemories{Memories: make([]loci.FoundMemory, len(r.Hits)), Mode: meta.ResolvedMode, Meta: meta}
	for i, m := range r.Hits {
		out.Memories[i] = loci.FoundMemory{Memory: m.Memory, Score: m.Score, Highlights: s.highlights(m)}
	}
	if r.HasMore && r.Seen.Len() < retrieve.MaxPagedResults {
		out.NextCursor = q.Encode(page.Key{ID: loci.ID(r.Seen)})
	}
	return out, nil
}

// searchHint returns a sentence for a search that found little or nothing, or "".
func searchHint(meta loci.SearchMeta, hits int) string {
	byWords := meta.ResolvedMode == loci.ResolvedKeyword || meta.ResolvedMode == loci.ResolvedKeywordFallback
	switch n := meta.Candidates; {
	case hits == 0 && byWords:
		return "Nothing fits: no memory that was searched holds a word of the query."
	case hits == 0:
		return "Nothing fits: no memory that was searched is near to the query."
	case n.Keyword == 0 && n.Semantic > 0 && meta.RequestedMode != loci.ModeSemantic:
		return "No memory holds a word of the query: these are the nearest by meaning."
	}
	return ""
}

// highlights returns the matches of the query, or else the beginning of the best chunk.
func (s *Service) highlights(f retrieve.Hit) []string {
	r := f.Matches
	if r.Empty() && f.Chunk > 1 && s.Embedder != nil {
		r = r.WithFallback(vector.ChunkStart(f.Memory.Title, f.Memory.Content, f.Chunk, s.Embedder))
	}
	return r.Highlights()
}

// retrieve searches in a mode within a filter. Each of its searches is a transaction of its own. The map authors
// receives the names of the authors, if it is not nil. The analysis of a long query waits until its user has its turn.
func (s *Service) retrieve(ctx context.Context, actor *identity.Actor, text loci.Query, mode loci.Mode,
	f loci.MemoryFilter, authors map[loci.ID]string, seen retrieve.SeenSet,
	limit int) (found retrieve.Result, meta loci.SearchMeta, err error) {
	find := func(q retrieve.Query) (retrieve.Result, error) {
		return store.Read(ctx, s.Store, actor, func(tx *store.Tx) (retrieve.Result, error) {
			memorydb.CollectAuthors(tx, authors)
			src, err := memorydb.NewSearchSource(tx, f)
			if err != nil {
				return retrieve.Result{}, err
			}
			return s.searcher.Search(src, q, seen, limit)
		})
	}
	var q retrieve.Query
	if err = s.Store.Analyze(ctx, actor, func() { q = retrieve.NewQuery(string(text)) }, string(text)); err != nil {
		return found, meta, err
	}
	return s.searcher.Run(ctx, retrieve.Request{CacheOwner: actor.CacheOwner(), Query: q, Mode: mode, Find: find})
}
