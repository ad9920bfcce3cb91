package service

import (
	"context"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/store"
)

// ListVersions lists the versions of a memory, newest first; the first is the current one.
func (s *Service) ListVersions(ctx context.Context, actor *identity.Actor,
	in loci.ListVersions) (out loci.MemoryVersions, err error) {
	out.Versions, out.Page, err = listPage(ctx, s, actor, &in.Paging, &in,
		func(tx *store.Tx, p store.Page) (store.List[loci.MemoryVersion], error) {
			return tx.Versions(in.MemoryID, p)
		},
		func(v loci.MemoryVersion) store.PageKey { return store.PageKey{At: loci.Time(v.Version)} })
	return out, err
}

// RevertMemory writes the content, title, type and tags of a version as a new one. The status stays.
func (s *Service) RevertMemory(ctx context.Context, actor *identity.Actor, in loci.RevertMemory) (loci.OneMemory,
	error) {
	return s.updateMemory(ctx, actor, in.MemoryID, func(tx *store.Tx, h *store.Memory, next *loci.Memory) error {
		v, err := h.Version(int(in.Version))
		if err != nil {
			return err
		}
		if _, err := loci.MemoryStates.Apply(next.Status, "changed"); err != nil {
			return err
		}
		// The policy may have changed since.
		if next.Content, err = computeText(tx, h.Secrets(), "", len(v.Content), func() (string, error) {
			return applySecretPolicy(h.Secrets(), "", "content", v.Content)
		}, v.Content); err != nil {
			return err
		}
		if next.Title, err = applySecretPolicy(h.Secrets(), "", "title", v.Title); err != nil {
			return err
		}
		next.Type, next.Tags = v.Type, v.Tags
		return nil
	})
}
