package service

import (
	"context"
	"math"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/search"
	"github.com/loci-memory/loci/internal/store"
)

// maxCandidates is how far one may page through an answer.
const maxCandidates = 1000

// SearchMemories finds memories. There is no embedder yet: what asks for
// meaning is answered by keywords, and says so.
func (s *Service) SearchMemories(ctx context.Context, who *loci.Actor, in loci.SearchMemories) (loci.FoundMemories, error) {
	began := time.Now()
	cursor, limit := in.Cursor, in.Limit
	in.Cursor, in.Limit = "", 0
	if in.Mode == "" {
		in.Mode = loci.ModeAuto
	}
	q := question{s, who, "memory.search", in}
	p, err := q.page(cursor, limit)
	if err != nil {
		return loci.FoundMemories{}, err
	}
	skip := int(p.After.At)
	p.Limit = min(p.Limit, maxCandidates-skip)
	parsed := search.Parse(string(in.Query))
	f := store.Filter{WorkspaceID: in.WorkspaceID, AtlasID: in.AtlasID, Kinds: in.Type, Tags: in.Tags.Different(), Include: in.Include}
	found, err := read(ctx, s, who, func(tx *store.Tx) (store.Findings, error) { return tx.Find(parsed, f, skip, p.Limit) })
	if err != nil {
		return loci.FoundMemories{}, err
	}
	out := loci.FoundMemories{Memories: make([]loci.FoundMemory, len(found.Page)), Meta: meta(in.Mode, found)}
	for i, m := range found.Page {
		out.Memories[i] = loci.FoundMemory{Memory: m.Memory, Score: m.Score, Highlights: search.Highlights(m.Memory.Content, parsed)}
	}
	if next := skip + p.Limit; found.More && next < maxCandidates {
		out.NextCursor = q.cursor(store.Mark{At: loci.Time(next)})
	}
	out.Mode = out.Meta.ResolvedMode
	took := milliseconds(time.Since(began))
	out.Meta.Timings = loci.SearchTimings{KeywordMs: took, TotalMs: took}
	return out, nil
}

// meta tells how the question was answered.
func meta(asked loci.Mode, found store.Findings) loci.SearchMeta {
	m := loci.SearchMeta{RequestedMode: asked, ResolvedMode: loci.KeywordFallback, Cache: loci.CacheNone, Candidates: loci.Candidates{Keyword: found.Total}}
	switch {
	case len(found.Page) == 0:
		m.StrongKeywordReason = "no memory holds a word of the query"
	case found.Covered == found.Words:
		m.StrongKeyword, m.StrongKeywordReason = true, "the best memory holds every word of the query"
	default:
		m.StrongKeywordReason = "the best memory does not hold every word of the query"
	}
	if asked == loci.ModeKeyword || asked == loci.ModeAuto && m.StrongKeyword {
		m.ResolvedMode = loci.ResolvedKeyword
	}
	return m
}

// milliseconds has three digits.
func milliseconds(d time.Duration) float64 {
	return math.Round(float64(d.Nanoseconds())/1e3) / 1e3
}
