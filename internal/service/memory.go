package service

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/analysis"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/page"
	"github.com/loci-memory/loci/internal/retrieve"
	"github.com/loci-memory/loci/internal/secret"
	"github.com/loci-memory/loci/internal/service/cursor"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/attachmentdb"
	"github.com/loci-memory/loci/internal/store/memorydb"
	"github.com/loci-memory/loci/internal/title"
)

// CreateMemory stores a memory in the requested atlas, or in the one whose routing keywords match.
func (s *Service) CreateMemory(ctx context.Context, actor *identity.Actor,
	in loci.CreateMemory) (loci.CreatedMemory, error) {
	m := newMemory(in)
	var entry memorydb.IndexEntry
	// Prepared before the transaction, because other writers wait for it.
	if err := s.Store.Analyze(ctx, actor, func() { entry = memorydb.NewIndexEntry(m.Title, m.Content) }, m.Title,
		m.Content); err != nil {
		return loci.CreatedMemory{}, err
	}
	hasSecret := slices.ContainsFunc(append(shortTexts(m), m.Title, m.Content),
		func(text string) bool { return len(secret.Scan(text)) > 0 })
	var neighbors []loci.Similarity
	if !hasSecret { // else the text may change
		neighbors = s.semanticNeighbors(ctx, actor, in, m)
	}
	return store.Write(ctx, s.Store, actor, func(tx *store.Tx) (loci.CreatedMemory, error) {
		prepared := preparedMemory{m, entry, nil}
		a, routing, err := s.resolveAtlas(tx, in, m)
		if err == nil && hasSecret { // only the transaction knows the policy of the workspace
			prepared, err = store.Compute(tx, analysis.NormalSize(m.Content), func() preparedMemory {
				return prepareRedacted(a.Secrets(), in)
			}, string(a.Secrets()))
		}
		if err = cmp.Or(err, prepared.err); err != nil {
			return loci.CreatedMemory{}, err
		}
		if in.Type == "" {
			prepared.memory.Type = "" // that of a memory from the same source, or the default
		}
		if in.Tags == nil {
			prepared.memory.Tags = nil
		}
		return memorydb.Create(a, loci.NewMemory{Memory: prepared.memory, Routing: routing}, prepared.entry,
			memorydb.CreatePolicy{OnDuplicate: in.OnDuplicate, ShowSimilar: true, Neighbors: neighbors})
	})
}

// similarTimeout is the time for which a create waits for the vector of its text before words alone find similar ones.
const similarTimeout = 10 * time.Millisecond

// semanticNeighbors returns memories near a new one by vector, or none if its vector is not computed in time. It reads
// them before the transaction, because other writers wait for that. The transaction reports what is wrong with the
// input.
func (s *Service) semanticNeighbors(ctx context.Context, actor *identity.Actor, in loci.CreateMemory,
	m loci.Memory) []loci.Similarity {
	wait, cancel := context.WithTimeout(ctx, cmp.Or(s.SimilarTimeout, similarTimeout))
	defer cancel()
	v := s.Store.Embedder().EmbedEarly(wait, m.Title, m.Content)
	if v == nil {
		return nil
	}
	list, _ := store.Read(ctx, s.Store, actor.WithoutIdempotency(), func(tx *store.Tx) ([]loci.Similarity, error) {
		src, err := memorydb.SimilarToNew(tx, in.WorkspaceID, in.AtlasID, v)
		if err != nil {
			return nil, err
		}
		return s.searcher.Similar(src, retrieve.SimilarToNew)
	})
	return list
}

// A preparedMemory is a memory that may be stored, with its index entry, or the reason against it.
type preparedMemory struct {
	memory loci.Memory
	entry  memorydb.IndexEntry
	err    error
}

func prepareRedacted(policy loci.SecretsPolicy, in loci.CreateMemory) preparedMemory {
	m, err := redactedMemory(policy, in)
	return preparedMemory{m, memorydb.NewIndexEntry(m.Title, m.Content), err}
}

// newMemory returns the memory of an input.
func newMemory(in loci.CreateMemory) loci.Memory {
	m := loci.Memory{Title: string(in.Title), Content: string(in.Content), Type: in.Type, Tags: in.Tags.Unique()}
	if m.Type == "" {
		m.Type = loci.TypeNote
	}
	title.Ensure(&m)
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

// redactedMemory is newMemory with the credentials redacted that a policy refuses.
func redactedMemory(policy loci.SecretsPolicy, in loci.CreateMemory) (loci.Memory, error) {
	if err := secret.Reject(policy, "tags or source", shortTexts(newMemory(in))...); err != nil {
		return loci.Memory{}, err
	}
	content, err := secret.Apply(policy, in.Secrets, "content", string(in.Content))
	if err != nil {
		return loci.Memory{}, err
	}
	given, err := secret.Apply(policy, in.Secrets, "title", string(in.Title))
	in.Content, in.Title = loci.Content(content), loci.Title(given)
	m := newMemory(in)
	if m.TitleDerived {
		m.Title = secret.ApplyToTitle(policy, in.Secrets, m.Title)
	}
	return m, err
}

// resolveAtlas returns the atlas for a memory, and the reason.
func (s *Service) resolveAtlas(tx *store.Tx, in loci.CreateMemory, m loci.Memory) (*store.Atlas, loci.Routing, error) {
	if in.AtlasID != "" {
		a, err := requestedAtlas(tx, in)
		if err != nil {
			return nil, loci.Routing{}, err
		}
		return a, loci.Routing{AtlasID: a.ID(), Matched: []string{}}, nil
	}
	targets, err := tx.RoutingTargets(in.WorkspaceID)
	if err != nil {
		return nil, loci.Routing{}, err
	}
	match, err := matchText(tx, targets.Keywords, append([]string{m.Title, m.Content}, m.Tags...))
	if err != nil {
		return nil, loci.Routing{}, err
	}
	a, err := targets.Atlas(match.atlas)
	if err != nil {
		return nil, loci.Routing{}, err
	}
	return a, loci.Routing{AtlasID: a.ID(), Matched: append([]string{}, match.keywords...)}, nil
}

// requestedAtlas returns the requested atlas; a requested workspace must be its own.
func requestedAtlas(tx *store.Tx, in loci.CreateMemory) (*store.Atlas, error) {
	a, err := tx.Atlas(in.AtlasID, loci.RoleMember, store.ToChange)
	if err != nil || in.WorkspaceID == "" || in.WorkspaceID == a.WorkspaceID() {
		return a, err
	}
	if _, err := tx.WorkspaceRecord(in.WorkspaceID); err != nil {
		return nil, err
	}
	return nil, loci.NewError(loci.CodeAtlasWorkspaceMismatch)
}

// GetMemory reads a memory.
func (s *Service) GetMemory(ctx context.Context, actor *identity.Actor, in loci.GetMemory) (loci.MemoryDetail, error) {
	return store.Read(ctx, s.Store, actor, func(tx *store.Tx) (loci.MemoryDetail, error) {
		return attachmentdb.Detail(tx, in.MemoryID)
	})
}

// ListMemories lists memories, newest or last changed first.
func (s *Service) ListMemories(ctx context.Context, actor *identity.Actor,
	in loci.ListMemories) (out loci.Memories, err error) {
	out.Memories, out.Page, err = cursor.ListPage(ctx, s.Store, actor, &in.Paging, &in,
		func(tx *store.Tx, p page.Request) (page.List[loci.Memory], error) {
			if in.Sort == loci.OrderUpdated {
				return memorydb.ListChanged(tx, in.MemoryFilter, p)
			}
			return memorydb.List(tx, in.MemoryFilter, p)
		},
		func(m loci.Memory) page.Key {
			if in.Sort == loci.OrderUpdated {
				return page.Key{At: m.UpdatedAt, ID: m.ID}
			}
			return page.Key{At: m.CreatedAt, ID: m.ID}
		})
	return out, err
}

// ListVersions lists the versions of a memory, newest first; the first is the current one.
func (s *Service) ListVersions(ctx context.Context, actor *identity.Actor,
	in loci.ListVersions) (out loci.MemoryVersions, err error) {
	out.Versions, out.Page, err = cursor.ListPage(ctx, s.Store, actor, &in.Paging, &in,
		func(tx *store.Tx, p page.Request) (page.List[loci.MemoryVersion], error) {
			return memorydb.Versions(tx, in.MemoryID, p)
		},
		func(v loci.MemoryVersion) page.Key { return page.Key{At: loci.Time(v.Version)} })
	return out, err
}

// RevertMemory writes the content, title, type and tags of a version as a new one. The status stays.
func (s *Service) RevertMemory(ctx context.Context, actor *identity.Actor,
	in loci.RevertMemory) (loci.OneMemory, error) {
	return s.updateMemory(ctx, actor, in.MemoryID, store.ToChange, func(h *memorydb.Memory,
		next *loci.Memory) error {
		v, err := h.Version(int(in.Version))
		if err != nil {
			return err
		}
		// The policy may have changed since.
		text, err := secret.Apply(h.Secrets(), "", "content", v.Content)
		if err != nil {
			return err
		}
		if next.TitleDerived = v.TitleDerived; !v.TitleDerived {
			if next.Title, err = secret.Apply(h.Secrets(), "", "title", v.Title); err != nil {
				return err
			}
		}
		setContent(next, h.Secrets(), "", text)
		next.Type, next.Tags = v.Type, v.Tags
		return nil
	})
}
