package service

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/fence"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/page"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/memorydb"
)

// ReadContext gathers the memories that an agent needs before it begins.
func (s *Service) ReadContext(ctx context.Context, actor *identity.Actor,
	in loci.ReadContext) (loci.MemoryContext, error) {
	var out loci.MemoryContext
	if in.Query != "" && in.Query.Empty() {
		return out, emptyQueryError()
	}
	authors := map[loci.ID]string{}
	f, err := loci.MemoryFilter{WorkspaceID: in.WorkspaceID, AtlasID: in.AtlasID, Since: in.Since,
		Until: in.Until}.At(s.Store.Now())
	if err != nil {
		return out, err
	}
	total := 0
	list, err := store.Read(ctx, s.Store, actor, func(tx *store.Tx) (_ []loci.Memory, err error) {
		if in.AtlasID != "" {
			a, err := tx.AtlasRecord(in.AtlasID)
			if err != nil {
				return nil, err
			}
			out.Atlas = &a
		}
		if total, err = memorydb.Count(tx, f); err != nil || in.Query != "" {
			return nil, err
		}
		memorydb.CollectAuthors(tx, authors)
		return verifiedAndNewest(tx, f, in.Limit.OrDefault())
	})
	if err == nil && in.Query != "" {
		list, err = s.bestResults(ctx, actor, in.Query, loci.ModeAuto, f, authors, in.Limit.OrDefault())
	}
	if err != nil {
		return loci.MemoryContext{}, err
	}
	s.fillContext(&out, list, authors, int(in.MaxTokens), total)
	return out, nil
}

// atlasContextLimit is the most memories in the context of an atlas.
const atlasContextLimit = 20

// atlasContext returns the context snapshot of an atlas.
func (s *Service) atlasContext(tx *store.Tx, atlas loci.ID, tokens int) (out loci.MemoryContext, err error) {
	a, err := tx.AtlasRecord(atlas)
	if err != nil {
		return out, err
	}
	authors := map[loci.ID]string{}
	memorydb.CollectAuthors(tx, authors)
	f := loci.MemoryFilter{AtlasID: atlas}
	list, err := verifiedAndNewest(tx, f, atlasContextLimit)
	if err != nil {
		return out, err
	}
	total, err := memorydb.Count(tx, f)
	if err != nil {
		return out, err
	}
	for _, m := range list {
		tx.LinkResponse(m.ID)
	}
	out.Atlas = &a
	s.fillContext(&out, list, authors, tokens, total)
	return out, nil
}

// fillContext writes memories, the most important one first, into a snapshot that fits a page. They are some of all.
func (s *Service) fillContext(out *loci.MemoryContext, list []loci.Memory, authors map[loci.ID]string,
	tokens, total int) {
	render := func(tokens int) {
		for {
			out.Groups, out.Markdown = renderContext(slices.Clone(list), authors, tokens)
			if len(list) <= 1 || page.JSONSize(out) <= page.MaxBytes {
				break
			}
			list = list[:len(list)*3/4] // the least important memory is last
		}
		out.Omitted = total
		for _, g := range out.Groups {
			out.Omitted -= len(g.Memories)
		}
	}
	if render(tokens); out.Omitted > 0 && tokens > 0 { // the frame must have room for their number
		render(max(1, tokens-fence.Tokens("\n"+fence.OmittedNotice(total))))
	}
	out.Omitted = max(0, out.Omitted) // a memory may be new since they were counted
	out.Markdown = fence.Omitting(out.Markdown, out.Omitted)
	out.Tokens, out.GeneratedAt = fence.Tokens(out.Markdown), s.Store.Now()
}

// bestResults returns the memories that a search ranks first.
func (s *Service) bestResults(ctx context.Context, actor *identity.Actor, query loci.Query, mode loci.Mode,
	f loci.MemoryFilter, authors map[loci.ID]string, limit int) ([]loci.Memory, error) {
	found, _, err := s.retrieve(ctx, actor, query, mode, f, authors, "", limit)
	list := make([]loci.Memory, len(found.Hits))
	for i, m := range found.Hits {
		list[i] = m.Memory
	}
	return list, err
}

// bestInAtlas returns the memories of an atlas that a search by keywords ranks first.
func (s *Service) bestInAtlas(ctx context.Context, actor *identity.Actor, query loci.Query, atlas loci.ID,
	limit int) ([]loci.Memory, error) {
	return s.bestResults(ctx, actor, query, loci.ModeKeyword, loci.MemoryFilter{AtlasID: atlas}, nil, limit)
}

// verifiedAndNewest returns the newest verified memories and the newest of all. Verified ones get three quarters of the
// places, so that new ones always have some.
func verifiedAndNewest(tx *store.Tx, f loci.MemoryFilter, limit int) ([]loci.Memory, error) {
	p := page.Request{Limit: limit}
	newest, err := memorydb.List(tx, f, p)
	if err != nil {
		return nil, err
	}
	verified, err := memorydb.ListVerified(tx, f, p)
	if err != nil {
		return nil, err
	}
	list := verified.Items[:min(len(verified.Items), limit-limit/4)]
	have := map[loci.ID]bool{}
	for _, m := range list {
		have[m.ID] = true
	}
	for _, m := range append(newest.Items, verified.Items...) {
		if len(list) < limit && !have[m.ID] {
			have[m.ID] = true
			list = append(list, m)
		}
	}
	return list, nil
}

// renderContext groups memories and writes them as a text of at most that many tokens; 0 means no bound.
func renderContext(list []loci.Memory, authors map[loci.ID]string, tokens int) ([]loci.ContextGroup, string) {
	slices.SortFunc(list, func(a, b loci.Memory) int {
		return cmp.Or(cmp.Compare(slices.Index(loci.ContextGroupOrder, a.Type),
			slices.Index(loci.ContextGroupOrder, b.Type)),
			-compareBool(a.Reviewed(), b.Reviewed()), compareBool(a.Expired, b.Expired),
			cmp.Compare(b.CreatedAt, a.CreatedAt), cmp.Compare(b.ID, a.ID))
	})
	groups, fenced, tooLarge := []loci.ContextGroup{}, []fence.Group{}, []fence.Group(nil)
	for _, m := range list {
		f := fence.Memory{ID: string(m.ID), Author: authorText(authors[m.CreatedBy], m.CreatedBy), Title: m.Title,
			Content: m.Content, Type: string(m.Type), Changed: m.UpdatedAt.Std().Format(time.DateOnly),
			Verified: m.Reviewed(), Expired: m.Expired, Tags: m.Tags}
		if m.TitleDerived {
			f.Title = "" // the content has it
		}
		if tokens > 0 && !fitsAlone(f, tokens) {
			tooLarge = append(tooLarge, fence.Group{Name: string(m.Type), Memories: []fence.Memory{f}})
			continue // too large alone: it must not keep other memories out
		}
		if n := len(groups); n == 0 || groups[n-1].Type != m.Type {
			groups, fenced = append(groups, loci.ContextGroup{Type: m.Type}),
				append(fenced, fence.Group{Name: string(m.Type)})
		}
		last := len(groups) - 1
		groups[last].Memories, fenced[last].Memories = append(groups[last].Memories, m),
			append(fenced[last].Memories, f)
	}
	if tokens == 0 {
		return groups, fence.Markdown(contextTitle, fenced)
	}
	if len(fenced) == 0 {
		fenced = tooLarge // no memory is kept, but the text states that memories exist
	}
	kept, markdown := fence.MarkdownWithin(fenced, tokens, contextTitle)
	groups = groups[:len(kept)]
	for i := range groups {
		groups[i].Memories = groups[i].Memories[:len(kept[i].Memories)]
	}
	return groups, markdown
}

// authorText returns the name of an author with the id that distinguishes it: names are not unique. Without an account
// the id is all.
func authorText(name string, id loci.ID) string {
	if name == "" {
		return string(id)
	}
	return name + " (" + string(id) + ")"
}

// fitsAlone reports whether a text of that many tokens can show the memory alone.
func fitsAlone(m fence.Memory, tokens int) bool {
	if fence.Tokens(m.Content) > tokens {
		return false
	}
	kept, _ := fence.MarkdownWithin([]fence.Group{{Name: m.Type, Memories: []fence.Memory{m}}}, tokens, contextTitle)
	return len(kept) > 0
}

const contextTitle = "What is known"

// compareBool orders false before true.
func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}
