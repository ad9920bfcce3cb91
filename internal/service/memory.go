package service

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/analysis"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/store"
)

// longContent is the size in bytes from which a text is normalized for routing
// before the transaction, even if no atlas has keywords.
const longContent = 8 << 10

// CreateMemory stores a memory in the requested atlas, or in the one whose
// routing keywords match.
func (s *Service) CreateMemory(ctx context.Context, actor *identity.Actor, in loci.CreateMemory) (loci.CreatedMemory,
	error) {
	m := newMemory(in)
	// Prepared before the transaction, because other writers wait for it.
	entry, suspect := store.NewIndexEntry(m.Title, m.Content),
		mayHoldSecrets(append(shortTexts(m), m.Title, m.Content)...)
	words := sync.OnceValue(func() string {
		return analysis.NormalizedWords(append([]string{m.Title, m.Content}, m.Tags...)...)
	})
	if in.AtlasID == "" && len(m.Content) > longContent {
		words()
	}
	return write(ctx, s, actor, func(tx *store.Tx) (loci.CreatedMemory, error) {
		m, entry := m, entry
		a, routing, err := s.resolveAtlas(tx, in, words)
		if err != nil {
			return loci.CreatedMemory{}, err
		}
		if suspect {
			if m, err = redactedMemory(a, in); err != nil {
				return loci.CreatedMemory{}, err
			}
			entry = store.NewIndexEntry(m.Title, m.Content)
		}
		out := loci.NewMemory{Memory: m, Routing: routing}
		if in.OnDuplicate == loci.OnDuplicateVersion && m.Source != nil && m.Source.URI != "" {
			return upsertFromSource(tx, a, in, out, entry)
		}
		return createOrReturn(tx, a, in.OnDuplicate, out, entry)
	})
}

// newMemory returns the memory of an input.
func newMemory(in loci.CreateMemory) loci.Memory {
	m := loci.Memory{Title: string(in.Title), Content: string(in.Content), Type: in.Type, Tags: in.Tags.Unique()}
	if m.Type == "" {
		m.Type = loci.TypeNote
	}
	if strings.TrimSpace(m.Title) == "" {
		m.Title = loci.DeriveTitle(m.Content)
	}
	if in.Source != nil && *in.Source != (loci.Source{}) {
		m.Source = in.Source
	}
	return m
}

// shortTexts returns the short texts of a memory: tags and source.
func shortTexts(m loci.Memory) []string {
	list := slices.Clone(m.Tags)
	if s := m.Source; s != nil {
		list = append(list, string(s.Name), string(s.URI), string(s.Group))
	}
	return list
}

// redactedMemory is newMemory with the credentials redacted that an atlas
// refuses.
func redactedMemory(a *store.Atlas, in loci.CreateMemory) (loci.Memory, error) {
	if err := rejectSecrets(a.Secrets(), "tags or source", shortTexts(newMemory(in))...); err != nil {
		return loci.Memory{}, err
	}
	content, err := applySecretPolicy(a.Secrets(), in.Secrets, "content", string(in.Content))
	if err != nil {
		return loci.Memory{}, err
	}
	title, err := applySecretPolicy(a.Secrets(), in.Secrets, "title", string(in.Title))
	in.Content, in.Title = loci.Content(content), loci.Title(title)
	return newMemory(in), err
}

// createOrReturn stores a memory, or returns an existing one with the same
// text.
func createOrReturn(tx *store.Tx, a *store.Atlas, onSecret loci.OnDuplicate, m loci.NewMemory,
	e store.IndexEntry) (out loci.CreatedMemory, err error) {
	if onSecret == loci.OnDuplicateReturn {
		if err := a.Lock(m.Content); err != nil {
			return out, err
		}
	}
	equal, found, err := a.FindDuplicate(m.Content, e)
	if err != nil {
		return out, err
	}
	if found && onSecret == loci.OnDuplicateReturn {
		tx.LinkReplay(equal.ID)
		m.Memory, m.Similar = equal, []loci.Similarity{}
		return loci.ExistingMemory(m), nil
	}
	m.DuplicateOf = equal.ID
	if m.Similar, err = a.FindSimilar(m.Content, e, equal.ID); err != nil {
		return out, err
	}
	m.Memory, err = a.AddMemory(m.Memory, e)
	return loci.CreatedMemory{Memory: m}, err
}

// upsertFromSource stores the text of a source again: an existing memory of
// that source gets a new version if the text differs.
func upsertFromSource(tx *store.Tx, a *store.Atlas, in loci.CreateMemory, m loci.NewMemory,
	e store.IndexEntry) (out loci.CreatedMemory, err error) {
	if err := a.Lock(string(m.Source.Name) + "\n" + string(m.Source.URI)); err != nil {
		return out, err
	}
	h, found, err := a.FindBySource(*m.Source)
	if err != nil {
		return out, err
	}
	if !found {
		return createOrReturn(tx, a, "", m, e)
	}
	next := h.Record()
	if m.Similar, err = a.FindSimilar(m.Content, e, next.ID); err != nil {
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
	m.Memory, err = h.Update(next)
	return loci.ExistingMemory(m), err
}

// resolveAtlas returns the atlas for a memory with those words, and the reason.
func (s *Service) resolveAtlas(tx *store.Tx, in loci.CreateMemory, words func() string) (*store.Atlas, loci.Routing,
	error) {
	if in.AtlasID != "" {
		a, err := requestedAtlas(tx, in)
		if err != nil {
			return nil, loci.Routing{}, err
		}
		return a, loci.Routing{AtlasID: a.ID(), Matched: []string{}}, nil
	}
	targets, err := tx.RoutingTargets(string(in.WorkspaceID))
	if err != nil {
		return nil, loci.Routing{}, err
	}
	best, matched := matchAtlas(targets.Keywords, words)
	a, err := targets.Atlas(best, s.Plan.Atlases)
	if err != nil {
		return nil, loci.Routing{}, err
	}
	return a, loci.Routing{AtlasID: a.ID(), Matched: append([]string{}, matched...)}, nil
}

// requestedAtlas returns the requested atlas; a requested workspace must be its
// own.
func requestedAtlas(tx *store.Tx, in loci.CreateMemory) (*store.Atlas, error) {
	a, err := tx.Atlas(string(in.AtlasID), loci.RoleMember)
	if err != nil || in.WorkspaceID == "" || string(in.WorkspaceID) == a.WorkspaceID() {
		return a, err
	}
	if _, err := tx.WorkspaceRecord(string(in.WorkspaceID)); err != nil {
		return nil, err
	}
	return nil, loci.NewError(loci.CodeAtlasWorkspaceMismatch)
}

// GetMemory reads a memory.
func (s *Service) GetMemory(ctx context.Context, actor *identity.Actor, in loci.GetMemory) (loci.MemoryDetail, error) {
	return read(ctx, s, actor, func(tx *store.Tx) (loci.MemoryDetail, error) {
		m, err := tx.MemoryRecord(string(in.MemoryID))
		return loci.MemoryDetail{Memory: m, Attachments: []loci.Attachment{}}, err
	})
}

// ListMemories lists memories, newest first.
func (s *Service) ListMemories(ctx context.Context, actor *identity.Actor, in loci.ListMemories) (out loci.Memories,
	err error) {
	f := store.Filter{WorkspaceID: string(in.WorkspaceID), AtlasID: string(in.AtlasID), Types: in.Type,
		Tags:    in.Tags.Unique(),
		Include: in.Include}
	out.Memories, out.Page, err = listPage(ctx, s, actor, &in.Paging, &in,
		func(tx *store.Tx, p store.Page) (store.List[loci.Memory], error) { return tx.Memories(f, p) },
		func(m loci.Memory) store.PageKey { return store.PageKey{At: m.CreatedAt, ID: m.ID} })
	return out, err
}
