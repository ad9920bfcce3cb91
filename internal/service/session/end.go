package session

import (
	"context"
	"fmt"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/secret"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/memorydb"
	"github.com/loci-memory/loci/internal/store/sessiondb"
)

// FinalizeSession compiles the pending candidates of a session, writes its snapshot and ends it: all or nothing.
func (s *Service) FinalizeSession(ctx context.Context, actor *identity.Actor, in loci.FinalizeSession) (
	loci.FinalizedSession, error) {
	in.Summary = secret.Redacted(in.Summary)
	entries, err := s.pendingEntries(ctx, actor, in.SessionID)
	if err != nil {
		return loci.FinalizedSession{}, err
	}
	return inSession(ctx, s, actor, in.SessionID, sessiondb.Own, store.ToChange,
		func(tx *store.Tx, x *sessiondb.Session) (out loci.FinalizedSession, err error) {
			change, err := x.Move(loci.ActionFinalized)
			if err != nil {
				return out, err
			}
			if err = compilePending(tx, x, entries, &out); err != nil {
				return out, err
			}
			summary := x.Summary
			if in.Summary != "" {
				summary = string(in.Summary)
			}
			snapshot, err := snapshotOf(x, summary)
			if err != nil {
				return out, err
			}
			change.Summary, change.Snapshot = &summary, &snapshot
			err = x.Apply(change)
			out.Session = x.Record()
			return out, err
		})
}

// pendingEntries analyzes the texts of the pending candidates before the transaction, because other writers wait for
// it. The entries are keyed by title and content.
func (s *Service) pendingEntries(ctx context.Context, actor *identity.Actor, id loci.ID) (
	map[[2]string]memorydb.IndexEntry, error) {
	list, err := store.Read(ctx, s.Store, actor.WithoutIdempotency(), func(tx *store.Tx) ([]loci.Candidate, error) {
		v, err := sessiondb.OpenView(tx, id)
		if err != nil {
			return nil, err
		}
		return v.PendingCandidates()
	})
	entries := make(map[[2]string]memorydb.IndexEntry, len(list))
	for _, c := range list {
		if entries[[2]string{c.Title, c.Content}], err = s.newIndexEntry(ctx, actor, c.Title, c.Content); err != nil {
			return nil, err
		}
	}
	return entries, err
}

// compilePending makes memories of the pending candidates. Those whose content is known are dismissed.
func compilePending(tx *store.Tx, x *sessiondb.Session, entries map[[2]string]memorydb.IndexEntry,
	out *loci.FinalizedSession) error {
	out.Compiled, out.Skipped = []loci.CompiledCandidate{}, []loci.SkippedCandidate{}
	list, err := x.PendingCandidates()
	if err != nil {
		return err
	}
	for _, c := range list {
		m := memoryOf(x, c)
		entry, ok := entries[[2]string{m.Title, m.Content}]
		if !ok {
			if entry, err = memorydb.ComputeIndexEntry(tx, m.Title, m.Content); err != nil {
				return err
			}
		}
		made, err := memorydb.Create(x.Atlas(), loci.NewMemory{Memory: m}, entry,
			memorydb.CreatePolicy{OnDuplicate: loci.OnDuplicateReturn})
		if err != nil {
			return err
		}
		m = made.Memory.Memory
		status, action := loci.CandidateCompiled, loci.ActionCompiled
		if !made.Created() {
			status, action = loci.CandidateDismissed, loci.ActionSkipped
			out.Skipped = append(out.Skipped, loci.SkippedCandidate{CandidateID: c.ID, MemoryID: m.ID,
				Reason: "An active memory of the atlas has the same content."})
		} else {
			out.Compiled = append(out.Compiled, loci.CompiledCandidate{CandidateID: c.ID, MemoryID: m.ID})
			old, err := replacedBy(tx, x, &c, nil)
			if err == nil && old != nil {
				err = replace(x, c, old, m.ID)
			}
			if err != nil {
				return err
			}
		}
		tx.LinkResponse(m.ID)
		if _, err := x.SetCandidate(c, status, m.ID, action); err != nil {
			return err
		}
	}
	return nil
}

// maxSnapshot bounds the snapshot of a session, in bytes.
const maxSnapshot = 256 << 10

// snapshotOf returns task, summary, checkpoints and compiled candidates of a session as Markdown. It counts what has no
// space.
func snapshotOf(x *sessiondb.Session, summary string) (string, error) {
	checkpoints, err := x.AllCheckpoints()
	if err != nil {
		return "", err
	}
	compiled, err := x.CompiledCandidates()
	if err != nil {
		return "", err
	}
	w := snapshotWriter{}
	w.add("# " + oneLine(x.Task) + "\n")
	if summary != "" {
		w.add("\n" + strings.Trim(summary, "\n") + "\n")
	}
	w.heading = "\n## Checkpoints\n"
	for _, c := range checkpoints {
		w.add(fmt.Sprintf("\n### Checkpoint %d\n\n%s\n", c.Number, strings.Trim(c.Summary, "\n")))
	}
	w.heading = "\n## Memories\n"
	for _, c := range compiled {
		m := memoryOf(x, c)
		w.add(fmt.Sprintf("\n### %s (%s)\n\n%s\n", oneLine(m.Title), m.Type, strings.Trim(m.Content, "\n")))
	}
	return w.String(), nil
}

// A snapshotWriter collects parts up to maxSnapshot, and counts the others. The heading precedes the next part that
// fits.
type snapshotWriter struct {
	text    strings.Builder
	heading string
	omitted int
}

func (w *snapshotWriter) add(part string) {
	if w.text.Len()+len(w.heading)+len(part) > maxSnapshot {
		w.omitted++
		return
	}
	w.text.WriteString(w.heading + part)
	w.heading = ""
}

func (w *snapshotWriter) String() string {
	if w.omitted > 0 {
		fmt.Fprintf(&w.text, "\n%d more parts do not fit into this snapshot.\n", w.omitted)
	}
	return w.text.String()
}

// oneLine returns a text with its white space as single spaces.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// CompleteSession ends an automatic session whose units are all stored.
func (s *Service) CompleteSession(ctx context.Context, actor *identity.Actor, in loci.CompleteSession) (
	loci.OneSession, error) {
	return s.moveSession(ctx, actor, in.SessionID, loci.ActionCompleted)
}

// ReopenSession makes an ended automatic session active again.
func (s *Service) ReopenSession(ctx context.Context, actor *identity.Actor,
	in loci.ReopenSession) (loci.OneSession, error) {
	return s.moveSession(ctx, actor, in.SessionID, loci.ActionReopened)
}

func (s *Service) moveSession(ctx context.Context, actor *identity.Actor, id loci.ID, move loci.SessionAction) (
	loci.OneSession, error) {
	return inSession(ctx, s, actor, id, sessiondb.Own, store.InAnyState,
		func(_ *store.Tx, x *sessiondb.Session) (out loci.OneSession, err error) {
			if err = requireAutomatic(x); err == nil {
				err = x.Accept(store.ToChange)
			}
			if err != nil {
				return out, err
			}
			change, err := x.Move(move)
			if err == nil && move == loci.ActionCompleted {
				err = requireStored(x)
			}
			if err == nil {
				err = x.Apply(change)
			}
			return loci.OneSession{Session: x.Record()}, err
		})
}

// requireStored returns state_conflict where a unit of the session is open.
func requireStored(x *sessiondb.Session) error {
	key, err := x.OpenUnit()
	if err == nil && key != "" {
		err = loci.Errorf(loci.CodeStateConflict, "The unit %s is open: finalize it first, or finalize the session.",
			key)
	}
	return err
}

// requireAutomatic returns state_conflict for a manual session.
func requireAutomatic(x *sessiondb.Session) error {
	if x.Kind == loci.SessionAutomatic {
		return nil
	}
	return loci.Errorf(loci.CodeStateConflict, "The session is manual, and this needs an automatic one: start one "+
		"with kind automatic.")
}

// RevertSession archives the memory of the unit that was finalized last.
func (s *Service) RevertSession(ctx context.Context, actor *identity.Actor,
	in loci.RevertSession) (loci.OneSession, error) {
	return inSession(ctx, s, actor, in.SessionID, sessiondb.Manage, store.ToChange,
		func(tx *store.Tx, x *sessiondb.Session) (out loci.OneSession, err error) {
			if err = archiveAutomatic(tx, x.MemoryID); err != nil {
				return out, err
			}
			err = x.SaveStep(loci.HistoryStep{Action: loci.ActionReverted, MemoryID: x.MemoryID})
			return loci.OneSession{Session: x.Record()}, err
		})
}

// archiveAutomatic archives the memory of a session. It returns state_conflict unless the memory exists and is active.
func archiveAutomatic(tx *store.Tx, id loci.ID) error {
	h, err := memorydb.Open(tx, id, store.ToMove)
	if err == nil && h.Record().Status == loci.MemoryActive {
		_, err = archive(h)
		return err
	}
	if err != nil && !loci.Is(err, loci.CodeNotFound) {
		return err
	}
	return loci.Errorf(loci.CodeStateConflict, "The session has no active automatic memory: nothing can be reverted.")
}
