package session

import (
	"cmp"
	"context"
	"slices"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/memorydb"
	"github.com/loci-memory/loci/internal/store/sessiondb"
	"github.com/loci-memory/loci/internal/title"
)

// EditCandidate changes the given fields of a pending candidate.
func (s *Service) EditCandidate(ctx context.Context, actor *identity.Actor, in loci.EditCandidate) (
	loci.OneCandidate, error) {
	if in.Content == nil && in.Title == nil && in.Type == "" && in.Tags == nil {
		return loci.OneCandidate{}, loci.Errorf(loci.CodeInvalidQuery,
			"send at least one field to change: content, title, type, tags")
	}
	return inSession(ctx, s, actor, in.SessionID, sessiondb.Manage, store.InAnyState,
		func(tx *store.Tx, x *sessiondb.Session) (out loci.OneCandidate, err error) {
			c, err := x.Candidate(in.CandidateID)
			if err == nil {
				err = x.Accept(store.ToChange)
			}
			if err == nil {
				_, err = loci.CandidateStates.Apply(c.Status, "changed")
			}
			if err != nil {
				return out, err
			}
			next, err := editedCandidate(x.Atlas().Secrets(), c, in)
			if err == nil && next.Content != c.Content {
				var entry memorydb.IndexEntry
				if entry, err = memorydb.ComputeIndexEntry(tx, next.Title, next.Content); err == nil {
					next.Similar, err = similarTo(x, next.Content, entry)
				}
			}
			if err == nil {
				out.Candidate, err = x.EditCandidate(next)
			}
			return out, err
		})
}

// editedCandidate returns a candidate with the fields of an input, as a policy allows. A derived title follows the
// content.
func editedCandidate(policy loci.SecretsPolicy, c loci.Candidate, in loci.EditCandidate) (loci.Candidate, error) {
	if in.Content != nil {
		c.Content = string(*in.Content)
	}
	if in.Title != nil {
		c.Title = string(*in.Title)
		c.TitleDerived = title.IsBlank(c.Title)
	}
	c.Type = cmp.Or(in.Type, c.Type)
	if in.Tags != nil {
		c.Tags = in.Tags.Unique()
	}
	if c.TitleDerived {
		c.Title = title.Derive(c.Content)
	}
	evidence := c.Evidence // nobody changes it here
	c.Evidence = ""
	c, err := checkedCandidate(policy, c)
	c.Evidence = evidence
	return c, err
}

// ModerateCandidate compiles, dismisses or reverts a candidate.
func (s *Service) ModerateCandidate(ctx context.Context, actor *identity.Actor, in loci.ModerateCandidate) (
	loci.ModeratedCandidate, error) {
	if in.Supersede != nil && in.Action != loci.ModerationCompile {
		return loci.ModeratedCandidate{}, loci.Errorf(loci.CodeInvalidQuery,
			"supersede is for the action compile alone: leave it out")
	}
	return inSession(ctx, s, actor, in.SessionID, sessiondb.Manage, store.InAnyState,
		func(tx *store.Tx, x *sessiondb.Session) (out loci.ModeratedCandidate, err error) {
			return moderate(tx, x, in.CandidateID, in.Action, in.Supersede)
		})
}

// ModerateCandidates compiles, dismisses or reverts candidates of any sessions. It does what can be done, and reports
// the rest.
func (s *Service) ModerateCandidates(ctx context.Context, actor *identity.Actor, in loci.ModerateCandidates) (
	loci.ModerationResults, error) {
	return store.Write(ctx, s.Store, actor, func(tx *store.Tx) (loci.ModerationResults, error) {
		out := loci.ModerationResults{Results: make([]loci.ModerationResult, len(in.CandidateIDs))}
		tx.ExpectComputations(2 * len(in.CandidateIDs)) // the index entry and the bands of each text
		results, err := store.Bulk(tx, in.CandidateIDs, func(i int, id loci.ID) error {
			x, err := sessiondb.OpenOf(tx, id, sessiondb.Manage, store.InAnyState)
			if err != nil {
				return err
			}
			done, err := moderate(tx, x, id, in.Action, nil)
			if err == nil && done.Memory != nil {
				out.Results[i].MemoryID = done.Memory.ID
			}
			return err
		})
		for i, r := range results {
			out.Results[i].BulkResult = r
		}
		return out, err
	})
}

// moderations are the moves of the actions.
var moderations = map[loci.ModerationAction]loci.SessionAction{loci.ModerationCompile: loci.ActionCompiled,
	loci.ModerationDismiss: loci.ActionDismissed, loci.ModerationRevert: loci.ActionReverted}

// moderate applies an action to a candidate of a session.
func moderate(tx *store.Tx, x *sessiondb.Session, id loci.ID, action loci.ModerationAction,
	supersede *loci.OptionalID) (out loci.ModeratedCandidate, err error) {
	c, err := x.Candidate(id)
	if err == nil {
		err = x.Accept(store.ToChange)
	}
	if err != nil {
		return out, err
	}
	move := moderations[action]
	status, err := loci.CandidateStates.Apply(c.Status, string(move))
	if err != nil {
		return out, err
	}
	memory := c.MemoryID
	switch {
	case move == loci.ActionCompiled:
		if out.Memory, err = compile(tx, x, &c, supersede); err == nil {
			memory = out.Memory.ID
		}
	case status == loci.CandidateReverted:
		out.Memory, err = revertCompiled(tx, x, c)
	default:
		memory = ""
	}
	if err != nil {
		return out, err
	}
	if out.Candidate, err = x.SetCandidate(c, status, memory, move); err == nil {
		err = x.Save()
	}
	tx.LinkResponse(memory, c.Replaces)
	return out, err
}

// compile makes the memory of a candidate, or restores the one that was reverted. It replaces the memory that supersede
// names, or the one that the candidate carries.
func compile(tx *store.Tx, x *sessiondb.Session, c *loci.Candidate, supersede *loci.OptionalID) (*loci.Memory, error) {
	old, err := replacedBy(tx, x, c, supersede)
	if err != nil {
		return nil, err
	}
	m, err := restored(tx, c.MemoryID)
	if err == nil && m == nil {
		m, err = newCompiled(x, *c)
	}
	if err != nil || old == nil {
		return m, err
	}
	if err := replace(x, *c, old, m.ID); err != nil {
		return nil, err
	}
	now, err := memorydb.Record(tx, m.ID)
	return &now, err
}

// replace makes the memory of a candidate replace an old one.
func replace(x *sessiondb.Session, c loci.Candidate, old *memorydb.Memory, id loci.ID) error {
	r, err := old.Replacement(id)
	if err == nil {
		_, err = old.Supersede(r)
	}
	if err != nil {
		return err
	}
	return x.Step(loci.HistoryStep{Action: loci.ActionSuperseded, CandidateID: c.ID, MemoryID: c.Replaces})
}

// replacedBy returns the handle of the memory that the memory of a candidate is to replace, or nil, and gives the
// candidate its id. One that the candidate carries is left as it is where it cannot be replaced any more.
func replacedBy(tx *store.Tx, x *sessiondb.Session, c *loci.Candidate, supersede *loci.OptionalID) (
	*memorydb.Memory, error) {
	if supersede != nil {
		c.Replaces = loci.ID(*supersede)
	}
	if c.Replaces == "" {
		return nil, nil
	}
	old, err := openReplaced(tx, x, c)
	if supersede == nil && err != nil && store.IsRefusal(err) {
		return nil, nil
	}
	return old, err
}

func openReplaced(tx *store.Tx, x *sessiondb.Session, c *loci.Candidate) (*memorydb.Memory, error) {
	if err := memorydb.Lock(tx, c.Replaces, c.MemoryID); err != nil {
		return nil, err
	}
	switch m, err := memorydb.Record(tx, c.Replaces); {
	case err != nil:
		return nil, err
	case m.AtlasID != x.AtlasID:
		return nil, loci.Errorf(loci.CodeInvalidQuery, "supersede must name a memory of the session's atlas")
	case m.ID == c.MemoryID:
		return nil, loci.Errorf(loci.CodeInvalidQuery, "supersede must name another memory than the candidate's own")
	}
	old, err := memorydb.Open(tx, c.Replaces, store.ToMove)
	if err == nil {
		_, err = loci.MemoryStates.Apply(old.Record().Status, "superseded")
	}
	return old, err
}

// restored makes the memory of a reverted candidate active, or returns nil where it has none.
func restored(tx *store.Tx, id loci.ID) (*loci.Memory, error) {
	if id == "" {
		return nil, nil
	}
	h, err := openLinked(tx, id)
	if err != nil || h == nil {
		return nil, err
	}
	m := h.Record()
	if m.Status != loci.MemoryActive {
		m, err = h.Restore()
	}
	return &m, err
}

// openLinked returns the handle of a memory to move it, or nil where it was deleted.
func openLinked(tx *store.Tx, id loci.ID) (*memorydb.Memory, error) {
	if err := memorydb.LockLinked(tx, id); err != nil {
		return nil, err
	}
	h, err := memorydb.Open(tx, id, store.ToMove)
	if loci.Is(err, loci.CodeNotFound) {
		return nil, nil
	}
	return h, err
}

// revertCompiled archives the memory of a candidate, and brings back the one that it replaced.
func revertCompiled(tx *store.Tx, x *sessiondb.Session, c loci.Candidate) (*loci.Memory, error) {
	if c.MemoryID == "" {
		return nil, nil
	}
	h, err := openLinked(tx, c.MemoryID)
	if err != nil || h == nil {
		return nil, err
	}
	if status := h.Record().Status; status != loci.MemoryArchived {
		if _, err := loci.MemoryStates.Apply(status, "archived"); err != nil {
			return nil, err
		}
	}
	if slices.Contains(h.Record().Supersedes, c.Replaces) {
		old, err := openLinked(tx, c.Replaces)
		if err == nil && old != nil {
			_, err = old.Restore()
		}
		if err == nil {
			err = x.Step(loci.HistoryStep{Action: loci.ActionRestored, CandidateID: c.ID, MemoryID: c.Replaces})
		}
		if err == nil {
			h, err = memorydb.Open(tx, c.MemoryID, store.ToMove)
		}
		if err != nil {
			return nil, err
		}
	}
	m := h.Record()
	if m.Status != loci.MemoryArchived {
		m, err = archive(h)
	}
	return &m, err
}

// archive archives a memory.
func archive(h *memorydb.Memory) (loci.Memory, error) {
	next, err := h.Record(), error(nil)
	if next.Status, err = loci.MemoryStates.Apply(next.Status, "archived"); err != nil {
		return next, err
	}
	return h.Update(next, nil)
}
