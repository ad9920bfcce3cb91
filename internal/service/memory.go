package service

import (
	"context"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/search"
	"github.com/loci-memory/loci/internal/store"
)

// CreateMemory stores a memory in the atlas that was named or that draws it.
func (s *Service) CreateMemory(ctx context.Context, who *loci.Actor, in loci.CreateMemory) (loci.CreatedMemory, error) {
	m := loci.Memory{Title: string(in.Title), Content: string(in.Content), Type: in.Type, Tags: in.Tags.Different()}
	if m.Type == "" {
		m.Type = loci.Note
	}
	if strings.TrimSpace(m.Title) == "" {
		m.Title = loci.DeriveTitle(m.Content)
	}
	if in.Source != nil && *in.Source != (loci.Source{}) {
		m.Source = in.Source
	}
	document := search.Analyze(m.Title, m.Content).Encode()
	return write(ctx, s, who, func(tx *store.Tx) (out loci.CreatedMemory, err error) {
		a, routing, err := place(tx, in, m)
		if err != nil {
			return out, err
		}
		equal, found, err := a.Equal(m.Content)
		if err != nil {
			return out, err
		}
		if found && in.OnDuplicate == loci.OnDuplicateReturn {
			tx.Concerns(equal.ID)
			return loci.ExistingMemory(loci.NewMemory{Memory: equal, Routing: routing}), nil
		}
		out.Memory.Memory, err = a.AddMemory(m, document)
		out.Memory.Routing, out.Memory.DuplicateOf = routing, equal.ID
		return out, err
	})
}

// place returns the atlas that a memory goes to, and why.
func place(tx *store.Tx, in loci.CreateMemory, m loci.Memory) (*store.Atlas, loci.Routing, error) {
	if in.AtlasID != "" {
		a, err := named(tx, in)
		if err != nil {
			return nil, loci.Routing{}, err
		}
		return a, loci.Routing{AtlasID: a.ID(), Matched: []string{}}, nil
	}
	shelf, err := tx.Shelf(in.WorkspaceID)
	if err != nil {
		return nil, loci.Routing{}, err
	}
	best, matched := loci.Route(shelf.Keywords, append([]string{m.Title, m.Content}, m.Tags...)...)
	a, err := shelf.Pick(best)
	if err != nil {
		return nil, loci.Routing{}, err
	}
	return a, loci.Routing{AtlasID: a.ID(), Matched: append([]string{}, matched...)}, nil
}

// named returns the atlas that was asked for; a workspace beside it must be its own.
func named(tx *store.Tx, in loci.CreateMemory) (*store.Atlas, error) {
	a, err := tx.Atlas(in.AtlasID, loci.Member)
	if err != nil || in.WorkspaceID == "" || in.WorkspaceID == a.WorkspaceID() {
		return a, err
	}
	if _, err := tx.WorkspaceRecord(in.WorkspaceID); err != nil {
		return nil, err
	}
	return nil, loci.Fail(loci.AtlasWorkspaceMismatch)
}

// GetMemory reads a memory.
func (s *Service) GetMemory(ctx context.Context, who *loci.Actor, in loci.GetMemory) (loci.MemoryDetail, error) {
	return read(ctx, s, who, func(tx *store.Tx) (loci.MemoryDetail, error) {
		m, err := tx.Memory(in.MemoryID)
		return loci.MemoryDetail{Memory: m, Attachments: []loci.Attachment{}}, err
	})
}

// ListMemories lists memories, newest first.
func (s *Service) ListMemories(ctx context.Context, who *loci.Actor, in loci.ListMemories) (loci.Memories, error) {
	cursor, limit := in.Cursor, in.Limit
	in.Cursor, in.Limit = "", 0
	q := question{s, who, "memory.list", in}
	p, err := q.page(cursor, limit)
	if err != nil {
		return loci.Memories{}, err
	}
	f := store.Filter{WorkspaceID: in.WorkspaceID, AtlasID: in.AtlasID, Kinds: in.Type, Tags: in.Tags.Different(), Include: in.Include}
	return read(ctx, s, who, func(tx *store.Tx) (out loci.Memories, err error) {
		list, err := tx.Memories(f, p)
		out.Memories, out.NextCursor = trim(q, list, p, func(m loci.Memory) store.Mark { return store.Mark{At: m.CreatedAt, ID: m.ID} })
		return out, err
	})
}
