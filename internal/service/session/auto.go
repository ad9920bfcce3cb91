package session

import (
	"context"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/pathglob"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/memorydb"
	"github.com/loci-memory/loci/internal/store/sessiondb"
)

// GetPolicy reads the actor's policy of automatic memory in a workspace.
func (s *Service) GetPolicy(ctx context.Context, actor *identity.Actor, in loci.GetPolicy) (loci.OnePolicy, error) {
	return store.Read(ctx, s.Store, actor, func(tx *store.Tx) (loci.OnePolicy, error) {
		p, err := sessiondb.Policy(tx, in.WorkspaceID)
		return loci.OnePolicy{Policy: p}, err
	})
}

// SetPolicy replaces the actor's policy of automatic memory in a workspace.
func (s *Service) SetPolicy(ctx context.Context, actor *identity.Actor, in loci.SetPolicy) (loci.OnePolicy, error) {
	next, err := newPolicy(in)
	if err != nil {
		return loci.OnePolicy{}, err
	}
	return store.Write(ctx, s.Store, actor, func(tx *store.Tx) (loci.OnePolicy, error) {
		w, err := sessiondb.PolicyWorkspace(tx, in.WorkspaceID)
		if err != nil {
			return loci.OnePolicy{}, err
		}
		p, err := sessiondb.SetPolicy(w, next)
		return loci.OnePolicy{Policy: p}, err
	})
}

// newPolicy returns the policy of an input.
func newPolicy(in loci.SetPolicy) (loci.Policy, error) {
	p := loci.DefaultPolicy()
	p.Enabled, p.Paused, p.AtlasID, p.MinLength = in.Enabled, in.Paused, in.AtlasID, int(in.MinLength)
	p.KeepTurns = in.KeepTurns
	p.Adapters = loci.NewAdapterSwitches(in.Adapters.Off())
	if in.Mode != "" {
		p.Mode = in.Mode
	}
	for i, pattern := range in.ExcludePaths {
		if err := pathglob.Validate(string(pattern)); err != nil {
			return p, loci.Errorf(loci.CodeInvalidQuery, "excludePaths[%d] %s", i, err)
		}
		p.ExcludePaths = append(p.ExcludePaths, string(pattern))
	}
	return p, nil
}

// RecordAudit stores what a client has redacted from an event, without any content.
func (s *Service) RecordAudit(ctx context.Context, actor *identity.Actor,
	in loci.RecordAudit) (loci.RecordedAudit, error) {
	sum := 0
	for _, x := range in.Rules {
		sum += int(x.Count)
	}
	if sum != int(in.Total) {
		return loci.RecordedAudit{}, loci.Errorf(loci.CodeInvalidQuery, "total must be the sum of the counts, %d", sum)
	}
	return inSession(ctx, s, actor, in.SessionID, sessiondb.Own, store.InAnyState,
		func(tx *store.Tx, x *sessiondb.Session) (out loci.RecordedAudit, err error) {
			a, found, err := x.Audit(string(in.EventID))
			if err != nil || found {
				return loci.RecordedAudit{Audit: a, Creation: loci.Existing}, err
			}
			if err = requireAdapter(x, in.Adapter); err == nil {
				err = x.Accept(store.ToChange)
			}
			if err == nil {
				err = limitOf(x.Audits(), loci.MaxEvents, "audits")
			}
			if err != nil {
				return out, err
			}
			a = loci.Audit{EventID: string(in.EventID), Adapter: in.Adapter, Rules: in.Rules, Total: int(in.Total),
				OccurredAt: in.OccurredAt}
			if a.OccurredAt == 0 {
				a.OccurredAt = tx.Now()
			}
			if a.Rules == nil {
				a.Rules = []loci.RedactionCount{}
			}
			out.Audit, err = x.AddAudit(a)
			return out, err
		})
}

// requireAdapter returns an error unless the session is automatic and of an adapter.
func requireAdapter(x *sessiondb.Session, adapter loci.Adapter) error {
	if err := requireAutomatic(x); err != nil {
		return err
	}
	if x.Adapter != adapter {
		return loci.Errorf(loci.CodeInvalidQuery, "adapter must be %s, as in the session", x.Adapter)
	}
	return nil
}

// RecordCompilation stores that a bridge made a memory of events, or failed to.
func (s *Service) RecordCompilation(ctx context.Context, actor *identity.Actor, in loci.RecordCompilation) (
	loci.RecordedCompilation, error) {
	if in.Outcome.MakesMemory() != (in.MemoryID != "") {
		return loci.RecordedCompilation{}, loci.Errorf(loci.CodeInvalidQuery,
			"memoryId must be given with the outcomes created and updated, and with no other one")
	}
	return inSession(ctx, s, actor, in.SessionID, sessiondb.Own, store.InAnyState,
		func(tx *store.Tx, x *sessiondb.Session) (out loci.RecordedCompilation, err error) {
			if err = requireAutomatic(x); err == nil {
				err = x.Accept(store.ToContinue)
			}
			if err == nil && in.MemoryID != "" {
				err = requireMemoryBeside(tx, x, in.MemoryID)
				tx.LinkResponse(in.MemoryID)
			}
			if err == nil {
				err = limitOf(x.Compilations(), loci.MaxEvents, "compilations")
			}
			if err != nil {
				return out, err
			}
			c := loci.Compilation{UnitKey: string(in.UnitKey), Compiler: string(in.Compiler), Outcome: in.Outcome,
				MemoryID: in.MemoryID, InputEventIDs: []string{}}
			for _, id := range in.InputEventIDs {
				c.InputEventIDs = append(c.InputEventIDs, string(id))
			}
			out.Compilation, err = x.AddCompilation(c)
			return out, err
		})
}

// requireMemoryBeside returns an error unless a memory is in the workspace of a session.
func requireMemoryBeside(tx *store.Tx, x *sessiondb.Session, id loci.ID) error {
	m, err := memorydb.Record(tx, id)
	if err == nil && m.WorkspaceID != x.WorkspaceID {
		err = loci.Errorf(loci.CodeInvalidQuery, "memoryId must name a memory of the session's workspace")
	}
	return err
}
