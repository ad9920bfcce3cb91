package service

import (
	"cmp"
	"context"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/store"
)

// change lets f make the next state of a memory that the actor may change, and
// stores it. What f leaves as it was is no new version.
func (s *Service) change(ctx context.Context, who *loci.Actor, id string, f func(h *store.Memory, next *loci.Memory) error) (loci.OneMemory, error) {
	return write(ctx, s, who, func(tx *store.Tx) (loci.OneMemory, error) {
		h, err := standing(tx, who, id)
		if err != nil {
			return loci.OneMemory{}, err
		}
		next := h.Record()
		if err := f(h, &next); err != nil {
			return loci.OneMemory{}, err
		}
		m, err := h.Set(next)
		return loci.OneMemory{Memory: m}, err
	})
}

// standing returns the handle of a memory that is still what the caller knows.
func standing(tx *store.Tx, who *loci.Actor, id string) (*store.Memory, error) {
	h, err := tx.Memory(id)
	if err != nil {
		return nil, err
	}
	return h, unchanged(who, h.Record().Tag())
}

// active refuses what only an active memory takes.
func active(m loci.Memory) error {
	switch m.Status {
	case loci.Archived:
		return loci.Fail(loci.StateConflict, "The memory is archived: restore it first.")
	case loci.Superseded:
		return loci.Fail(loci.StateConflict, "The memory is superseded: change its replacement instead.")
	}
	return nil
}

// UpdateMemory changes what is given of a memory.
func (s *Service) UpdateMemory(ctx context.Context, who *loci.Actor, in loci.UpdateMemory) (loci.OneMemory, error) {
	if in.Content == nil && in.Title == nil && in.Type == "" && in.Tags == nil {
		return loci.OneMemory{}, loci.Fail(loci.InvalidQuery, "send at least one field to change: content, title, type, tags")
	}
	return s.change(ctx, who, in.MemoryID, func(h *store.Memory, next *loci.Memory) (err error) {
		if err := active(*next); err != nil {
			return err
		}
		if in.Content != nil {
			if next.Content, err = clean(h.Secrets(), in.Secrets, "content", string(*in.Content)); err != nil {
				return err
			}
		}
		if in.Title != nil {
			if next.Title, err = clean(h.Secrets(), in.Secrets, "title", string(*in.Title)); err != nil {
				return err
			}
			if strings.TrimSpace(next.Title) == "" {
				next.Title = loci.DeriveTitle(next.Content)
			}
		}
		if in.Type != "" {
			next.Type = in.Type
		}
		if in.Tags != nil {
			next.Tags = in.Tags.Different()
			if err := free(h.Secrets(), "tags", next.Tags...); err != nil {
				return err
			}
		}
		return nil
	})
}

// AppendMemory adds a text at the end of a memory, on a line of its own.
func (s *Service) AppendMemory(ctx context.Context, who *loci.Actor, in loci.AppendMemory) (loci.OneMemory, error) {
	return s.change(ctx, who, in.MemoryID, func(h *store.Memory, next *loci.Memory) (err error) {
		if err := active(*next); err != nil {
			return err
		}
		if next.Content, err = cleanAppend(h.Secrets(), in.Secrets, next.Content, string(in.Content)); err != nil {
			return err
		}
		if len(next.Content) > loci.MaxContent {
			return loci.Fail(loci.InvalidQuery, "content must have at most %d bytes together with what is there", loci.MaxContent)
		}
		return nil
	})
}

// VerifyMemory notes that somebody has reviewed a memory, in whatever state.
func (s *Service) VerifyMemory(ctx context.Context, who *loci.Actor, in loci.VerifyMemory) (loci.OneMemory, error) {
	if in.Evidence == nil && in.Confidence == nil && in.ValidUntil == nil {
		return loci.OneMemory{}, loci.Fail(loci.InvalidQuery, "send at least one of evidence, confidence, validUntil")
	}
	return s.change(ctx, who, in.MemoryID, func(h *store.Memory, next *loci.Memory) (err error) {
		if in.Evidence != nil {
			if next.Evidence, err = clean(h.Secrets(), "", "evidence", string(*in.Evidence)); err != nil {
				return err
			}
		}
		if in.Confidence != nil {
			next.Confidence = in.Confidence
		}
		if in.ValidUntil != nil {
			// The zero Time is none: an instant later is the same on the wire.
			next.ValidUntil = cmp.Or(*in.ValidUntil, 1)
		}
		h.Reviewed()
		return nil
	})
}

// SupersedeMemory puts another memory in the place of one.
func (s *Service) SupersedeMemory(ctx context.Context, who *loci.Actor, in loci.SupersedeMemory) (loci.OneMemory, error) {
	return write(ctx, s, who, func(tx *store.Tx) (out loci.OneMemory, err error) {
		if err := tx.Hold(in.MemoryID, in.ReplacementMemoryID); err != nil {
			return out, err
		}
		if _, err := tx.MemoryRecord(in.ReplacementMemoryID); err != nil {
			return out, err // what is out of reach is told before what is not allowed
		}
		h, err := tx.Memory(in.MemoryID)
		if err != nil {
			return out, err
		}
		if in.ReplacementMemoryID == in.MemoryID {
			return out, loci.Fail(loci.InvalidQuery, "replacementMemoryId must name another memory")
		}
		r, err := h.Replacement(in.ReplacementMemoryID)
		if err != nil {
			return out, err
		}
		if err := unchanged(who, h.Record().Tag()); err != nil {
			return out, err
		}
		if err := active(h.Record()); err != nil {
			return out, err
		}
		if r.Record().Status != loci.Active {
			return out, loci.Fail(loci.StateConflict, "The replacement is not active: name one that is.")
		}
		out.Memory, err = h.Supersede(r)
		return out, err
	})
}

// ArchiveMemory takes a memory out of lists and searches.
func (s *Service) ArchiveMemory(ctx context.Context, who *loci.Actor, in loci.ArchiveMemory) (loci.OneMemory, error) {
	return s.change(ctx, who, in.MemoryID, func(h *store.Memory, next *loci.Memory) error {
		if next.Status != loci.Active {
			return loci.Fail(loci.StateConflict, "The memory is %s: only an active one can be archived.", next.Status)
		}
		next.Status = loci.Archived
		return nil
	})
}

// RestoreMemory brings an archived memory back, or one that has lost its replacement.
func (s *Service) RestoreMemory(ctx context.Context, who *loci.Actor, in loci.RestoreMemory) (loci.OneMemory, error) {
	return s.change(ctx, who, in.MemoryID, func(h *store.Memory, next *loci.Memory) error {
		switch {
		case next.Status == loci.Active:
			return loci.Fail(loci.StateConflict, "The memory is active already.")
		case next.SupersededBy != "":
			return loci.Fail(loci.StateConflict, "The memory is superseded: it can be restored once its replacement is deleted.")
		}
		next.Status = loci.Active
		return nil
	})
}

// DeleteMemory removes a memory for good, with all its versions.
func (s *Service) DeleteMemory(ctx context.Context, who *loci.Actor, in loci.DeleteMemory) (loci.Nothing, error) {
	return write(ctx, s, who, func(tx *store.Tx) (loci.Nothing, error) {
		if err := tx.HoldLinks(in.MemoryID); err != nil {
			return loci.Nothing{}, err
		}
		h, err := standing(tx, who, in.MemoryID)
		if err != nil {
			return loci.Nothing{}, err
		}
		return loci.Nothing{}, h.Delete()
	})
}

// SimilarMemories lists active memories of the workspace with nearly the same text.
func (s *Service) SimilarMemories(ctx context.Context, who *loci.Actor, in loci.SimilarMemories) (loci.Similar, error) {
	return read(ctx, s, who, func(tx *store.Tx) (loci.Similar, error) {
		list, err := tx.AlikeTo(in.MemoryID)
		return loci.Similar{Similar: list[:min(len(list), in.Limit.Or20())]}, err
	})
}
