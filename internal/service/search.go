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

// SearchMemories finds memories by their words, their meaning, or both.
func (s *Service) SearchMemories(ctx context.Context, who *loci.Actor, in loci.SearchMemories) (loci.FoundMemories, error) {
	// The answer comes about in several transactions, of which none knows of an
	// Idempotency-Key; the last one keeps it, or gives the one that was kept.
	plain := *who
	plain.Once = nil
	out, err := s.search(ctx, &plain, in)
	if err != nil || who.Once == nil {
		return out, err
	}
	kept, err := read(ctx, s, who, func(*store.Tx) (loci.FoundMemories, error) { return out, nil })
	if err != nil || !who.Once.Replayed {
		return kept, err
	}
	if there, err := s.there(ctx, &plain, kept); err != nil || there {
		return kept, err
	}
	who.Once.Replayed = false
	return out, nil
}

// there reports whether all memories of an answer are still within reach. What was
// deleted meanwhile, or is in a workspace that somebody had to leave, is not shown again.
func (s *Service) there(ctx context.Context, who *loci.Actor, answer loci.FoundMemories) (bool, error) {
	_, err := read(ctx, s, who, func(tx *store.Tx) (nothing loci.Nothing, err error) {
		for _, m := range answer.Memories {
			if _, err = tx.MemoryRecord(m.ID); err != nil {
				break
			}
		}
		return nothing, err
	})
	if loci.Is(err, loci.NotFound) {
		return false, nil
	}
	return err == nil, err
}

// A seeker is a search under way.
type seeker struct {
	*Service
	ctx    context.Context
	who    *loci.Actor
	filter store.Filter
	before store.Shown
	limit  int

	asked   store.Question
	meaning []store.Meaning
	meta    loci.SearchMeta
	found   store.Findings
}

// emptyQuery returns the error for a query that nothing could answer.
func emptyQuery() error {
	return loci.Fail(loci.InvalidQuery,
		"query holds no letter, digit or symbol: give it words, a question or a \"quoted phrase\"")
}

func (s *Service) search(ctx context.Context, who *loci.Actor, in loci.SearchMemories) (out loci.FoundMemories, err error) {
	began := time.Now()
	if in.Query.Empty() {
		return out, emptyQuery()
	}
	cursor, limit := in.Cursor, in.Limit
	in.Cursor, in.Limit = "", 0
	if in.Mode == "" {
		in.Mode = loci.ModeAuto
	}
	q := question{s, who, "memory.search", in}
	p, err := q.page(cursor, limit)
	if err != nil {
		return out, err
	}
	k := &seeker{Service: s, ctx: ctx, who: who, before: store.Shown(p.After.ID), asked: store.Ask(string(in.Query), s.Without)}
	k.limit = min(p.Limit, maxCandidates-k.before.Len())
	k.filter = store.Filter{WorkspaceID: in.WorkspaceID, AtlasID: in.AtlasID, Kinds: in.Type, Tags: in.Tags.Different(), Include: in.Include}
	k.meta = loci.SearchMeta{RequestedMode: in.Mode, Cache: loci.CacheNone}
	if err := k.run(string(in.Query)); err != nil {
		return out, err
	}
	k.meta.Candidates = loci.Candidates{Keyword: k.found.Total, Semantic: k.found.Semantic}
	k.meta.IgnoredTerms = k.found.Ignored
	for _, c := range k.found.Corrected {
		k.meta.Corrected = append(k.meta.Corrected, loci.Correction{From: c.From, To: c.To})
	}
	k.meta.Timings.TotalMs = milliseconds(time.Since(began))
	out = loci.FoundMemories{Memories: make([]loci.FoundMemory, len(k.found.Page)), Mode: k.meta.ResolvedMode, Meta: k.meta}
	for i, m := range k.found.Page {
		out.Memories[i] = loci.FoundMemory{Memory: m.Memory, Score: m.Score, Highlights: k.highlights(m)}
	}
	if k.found.More && k.found.Shown.Len() < maxCandidates {
		out.NextCursor = q.cursor(store.Mark{ID: string(k.found.Shown)})
	}
	return out, nil
}

// highlights show the words, or else the beginning of the passage that was meant.
func (k *seeker) highlights(f store.Found) []string {
	r := f.Reading
	if r.Empty() && f.Passage > 1 && k.Embedder != nil {
		r = r.From(search.PassageStart(f.Memory.Title, f.Memory.Content, f.Passage, k.Embedder))
	}
	return r.Highlights()
}

// run answers in the mode that was asked for, or in the one that is left.
func (k *seeker) run(query string) error {
	switch mode := k.meta.RequestedMode; mode {
	case loci.ModeKeyword:
		return k.find(loci.ResolvedKeyword)
	case loci.ModeAuto:
		k.asked.Deep = true
		if err := k.find(loci.ResolvedKeyword); err != nil || k.meta.StrongKeyword {
			return err
		}
		if !k.understand(query, false) {
			k.meta.ResolvedMode = loci.KeywordFallback
			return nil
		}
		k.asked = k.asked.After(k.found)
		return k.find(loci.ResolvedHybrid)
	default:
		resolved := loci.ResolvedMode(mode)
		if !k.understand(query, mode == loci.ModeSemantic) {
			resolved = loci.KeywordFallback
		}
		return k.find(resolved)
	}
}

// find searches in a mode.
func (k *seeker) find(mode loci.ResolvedMode) (err error) {
	q := k.asked
	if mode == loci.ResolvedSemantic || mode == loci.ResolvedHybrid {
		q.Meaning, q.Fuse = k.meaning, mode == loci.ResolvedHybrid
	}
	k.found, err = read(k.ctx, k.Service, k.who, func(tx *store.Tx) (store.Findings, error) { return tx.Find(q, k.filter, k.before, k.limit) })
	if k.meta.ResolvedMode == "" && k.found.Known { // not by this question itself
		k.meta.Cache = loci.CacheQuery
	}
	k.meta.ResolvedMode = mode
	t := &k.meta.Timings
	t.KeywordMs += milliseconds(k.found.KeywordTook)
	t.SemanticMs += milliseconds(k.found.SemanticTook)
	t.FuseMs += milliseconds(k.found.FuseTook)
	if mode != loci.ResolvedSemantic {
		k.meta.StrongKeyword, k.meta.StrongKeywordReason = strong(k.found.Best)
	} else {
		k.meta.StrongKeywordReason = "words were not looked for"
	}
	return err
}

// understand embeds the query, within the time that there is, and reports whether
// that worked. What the model cannot read has no meaning for it, unless nothing
// else was asked for. While workspaces turn to another model, the one before
// answers for those that have not.
func (k *seeker) understand(query string, always bool) bool {
	began := time.Now()
	ok := k.read(&k.meanings, query, always)
	if f := k.former.model; ok && f != nil && k.Store.Answers(f.Generation()) {
		ok = k.read(&k.former, query, always)
	}
	k.meta.Timings.EmbedMs = milliseconds(time.Since(began))
	return ok
}

func (k *seeker) read(m *meanings, query string, always bool) bool {
	v, known, err := m.of(k.ctx, asked{k.who.UserID, query}, always)
	if err != nil {
		return false
	}
	if known && k.meta.Cache == loci.CacheNone {
		k.meta.Cache = loci.CacheEmbedding
	}
	if m == &k.meanings && v != nil && !k.Store.Understands(v) {
		return false
	}
	if v != nil {
		k.meaning = append(k.meaning, store.Meaning{Generation: m.model.Generation(), Vector: v})
	}
	return true
}

// strongMargin is over how many times the score of the next memory the best one is
// where words alone answer a query of several words. Measured: .92 of what meaning
// adds is kept on the worst set, and words alone answer up to a quarter of the
// questions.
const strongMargin = 2

// strong tells whether words alone answer a query, and why.
func strong(b store.Best) (bool, string) {
	switch {
	case b.Exact != "":
		return true, "the best memory has the " + b.Exact
	case b.Covered == 0:
		return false, "no memory holds a word of the query"
	case b.Words == 1:
		return false, "one word alone says little about what is meant"
	case b.Covered < b.Words:
		return false, "the best memory lacks words of the query"
	case b.Margin < strongMargin:
		return false, "other memories come near the best one"
	}
	return true, "the best memory holds every word of the query, and no other comes near"
}

// milliseconds has three digits.
func milliseconds(d time.Duration) float64 {
	return math.Round(float64(d.Nanoseconds())/1e3) / 1e3
}
