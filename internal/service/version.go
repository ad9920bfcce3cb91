package service

import (
	"context"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/store"
)

// ListVersions lists what a memory was, newest first; the first is what it is.
func (s *Service) ListVersions(ctx context.Context, who *loci.Actor, in loci.ListVersions) (loci.MemoryVersions, error) {
	cursor, limit := in.Cursor, in.Limit
	in.Cursor, in.Limit = "", 0
	q := question{s, who, "memory.versions", in}
	p, err := q.page(cursor, limit)
	if err != nil {
		return loci.MemoryVersions{}, err
	}
	return read(ctx, s, who, func(tx *store.Tx) (out loci.MemoryVersions, err error) {
		list, err := tx.Versions(in.MemoryID, p)
		out.Versions, out.NextCursor = paged(q, list, func(v loci.MemoryVersion) store.Mark {
			return store.Mark{At: loci.Time(v.Version)}
		})
		return out, err
	})
}

// RevertMemory brings the content, title, type and tags of a version back as a
// new one. The status stays.
func (s *Service) RevertMemory(ctx context.Context, who *loci.Actor, in loci.RevertMemory) (loci.OneMemory, error) {
	return s.change(ctx, who, in.MemoryID, func(h *store.Memory, next *loci.Memory) error {
		v, err := h.Version(int(in.Version))
		if err != nil {
			return err
		}
		if err := active(*next); err != nil {
			return err
		}
		// What was allowed then may not be now.
		if next.Content, err = clean(h.Secrets(), "", "content", v.Content); err != nil {
			return err
		}
		if next.Title, err = clean(h.Secrets(), "", "title", v.Title); err != nil {
			return err
		}
		next.Type, next.Tags = v.Type, v.Tags
		return nil
	})
}
