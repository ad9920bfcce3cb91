package service

import (
	"context"
	"slices"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/store"
)

// CreateMemory stores a memory in the atlas that was named or that draws it.
func (s *Service) CreateMemory(ctx context.Context, who *loci.Actor, in loci.CreateMemory) (loci.CreatedMemory, error) {
	m := newMemory(in)
	// What can be made before the transaction is: others wait for it.
	entry, suspect := store.NewEntry(m.Title, m.Content), suspicious(append(labels(m), m.Title, m.Content)...)
	return write(ctx, s, who, func(tx *store.Tx) (loci.CreatedMemory, error) {
		m, entry := m, entry
		a, routing, err := s.place(tx, in, m)
		if err != nil {
			return loci.CreatedMemory{}, err
		}
		if suspect {
			if m, err = cleaned(a, in); err != nil {
				return loci.CreatedMemory{}, err
			}
			entry = store.NewEntry(m.Title, m.Content)
		}
		out := loci.NewMemory{Memory: m, Routing: routing}
		if in.OnDuplicate == loci.OnDuplicateVersion && m.Source != nil && m.Source.URI != "" {
			return again(tx, a, in, out, entry)
		}
		return added(tx, a, in.OnDuplicate, out, entry)
	})
}

// newMemory returns the memory that is asked for.
func newMemory(in loci.CreateMemory) loci.Memory {
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
	return m
}

// labels are the short texts of a memory: tags, and where it comes from.
func labels(m loci.Memory) []string {
	list := slices.Clone(m.Tags)
	if s := m.Source; s != nil {
		list = append(list, string(s.Name), string(s.URI), string(s.Group))
	}
	return list
}

// cleaned is newMemory without the credentials that an atlas does not take.
func cleaned(a *store.Atlas, in loci.CreateMemory) (loci.Memory, error) {
	if err := free(a.Secrets(), "tags or source", labels(newMemory(in))...); err != nil {
		return loci.Memory{}, err
	}
	content, err := clean(a.Secrets(), in.Secrets, "content", string(in.Content))
	if err != nil {
		return loci.Memory{}, err
	}
	title, err := clean(a.Secrets(), in.Secrets, "title", string(in.Title))
	in.Content, in.Title = loci.Content(content), loci.Title(title)
	return newMemory(in), err
}

// added stores a memory, or returns the one that has the same text already.
func added(tx *store.Tx, a *store.Atlas, wish loci.OnDuplicate, m loci.NewMemory, e store.Entry) (out loci.CreatedMemory, err error) {
	if wish == loci.OnDuplicateReturn {
		if err := a.Alone(m.Content); err != nil {
			return out, err
		}
	}
	equal, found, err := a.Equal(m.Content, e)
	if err != nil {
		return out, err
	}
	if found && wish == loci.OnDuplicateReturn {
		tx.Concerns(equal.ID)
		m.Memory, m.Similar = equal, []loci.Alike{}
		return loci.ExistingMemory(m), nil
	}
	m.DuplicateOf = equal.ID
	if m.Similar, err = a.Alike(m.Content, e, equal.ID); err != nil {
		return out, err
	}
	m.Memory, err = a.AddMemory(m.Memory, e)
	return loci.CreatedMemory{Memory: m}, err
}

// again stores what comes from a source once more: what is there already
// becomes a new version where the text is another.
func again(tx *store.Tx, a *store.Atlas, in loci.CreateMemory, m loci.NewMemory, e store.Entry) (out loci.CreatedMemory, err error) {
	if err := a.Alone(string(m.Source.Name) + "\n" + string(m.Source.URI)); err != nil {
		return out, err
	}
	h, found, err := a.Sourced(*m.Source)
	if err != nil {
		return out, err
	}
	if !found {
		return added(tx, a, "", m, e)
	}
	next := h.Record()
	if m.Similar, err = a.Alike(m.Content, e, next.ID); err != nil {
		return out, err
	}
	if next.Content != m.Content {
		next.Content, next.Title = m.Content, m.Title
		if in.Type != "" {
			next.Type = in.Type
		}
		if in.Tags != nil {
			next.Tags = m.Tags
		}
	}
	m.Memory, err = h.Set(next)
	return loci.ExistingMemory(m), err
}

// place returns the atlas that a memory goes to, and why.
func (s *Service) place(tx *store.Tx, in loci.CreateMemory, m loci.Memory) (*store.Atlas, loci.Routing, error) {
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
	best, matched := route(shelf.Keywords, append([]string{m.Title, m.Content}, m.Tags...)...)
	a, err := shelf.Pick(best, s.Plan.Atlases)
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
		m, err := tx.MemoryRecord(in.MemoryID)
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
		out.Memories, out.NextCursor = paged(q, list, func(m loci.Memory) store.Mark {
			return store.Mark{At: m.CreatedAt, ID: m.ID}
		})
		return out, err
	})
}
