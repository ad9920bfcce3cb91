package session

import (
	"context"
	"encoding/json"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/page"
	"github.com/loci-memory/loci/internal/secret"
	"github.com/loci-memory/loci/internal/service/cursor"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/sessiondb"
)

// StartSession starts a session, or resumes the one that has the external id.
func (s *Service) StartSession(ctx context.Context, actor *identity.Actor,
	in loci.StartSession) (loci.StartedSession, error) {
	if in.Kind == "" {
		in.Kind = loci.SessionManual
	}
	if in.Kind == loci.SessionAutomatic && in.Adapter == "" {
		return loci.StartedSession{}, loci.Errorf(loci.CodeInvalidQuery, "adapter is required for an automatic session")
	}
	in.Task, in.SourceName = secret.Redacted(in.Task), secret.Redacted(in.SourceName)
	return store.Write(ctx, s.Store, actor, func(tx *store.Tx) (out loci.StartedSession, err error) {
		x, found, err := s.resumeSession(tx, in)
		if err == nil && !found {
			x, err = s.addSession(tx, in)
		}
		if err != nil {
			return out, err
		}
		if out.Session = x.Record(); found {
			out = loci.StartedSession{Session: x.Record(), Creation: loci.Existing}
		}
		if err = tx.SetSource(string(in.SourceName)); err == nil {
			out.Context, err = s.Context(tx, out.Session.AtlasID, int(in.MaxTokens))
		}
		return out, err
	})
}

// resumeSession returns the session of the actor with the external id of an input. A request that names a workspace or
// an atlas looks in that workspace alone.
func (s *Service) resumeSession(tx *store.Tx, in loci.StartSession) (x *sessiondb.Session, found bool, err error) {
	if in.ExternalID == "" {
		return nil, false, nil
	}
	workspace := in.WorkspaceID
	if in.AtlasID != "" { // perhaps an archived one, where no session can begin
		a, err := tx.AtlasRecord(in.AtlasID)
		if err != nil || workspace != "" && workspace != a.WorkspaceID { // addSession reports another workspace
			return nil, false, err
		}
		workspace = a.WorkspaceID
	} else if workspace != "" {
		if _, err := tx.WorkspaceRecord(workspace); err != nil {
			return nil, false, err
		}
	}
	x, found, err = sessiondb.ByExternalID(tx, workspace, in.Kind, in.Adapter, string(in.ExternalID))
	if err != nil || !found {
		return nil, false, err
	}
	if x.Archived {
		if err := x.SetArchived(false); err != nil {
			return nil, false, err
		}
	}
	if x.Ends {
		x.Ends = false
		return x, true, x.Save()
	}
	if x.Status == loci.SessionActive || x.Kind == loci.SessionManual {
		return x, true, nil
	}
	change, err := x.Move(loci.ActionReopened)
	if err != nil {
		return nil, false, err
	}
	return x, true, x.Apply(change)
}

// addSession makes a session in the requested atlas, in that of the policy, or in the one whose keywords match the
// task.
func (s *Service) addSession(tx *store.Tx, in loci.StartSession) (*sessiondb.Session, error) {
	where := loci.CreateMemory{AtlasID: in.AtlasID, WorkspaceID: in.WorkspaceID}
	if in.AtlasID == "" {
		policy, err := sessiondb.Policy(tx, in.WorkspaceID)
		if err != nil {
			return nil, err
		}
		if policy.AtlasID != "" {
			r, err := tx.AtlasRecord(policy.AtlasID)
			if err == nil && r.Status == loci.ContainerActive {
				where.AtlasID = r.ID
			} else if err != nil && !loci.Is(err, loci.CodeNotFound) {
				return nil, err
			}
		}
	}
	a, _, err := s.Route(tx, where, loci.Memory{Title: string(in.Task)})
	if err != nil {
		return nil, err
	}
	return sessiondb.Add(a, loci.Session{Task: string(in.Task), Kind: in.Kind, Adapter: in.Adapter,
		ExternalID: string(in.ExternalID), SourceName: string(in.SourceName)})
}

// GetSession reads a session with the newest of each part.
func (s *Service) GetSession(ctx context.Context, actor *identity.Actor,
	in loci.GetSession) (loci.SessionDetail, error) {
	return store.Read(ctx, s.Store, actor, func(tx *store.Tx) (out loci.SessionDetail, err error) {
		v, err := sessiondb.OpenView(tx, in.SessionID)
		if err != nil {
			return out, err
		}
		if err = v.ReadParts(&out, loci.MaxShownParts); err != nil {
			return out, err
		}
		if out.Context, err = s.Context(tx, v.AtlasID, int(in.MaxTokens)); err != nil {
			return out, err
		}
		return withinPage(out)
	})
}

// withinPage omits the oldest texts of a session that is larger than a page, and computes its entity tag.
func withinPage(d loci.SessionDetail) (loci.SessionDetail, error) {
	for page.JSONSize(&d) > page.MaxBytes && len(d.Candidates)+len(d.Checkpoints) > 0 {
		d.Candidates = d.Candidates[:len(d.Candidates)*3/4]
		d.Checkpoints = d.Checkpoints[:len(d.Checkpoints)*3/4]
	}
	tagged := d
	tagged.Context.GeneratedAt = 0
	b, err := json.Marshal(tagged)
	return d.WithEntityTag(string(b)), err
}

// ListSessions lists sessions, newest first.
func (s *Service) ListSessions(ctx context.Context, actor *identity.Actor,
	in loci.ListSessions) (out loci.Sessions, err error) {
	out.Sessions, out.Page, err = cursor.ListPage(ctx, s.Store, actor, &in.Paging, &in,
		func(tx *store.Tx, p page.Request) (page.List[loci.Session], error) {
			return sessiondb.List(tx, sessiondb.Filter{WorkspaceID: in.WorkspaceID, AtlasID: in.AtlasID,
				Status: sessiondb.Statuses(in.Status), Managed: in.Scope == loci.ScopeManaged,
				Archived: len(in.Include) > 0}, p)
		},
		func(x loci.Session) page.Key { return page.Key{At: x.CreatedAt, ID: x.ID} })
	return out, err
}

// AddCheckpoint appends a note on the progress of a session.
func (s *Service) AddCheckpoint(ctx context.Context, actor *identity.Actor, in loci.AddCheckpoint) (
	loci.AddedCheckpoint, error) {
	in.Summary = secret.Redacted(in.Summary)
	return inSession(ctx, s, actor, in.SessionID, sessiondb.Own, store.ToContinue,
		func(_ *store.Tx, x *sessiondb.Session) (out loci.AddedCheckpoint, err error) {
			if err = limitOf(x.Counts.Checkpoints, loci.MaxCheckpoints, "checkpoints"); err == nil {
				out.Checkpoint, err = x.AddCheckpoint(string(in.Summary))
			}
			return out, err
		})
}

// ArchiveSession archives or restores a session.
func (s *Service) ArchiveSession(ctx context.Context, actor *identity.Actor,
	in loci.ArchiveSession) (loci.OneSession, error) {
	return inSession(ctx, s, actor, in.SessionID, sessiondb.Manage, store.ToMove,
		func(_ *store.Tx, x *sessiondb.Session) (loci.OneSession, error) {
			err := x.SetArchived(in.Archived == nil || *in.Archived)
			return loci.OneSession{Session: x.Record()}, err
		})
}

// BulkSessions archives, restores or deletes sessions. It does what can be done, and reports the rest.
func (s *Service) BulkSessions(ctx context.Context, actor *identity.Actor,
	in loci.BulkSessions) (loci.BulkResults, error) {
	return store.Write(ctx, s.Store, actor, func(tx *store.Tx) (out loci.BulkResults, err error) {
		out.Results, err = store.Bulk(tx, in.SessionIDs, func(_ int, id loci.ID) error {
			return bulkSession(tx, id, in.Action)
		})
		return out, err
	})
}

func bulkSession(tx *store.Tx, id loci.ID, action loci.BulkAction) error {
	access, purpose := sessiondb.Manage, store.ToMove
	if action == loci.BulkDelete {
		access, purpose = sessiondb.Own, store.InAnyState
	}
	x, err := sessiondb.Open(tx, id, access, purpose)
	switch {
	case err != nil:
		return err
	case action == loci.BulkDelete:
		return x.Delete()
	}
	return x.SetArchived(action == loci.BulkArchive)
}

// inSession runs f on the handle of a session.
func inSession[Out any](ctx context.Context, s *Service, actor *identity.Actor, id loci.ID, access sessiondb.Access,
	p store.Purpose, f func(tx *store.Tx, x *sessiondb.Session) (Out, error)) (Out, error) {
	return store.Write(ctx, s.Store, actor, func(tx *store.Tx) (out Out, err error) {
		x, err := sessiondb.Open(tx, id, access, p)
		if err != nil {
			return out, err
		}
		return f(tx, x)
	})
}

// limitOf returns state_conflict where a session has as many parts as it may have.
func limitOf(count, limit int, noun string) error {
	if count < limit {
		return nil
	}
	return loci.Errorf(loci.CodeStateConflict, "A session has at most %d %s: end it, and start another one.", limit,
		noun)
}
