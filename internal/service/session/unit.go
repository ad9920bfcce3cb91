package session

import (
	"context"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/secret"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/memorydb"
	"github.com/loci-memory/loci/internal/store/sessiondb"
	"github.com/loci-memory/loci/internal/title"
)

// OpenUnit opens a unit of an automatic session, or returns the one with the same key.
func (s *Service) OpenUnit(ctx context.Context, actor *identity.Actor, in loci.OpenUnit) (loci.OpenedUnit, error) {
	title := string(secret.Redacted(in.Title))
	return inSession(ctx, s, actor, in.SessionID, sessiondb.Own, store.InAnyState,
		func(_ *store.Tx, x *sessiondb.Session) (loci.OpenedUnit, error) {
			if err := requireAutomatic(x); err != nil {
				return loci.OpenedUnit{}, err
			}
			if err := x.Accept(store.ToContinue); err != nil {
				return loci.OpenedUnit{}, err
			}
			u, found, err := x.UnitByKey(string(in.Key))
			if err == nil && !found {
				u, err = addUnit(x, string(in.Key), title)
				return loci.OpenedUnit{Unit: u}, err
			}
			if err == nil && in.FollowUp {
				u, err = reopenUnit(x, u, title)
			}
			return loci.OpenedUnit{Unit: u, Creation: loci.Existing}, err
		})
}

func addUnit(x *sessiondb.Session, key, title string) (loci.Unit, error) {
	if err := limitOf(x.Counts.Units, loci.MaxUnits, "units"); err != nil {
		return loci.Unit{}, err
	}
	if strings.TrimSpace(title) == "" {
		title = key
	}
	return x.AddUnit(key, title)
}

// reopenUnit opens a finalized unit for a follow-up.
func reopenUnit(x *sessiondb.Session, u loci.Unit, title string) (loci.Unit, error) {
	if u.Status == loci.UnitOpen {
		return u, nil
	}
	status, err := loci.UnitStates.Apply(u.Status, "reopened")
	if err != nil {
		return u, err
	}
	if u.Status = status; strings.TrimSpace(title) != "" {
		u.Title = title
	}
	return x.SetUnit(u, loci.HistoryStep{Action: loci.ActionReopened})
}

// FinalizeUnit stores the result of a unit as its memory, or as the next version of it. A new memory without a title
// has that of the unit, if that was given.
func (s *Service) FinalizeUnit(ctx context.Context, actor *identity.Actor, in loci.FinalizeUnit) (loci.OneUnit, error) {
	m := withoutCredentials(newMemory(string(in.Title), string(in.Content), in.Type, in.Tags))
	if len(m.Content) > loci.MaxContent {
		return loci.OneUnit{}, loci.Errorf(loci.CodeInvalidQuery,
			"content must have at most %d bytes with [REDACTED:rule] in place of its credentials", loci.MaxContent)
	}
	entry, err := s.newIndexEntry(ctx, actor, m.Title, m.Content)
	if err != nil {
		return loci.OneUnit{}, err
	}
	return inSession(ctx, s, actor, in.SessionID, sessiondb.Own, store.InAnyState,
		func(tx *store.Tx, x *sessiondb.Session) (out loci.OneUnit, err error) {
			u, err := x.Unit(in.UnitID)
			if err == nil {
				err = x.Accept(store.ToContinue)
			}
			if err != nil {
				return out, err
			}
			if u.Status, err = loci.UnitStates.Apply(u.Status, "finalized"); err != nil {
				return out, err
			}
			next := m
			if u.MemoryID != "" && in.Type == "" {
				next.Type = ""
			}
			if in.Tags == nil {
				next.Tags = nil
			}
			e := entry
			if next.TitleDerived && u.MemoryID == "" && u.Title != u.Key { // somebody gave it
				next.Title, next.TitleDerived = title.Truncate(u.Title), false
				if e, err = memorydb.ComputeIndexEntry(tx, next.Title, next.Content); err != nil {
					return out, err
				}
			}
			out.Unit, _, err = storeUnit(tx, x, u, next, e, "")
			if err == nil && x.Ends {
				err = endSession(x)
			}
			return out, err
		})
}

// storeUnit writes the memory of a unit, and links unit and session to it. An existing memory keeps its type and tags
// where m has none. The event is the one that caused it, if any.
func storeUnit(tx *store.Tx, x *sessiondb.Session, u loci.Unit, m loci.Memory, e memorydb.IndexEntry, eventID string) (
	loci.Unit, loci.CompilationOutcome, error) {
	outcome, action := loci.CompilationUpdated, loci.ActionUpdated
	err := updateUnitMemory(tx, u.MemoryID, m, e)
	if loci.Is(err, loci.CodeNotFound) { // there was none, or somebody has just deleted it
		outcome, action = loci.CompilationCreated, loci.ActionCompiled
		u.MemoryID, err = addUnitMemory(x, m, e)
	}
	if err != nil {
		return u, "", err
	}
	tx.LinkResponse(u.MemoryID)
	if err := x.SetMemory(u.MemoryID); err != nil {
		return u, "", err
	}
	u, err = x.SetUnit(u, loci.HistoryStep{Action: action, EventID: eventID})
	return u, outcome, err
}

// addUnitMemory makes the memory of a unit.
func addUnitMemory(x *sessiondb.Session, m loci.Memory, e memorydb.IndexEntry) (loci.ID, error) {
	created, err := memorydb.Create(x.Atlas(), loci.NewMemory{Memory: ofSession(x, m)}, e, memorydb.CreatePolicy{})
	return created.Memory.ID, err
}

// updateUnitMemory writes the next version of the memory of a unit, or returns NotFound where it has none.
func updateUnitMemory(tx *store.Tx, id loci.ID, m loci.Memory, e memorydb.IndexEntry) error {
	if id == "" {
		return loci.NewError(loci.CodeNotFound)
	}
	h, err := memorydb.Open(tx, id, store.ToChange)
	if err == nil {
		_, err = h.Revise(m, e)
	}
	return err
}
