package replica

import (
	"cmp"
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

// steps returns the calls that copy text and place and then the review of a memory: a change of the content ends a
// review. The place is an atlas on side to, or empty if the copy stays where it is. An archived or superseded copy is
// restored if its text, place or status changes.
func (r *run) steps(m, current loci.Memory, to *side, place loci.ID) (list []step) {
	place = cmp.Or(place, current.AtlasID)
	next, text := current, textHash(m) != textHash(current) || place != current.AtlasID
	status := !r.sameStatus(newEntry(m), current.Status, current.SupersededBy, to)
	add := func(do func(context.Context, *side, loci.Memory) (loci.Memory, error)) {
		list = append(list, step{next, do})
	}
	if next.Status != loci.MemoryActive && (text || status) {
		next.Status, next.SupersededBy = loci.MemoryActive, ""
		add(restore)
	}
	if text {
		if m.Content != next.Content {
			next.VerifiedAt, next.Evidence, next.Confidence = 0, "", nil
		}
		next.Title, next.TitleDerived, next.Content = m.Title, m.TitleDerived, m.Content
		next.Type, next.Tags, next.AtlasID = m.Type, m.Tags, place
		add(func(ctx context.Context, s *side, at loci.Memory) (loci.Memory, error) {
			return patch(ctx, s, m, at, place)
		})
	}
	if reviewDiffers(m, next) {
		next = reviewed(m, next)
		add(func(ctx context.Context, s *side, at loci.Memory) (loci.Memory, error) {
			return verify(ctx, s, m, at.ID, s.ifMatch(at))
		})
	}
	return list
}

// reviewDiffers reports whether a copy lacks something of the review. One without evidence, confidence and end of
// validity cannot be copied.
func reviewDiffers(m, current loci.Memory) bool {
	return m.Reviewed() && reviewHash(m) != reviewHash(loci.Memory{}) &&
		(!current.Reviewed() || reviewHash(reviewed(m, current)) != reviewHash(current))
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

// patch sends the fields of the text that differ, and a new place.
func patch(ctx context.Context, s *side, m, at loci.Memory, place loci.ID) (loci.Memory, error) {
	in := loci.UpdateMemory{MemoryID: at.ID}
	if place != at.AtlasID {
		in.AtlasID = place
	}
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
