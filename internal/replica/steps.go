package replica

import (
	"context"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/service"
)

// A step is one call that brings a copy nearer to its original.
type step struct {
	after loci.Memory // the expected state
	do    func(ctx context.Context, s *side, current loci.Memory) (loci.Memory, error)
}

// steps returns the calls that copy the text and the review of a memory. A review that is older than the text is copied
// before the text. An archived or superseded copy is restored if its text or status changes.
func (r *run) steps(m, current loci.Memory, to *side) (list []step) {
	next, text := current, textHash(m) != textHash(current)
	status := !r.sameStatus(newEntry(m), current.Status, current.SupersededBy, to)
	add := func(do func(context.Context, *side, loci.Memory) (loci.Memory, error)) {
		list = append(list, step{next, do})
	}
	review := func() {
		next = reviewed(m, next)
		add(func(ctx context.Context, s *side, at loci.Memory) (loci.Memory, error) {
			return verify(ctx, s, m, at.ID, s.ifMatch(at))
		})
	}
	if isStale(m) && reviewDiffers(m, next) && (text || status) {
		review()
	}
	if next.Status != loci.MemoryActive && (text || status) {
		next.Status, next.SupersededBy = loci.MemoryActive, ""
		add(restore)
	}
	if text {
		next.Title, next.TitleDerived, next.Content = m.Title, m.TitleDerived, m.Content
		next.Type, next.Tags = m.Type, m.Tags
		add(func(ctx context.Context, s *side, at loci.Memory) (loci.Memory, error) { return patch(ctx, s, m, at) })
	}
	if m.Reviewed() && r.sameStatus(newEntry(m), next.Status, next.SupersededBy, to) &&
		(len(list) > 0 || !current.Reviewed() || reviewDiffers(m, next)) {
		review()
	}
	return list
}

// isStale reports whether a memory was changed after its review.
func isStale(m loci.Memory) bool { return m.VerifiedAt != 0 && !m.Reviewed() }

// reviewDiffers reports whether a copy lacks something of the review.
func reviewDiffers(m, current loci.Memory) bool {
	return m.VerifiedAt != 0 && (current.VerifiedAt == 0 || reviewHash(reviewed(m, current)) != reviewHash(current))
}

// reviewed returns a copy with the review of a memory. The API does not remove parts of a review.
func reviewed(m, current loci.Memory) loci.Memory {
	if m.Evidence != "" {
		current.Evidence = m.Evidence
	}
	if m.Confidence != nil {
		current.Confidence = m.Confidence
	}
	if m.ValidUntil != 0 {
		current.ValidUntil = m.ValidUntil
	}
	return current
}

func restore(ctx context.Context, s *side, at loci.Memory) (loci.Memory, error) {
	out, err := call(ctx, s, service.MemoryRestore, loci.RestoreMemory{MemoryID: at.ID}, s.ifMatch(at))
	return out.Memory, err
}

// patch sends the fields of the text that differ.
func patch(ctx context.Context, s *side, m, at loci.Memory) (loci.Memory, error) {
	in := loci.UpdateMemory{MemoryID: at.ID}
	if m.Content != at.Content {
		content := loci.Content(m.Content)
		in.Content = &content
	}
	if givenTitle(m) != givenTitle(at) {
		title := loci.OptionalTitle(givenTitle(m)) // an empty one is derived
		in.Title = &title
	}
	if m.Type != at.Type {
		in.Type = m.Type
	}
	if toJSON(m.Tags) != toJSON(at.Tags) {
		tags := loci.Tags{}
		for _, t := range m.Tags {
			tags = append(tags, loci.Tag(t))
		}
		in.Tags = &tags
	}
	out, err := call(ctx, s, service.MemoryUpdate, in, s.ifMatch(at))
	return out.Memory, err
}

// verify copies the review of a memory.
func verify(ctx context.Context, s *side, m loci.Memory, id loci.ID, options ...func(*op.Call)) (loci.Memory, error) {
	in := loci.VerifyMemory{MemoryID: id, Confidence: m.Confidence}
	if m.Evidence != "" {
		evidence := loci.Evidence(m.Evidence)
		in.Evidence = &evidence
	}
	if m.ValidUntil != 0 {
		in.ValidUntil = &m.ValidUntil
	}
	out, err := call(ctx, s, service.MemoryVerify, in, options...)
	return out.Memory, err
}
