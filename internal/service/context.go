package service

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/fence"
	"github.com/loci-memory/loci/internal/store"
)

// ReadContext gathers what an agent should know before it begins.
func (s *Service) ReadContext(ctx context.Context, who *loci.Actor, in loci.ReadContext) (loci.MemoryContext, error) {
	var out loci.MemoryContext
	if in.Query != "" && in.Query.Empty() {
		return out, emptyQuery()
	}
	list, err := read(ctx, s, who, func(tx *store.Tx) (list []loci.Memory, err error) {
		f := store.Filter{WorkspaceID: in.WorkspaceID, AtlasID: in.AtlasID}
		if in.AtlasID != "" {
			a, err := tx.AtlasRecord(in.AtlasID)
			if err != nil {
				return nil, err
			}
			out.Atlas = &a
		}
		if in.Query != "" {
			return relevant(tx, f, string(in.Query), in.Limit.Or20())
		}
		return foremost(tx, f, in.Limit.Or20())
	})
	if err != nil {
		return loci.MemoryContext{}, err
	}
	for {
		out.Groups, out.Markdown = snapshot(slices.Clone(list), int(in.MaxTokens))
		if len(list) <= 1 || store.JSONSize(&out) <= store.MaxPage {
			break
		}
		list = list[:len(list)*3/4] // what matters least comes last
	}
	out.Tokens, out.GeneratedAt = fence.Tokens(out.Markdown), s.Store.Now()
	return out, nil
}

// relevant returns the memories that answer a query best.
func relevant(tx *store.Tx, f store.Filter, query string, limit int) ([]loci.Memory, error) {
	found, err := tx.Find(store.Ask(query, 0), f, "", limit)
	list := make([]loci.Memory, len(found.Page))
	for i, m := range found.Page {
		list[i] = m.Memory
	}
	return list, err
}

// foremost returns the newest verified memories and the newest of all: reviewed
// ones have three quarters of the room, so that what is new is never crowded out.
func foremost(tx *store.Tx, f store.Filter, limit int) ([]loci.Memory, error) {
	p := store.Page{Limit: limit}
	newest, err := tx.Memories(f, p)
	if err != nil {
		return nil, err
	}
	f.Verified = true
	verified, err := tx.Memories(f, p)
	if err != nil {
		return nil, err
	}
	list := verified.Items[:min(len(verified.Items), limit-limit/4)]
	have := map[string]bool{}
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

// snapshot groups memories and writes them as a text of at most that many
// tokens; 0 is no bound.
func snapshot(list []loci.Memory, tokens int) ([]loci.ContextGroup, string) {
	slices.SortFunc(list, func(a, b loci.Memory) int {
		return cmp.Or(cmp.Compare(slices.Index(loci.ContextOrder, a.Type), slices.Index(loci.ContextOrder, b.Type)),
			-compare(a.Reviewed(), b.Reviewed()), compare(a.Expired, b.Expired),
			cmp.Compare(b.CreatedAt, a.CreatedAt), strings.Compare(b.ID, a.ID))
	})
	groups, fenced, tooLarge := []loci.ContextGroup{}, []fence.Group{}, []fence.Group(nil)
	for _, m := range list {
		f := fence.Memory{ID: m.ID, Author: m.CreatedBy, Title: m.Title, Content: m.Content, Type: string(m.Type), Verified: m.Reviewed(), Expired: m.Expired, Tags: m.Tags}
		if tokens > 0 && !fits(f, tokens) {
			tooLarge = append(tooLarge, fence.Group{Name: string(m.Type), Memories: []fence.Memory{f}})
			continue // it fits in no case, and shall not keep others out
		}
		if n := len(groups); n == 0 || groups[n-1].Type != m.Type {
			groups, fenced = append(groups, loci.ContextGroup{Type: m.Type}), append(fenced, fence.Group{Name: string(m.Type)})
		}
		last := len(groups) - 1
		groups[last].Memories, fenced[last].Memories = append(groups[last].Memories, m), append(fenced[last].Memories, f)
	}
	if tokens == 0 {
		return groups, fence.Markdown(contextTitle, fenced)
	}
	if len(fenced) == 0 {
		fenced = tooLarge // of which nothing is kept, but the text tells that there is something
	}
	kept, markdown := fence.Cut(fenced, tokens, contextTitle)
	groups = groups[:len(kept)]
	for i := range groups {
		groups[i].Memories = groups[i].Memories[:len(kept[i].Memories)]
	}
	return groups, markdown
}

// fits reports whether a text of that many tokens can show the memory alone.
func fits(m fence.Memory, tokens int) bool {
	if fence.Tokens(m.Content) > tokens {
		return false
	}
	kept, _ := fence.Cut([]fence.Group{{Name: m.Type, Memories: []fence.Memory{m}}}, tokens, contextTitle)
	return len(kept) > 0
}

const contextTitle = "What is known"

// compare orders false before true.
func compare(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}
