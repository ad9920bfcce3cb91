package service

import (
	"cmp"
	"context"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/retrieve"
	"github.com/loci-memory/loci/internal/secret"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/memorydb"
	"github.com/loci-memory/loci/internal/title"
)

// updateMemory calls f to make the next state of a memory that the actor may
// change, and stores it. An unchanged state makes no new version.
func (s *Service) updateMemory(ctx context.Context, actor *identity.Actor, id loci.ID, p store.Purpose,
	f func(h *memorydb.Memory, next *loci.Memory) error) (loci.OneMemory, error) {
	return store.Write(ctx, s.Store, actor, func(tx *store.Tx) (loci.OneMemory, error) {
		h, err := memorydb.Open(tx, id, p)
		if err != nil {
			return loci.OneMemory{}, err
		}
		next := h.Record()
		before := next.Version
		if err := f(h, &next); err != nil {
			return loci.OneMemory{}, err
		}
		m, err := h.Update(next, nil)
		m.Unchanged = m.Version == before
		return loci.OneMemory{Memory: m}, err
	})
}

// UpdateMemory changes the given fields of a memory.
func (s *Service) UpdateMemory(ctx context.Context, actor *identity.Actor,
	in loci.UpdateMemory) (loci.OneMemory, error) {
	if in.Content == nil && in.Title == nil && in.Type == "" && in.Tags == nil && in.AtlasID == "" {
		return loci.OneMemory{}, loci.Errorf(loci.CodeInvalidQuery,
			"send at least one field to change: content, title, type, tags, atlasId")
	}
	return s.updateMemory(ctx, actor, in.MemoryID, store.ToChange, func(h *memorydb.Memory,
		next *loci.Memory) (err error) {
		if in.Title != nil {
			if next.Title, err = secret.Apply(h.Secrets(), in.Secrets, "title", string(*in.Title)); err != nil {
				return err
			}
			next.TitleDerived = title.IsBlank(next.Title)
		}
		if in.Content != nil || in.Title != nil && next.TitleDerived {
			content := next.Content
			if in.Content != nil {
				content, err = secret.Apply(h.Secrets(), in.Secrets, "content", string(*in.Content))
				if err != nil {
					return err
				}
			}
			setContent(next, h.Secrets(), in.Secrets, content)
		}
		if in.AtlasID != "" {
			if next.AtlasID, err = h.MoveTo(in.AtlasID); err != nil {
				return err
			}
		}
		if in.Type != "" {
			next.Type = in.Type
		}
		if in.Tags != nil {
			next.Tags = in.Tags.Unique()
			if err := secret.Reject(h.Secrets(), "tags", next.Tags...); err != nil {
				return err
			}
		}
		return nil
	})
}

// AppendMemory appends a text to a memory, on a new line.
func (s *Service) AppendMemory(ctx context.Context, actor *identity.Actor,
	in loci.AppendMemory) (loci.OneMemory, error) {
	return s.updateMemory(ctx, actor, in.MemoryID, store.ToChange, func(h *memorydb.Memory,
		next *loci.Memory) (err error) {
		text, err := appendWithPolicy(h.Secrets(), in.Secrets, next.Content, string(in.Content))
		if err != nil {
			return err
		}
		if len(text) > loci.MaxContent {
			return loci.Errorf(loci.CodeInvalidQuery, "content must have at most %d bytes together with the stored "+
				"text", loci.MaxContent)
		}
		setContent(next, h.Secrets(), in.Secrets, text)
		return nil
	})
}

// VerifyMemory records a review of a memory in any state.
func (s *Service) VerifyMemory(ctx context.Context, actor *identity.Actor,
	in loci.VerifyMemory) (loci.OneMemory, error) {
	if in.Evidence == nil && in.Confidence == nil && in.ValidUntil == nil {
		return loci.OneMemory{}, loci.Errorf(loci.CodeInvalidQuery,
			"send at least one of evidence, confidence, validUntil")
	}
	return s.updateMemory(ctx, actor, in.MemoryID, store.ToReview, func(h *memorydb.Memory,
		next *loci.Memory) (err error) {
		if in.Evidence != nil {
			if next.Evidence, err = secret.Apply(h.Secrets(), "", "evidence", string(*in.Evidence)); err != nil {
				return err
			}
		}
		if in.Confidence != nil {
			next.Confidence = in.Confidence
		}
		if in.ValidUntil != nil {
			// The zero Time means none: the next instant is the same on the wire.
			next.ValidUntil = cmp.Or(*in.ValidUntil, 1)
		}
		return nil
	})
}

// SupersedeMemory replaces a memory by another one.
func (s *Service) SupersedeMemory(ctx context.Context, actor *identity.Actor,
	in loci.SupersedeMemory) (loci.OneMemory, error) {
	return store.Write(ctx, s.Store, actor, func(tx *store.Tx) (out loci.OneMemory, err error) {
		if err := memorydb.Lock(tx, in.MemoryID, in.ReplacementMemoryID); err != nil {
			return out, err
		}
		if _, err := memorydb.Record(tx, in.ReplacementMemoryID); err != nil {
			return out, err // not found is reported before forbidden
		}
		h, err := memorydb.Open(tx, in.MemoryID, store.ToMove)
		if err != nil {
			return out, err
		}
		if in.ReplacementMemoryID == in.MemoryID {
			return out, loci.Errorf(loci.CodeInvalidQuery, "replacementMemoryId must name another memory")
		}
		r, err := h.Replacement(in.ReplacementMemoryID)
		if err != nil {
			return out, err
		}
		out.Memory, err = h.Supersede(r)
		return out, err
	})
}

// ArchiveMemory removes a memory from lists and searches.
func (s *Service) ArchiveMemory(ctx context.Context, actor *identity.Actor,
	in loci.ArchiveMemory) (loci.OneMemory, error) {
	return s.updateMemory(ctx, actor, in.MemoryID, store.ToMove, func(_ *memorydb.Memory,
		next *loci.Memory) (err error) {
		next.Status, err = loci.MemoryStates.Apply(next.Status, "archived")
		return err
	})
}

// RestoreMemory restores an archived or superseded memory. The link to a replacement is removed on both sides.
func (s *Service) RestoreMemory(ctx context.Context, actor *identity.Actor,
	in loci.RestoreMemory) (loci.OneMemory, error) {
	return store.Write(ctx, s.Store, actor, func(tx *store.Tx) (out loci.OneMemory, err error) {
		if err := memorydb.LockLinked(tx, in.MemoryID); err != nil {
			return out, err
		}
		h, err := memorydb.Open(tx, in.MemoryID, store.ToMove)
		if err != nil {
			return out, err
		}
		out.Memory, err = h.Restore()
		return out, err
	})
}

// DeleteMemory deletes a memory for good, with all its versions.
func (s *Service) DeleteMemory(ctx context.Context, actor *identity.Actor, in loci.DeleteMemory) (loci.Empty, error) {
	return store.Write(ctx, s.Store, actor, func(tx *store.Tx) (loci.Empty, error) {
		if err := memorydb.LockLinked(tx, in.MemoryID); err != nil {
			return loci.Empty{}, err
		}
		h, err := memorydb.Open(tx, in.MemoryID, store.InAnyState)
		if err != nil {
			return loci.Empty{}, err
		}
		return loci.Empty{}, h.Delete()
	})
}

// SimilarMemories lists active memories of the workspace with nearly the same text or meaning.
func (s *Service) SimilarMemories(ctx context.Context, actor *identity.Actor,
	in loci.SimilarMemories) (loci.Similar, error) {
	return store.Read(ctx, s.Store, actor, func(tx *store.Tx) (loci.Similar, error) {
		list, src, err := memorydb.SimilarTo(tx, in.MemoryID)
		if err == nil {
			var neighbors []loci.Similarity
			neighbors, err = s.searcher.Similar(src, retrieve.SimilarToStored)
			list = memorydb.MergeSimilar(list, neighbors)
		}
		return loci.Similar{Similar: list[:min(len(list), in.Limit.OrDefault())]}, err
	})
}

// setContent gives a memory a content under a policy, and derives its title unless that was given.
func setContent(m *loci.Memory, policy loci.SecretsPolicy, onSecret loci.OnSecret, content string) {
	if m.Content = content; m.TitleDerived {
		m.Title = secret.ApplyToTitle(policy, onSecret, title.Derive(content))
	}
}

// overlap is how much of a text is scanned again when another is appended: a
// private key may have its head in one and its body in the other.
const overlap = 4 << 10

const redactedKey = "[REDACTED:private-key]"

// appendWithPolicy returns a text with another appended on a new line, under
// the policy of secret.Apply. Lines are counted in the appended text.
func appendWithPolicy(policy loci.SecretsPolicy, onSecret loci.OnSecret, text, more string) (string, error) {
	more, err := secret.Apply(policy, onSecret, "content", more)
	if err != nil {
		return "", err
	}
	whole := text + "\n" + more
	if strings.HasSuffix(text, "\n") {
		whole = text + more
	}
	if policy == loci.SecretsAllow && onSecret == "" {
		return whole, nil
	}
	from := max(0, len(text)-overlap)
	// A key may arrive line by line: its redaction mark does not end it.
	lines := strings.ReplaceAll(whole[from:], redactedKey, strings.Repeat(" ", len(redactedKey)))
	for _, f := range secret.Scan(lines) {
		if from+f.To <= len(text) {
			continue // found in the stored text already
		}
		if onSecret != loci.OnSecretRedact && policy != loci.SecretsRedact {
			return "", secret.FoundError("content, together with the stored text,", f.Rule, 1)
		}
		at := max(from+f.From, len(whole)-len(more))
		return whole[:at] + "[REDACTED:" + f.Rule + "]" + whole[from+f.To:], nil
	}
	return whole, nil
}
