package store

import (
	"context"
	"fmt"
	"slices"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store/accountdb"
	"github.com/loci-memory/loci/internal/store/erasedb"
	"github.com/loci-memory/loci/internal/store/sessiondb"
)

// A SessionAccess is the access to a session that an operation needs.
type SessionAccess int

// The accesses. A member reaches its own sessions; managers reach those of all members for ManageSession alone.
const (
	OwnSession SessionAccess = iota
	ManageSession
)

// A Session is the handle of a session that the actor may change. Its row is locked until the commit.
type Session struct {
	*sessiondb.Session
	t     *Tx
	atlas Atlas
}

// sessionsJoin joins sessions s in reach of the actor to their workspaces w and atlases a. A deleted atlas has no
// workspace, and thus no sessions.
func (t *Tx) sessionsJoin() string {
	return t.sessionsJoinOn("")
}

// sessionsJoinOn is sessionsJoin with a condition for a join of the sessions, which may be empty.
func (t *Tx) sessionsJoinOn(on string) string {
	if on != "" {
		on = ` ON ` + on
	}
	return ` sessions s` + on + t.membershipJoin("s.workspace") +
		`JOIN atlases a ON a.row_id = s.atlas AND a.workspace = s.workspace `
}

// sessionReach is the condition of the sessions s that the actor may read: its own, and all as a manager.
const sessionReach = ` (s.user_id = ?1 OR m.role <> 'member') `

// Session returns the handle of a session. Out of reach it is NotFound, and Forbidden where managers may only read. A
// status or a container against the purpose is a state_conflict.
func (t *Tx) Session(id loci.ID, access SessionAccess, p Purpose) (*Session, error) {
	return t.openSession(access, p, `WHERE s.id = ?2 AND`+sessionReach, id)
}

func (t *Tx) openSession(access SessionAccess, p Purpose, which string, args ...any) (*Session, error) {
	var row sessiondb.Row
	s := &Session{t: t, atlas: Atlas{t: t, workspace: Workspace{t: t}}}
	err := t.queryRow(`SELECT`+sessiondb.Columns+`,`+atlasHandleColumns+`FROM`+t.sessionsJoin()+ownerJoin+which+
		t.conn.LockClause("UPDATE", "s")+t.conn.LockClause("KEY SHARE", "a, w, m"), args,
		append(row.Dest(), s.atlas.scanDest()...)...)
	if err != nil {
		return nil, sqldb.MapNoRows(err)
	}
	if access == OwnSession && row.UserID != t.actor.UserID {
		return nil, loci.Errorf(loci.CodeForbidden, "The session belongs to another member: you may read, archive, "+
			"restore, moderate and revert it.")
	}
	if err := row.RefreshMemory(t.conn); err != nil {
		return nil, err
	}
	s.Session = sessiondb.Open(t.conn, row, s.atlas.workspace.rowID, s.atlas.rowID, t.author())
	t.LinkResponse(row.ID, row.AtlasID, row.MemoryID)
	if err := t.checkIdempotency(); err != nil {
		return nil, err
	}
	return s, s.Accept(p)
}

func (t *Tx) author() sessiondb.Author {
	return sessiondb.Author{UserID: t.actor.UserID, AgentID: t.actor.AgentID}
}

// Record returns the present record of the session.
func (s *Session) Record() loci.Session { return s.Row.Record() }

// Memories returns the handle of the session's atlas.
func (s *Session) Memories() *Atlas { return &s.atlas }

// Accept returns state_conflict where the session, its atlas or its workspace refuses a purpose. An opening asks it; a
// call that first looks for an earlier answer opens the session InAnyState, and asks it then.
func (s *Session) Accept(p Purpose) error { return acceptSession(&s.Row, &s.atlas, p) }

func acceptSession(r *sessiondb.Row, a *Atlas, p Purpose) error {
	if p == InAnyState {
		return nil
	}
	if err := a.accept(ToChange); err != nil || p == ToMove {
		return err
	}
	_, err := loci.ArchivedSessionStates.Apply(accountdb.ContainerStatus(r.Archived), "changed")
	if err == nil && p == ToContinue {
		_, err = statesOf(r).Apply(r.Status, "continued")
	}
	return err
}

// statesOf returns the table of the states of a session.
func statesOf(r *sessiondb.Row) loci.Machine[loci.SessionStatus] {
	if r.Kind == loci.SessionAutomatic {
		return loci.SessionStates
	}
	return loci.ManualSessionStates
}

// Move returns the change of the session by a move of its states.
func (s *Session) Move(move loci.SessionAction) (sessiondb.Change, error) {
	status, err := statesOf(&s.Row).Apply(s.Status, string(move))
	return sessiondb.Change{Status: status, Archived: s.Archived, Action: move}, err
}

// SetArchived archives or restores the session.
func (s *Session) SetArchived(archived bool) error {
	move := archivingMove(archived)
	if _, err := loci.ArchivedSessionStates.Apply(accountdb.ContainerStatus(s.Archived), move); err != nil {
		return err
	}
	return s.Apply(sessiondb.Change{Status: s.Status, Archived: archived, Action: loci.SessionAction(move)})
}

// Delete deletes the session. A background job erases its rows; its memories stay.
func (s *Session) Delete() error {
	if err := s.t.deleteResponses(s.ID); err != nil {
		return err
	}
	if err := s.MarkDeleted(); err != nil {
		return err
	}
	return s.t.AddJob(erasedb.SessionsJob, s.ID)
}

// Pending returns the pending candidates of the session, oldest first.
func (s *Session) Pending() ([]loci.Candidate, error) { return s.PendingCandidates(s.t.conn) }

// AllCheckpoints returns the checkpoints of the session, oldest first.
func (s *Session) AllCheckpoints() ([]loci.Checkpoint, error) {
	list, err := s.Checkpoints(s.t.conn, loci.MaxCheckpoints)
	slices.Reverse(list)
	return list, err
}

// LockExternalSession takes a lock on the id that a client gave a session until the commit.
func (t *Tx) LockExternalSession(adapter loci.Adapter, externalID string) error {
	return t.conn.AdvisoryLock(string(t.actor.UserID) + "/session/" + string(adapter) + "/" + externalID)
}

// SessionByExternalID returns the handle of the actor's session of a kind with an id of its client: in a workspace, or
// in any where the id of the workspace is empty.
func (t *Tx) SessionByExternalID(workspaceID loci.ID, kind loci.SessionKind, adapter loci.Adapter,
	externalID string) (s *Session, found bool, err error) {
	if err := t.LockExternalSession(adapter, externalID); err != nil {
		return nil, false, err
	}
	s, err = t.openSession(OwnSession, ToMove, `WHERE s.user_id = ?1 AND s.external_id = ?2 AND s.adapter = ?3
		AND s.kind = ?5 AND s.external_id <> '' AND (?4 = '' OR w.id = ?4) ORDER BY s.row_id LIMIT 1`, externalID,
		adapter, workspaceID, kind)
	if loci.Is(err, loci.CodeNotFound) {
		return nil, false, nil
	}
	return s, err == nil, err
}

// AddSession makes a session of the actor in the atlas.
func (a *Atlas) AddSession(r loci.Session) (*Session, error) {
	if err := a.accept(ToChange); err != nil {
		return nil, err
	}
	t := a.t
	r.WorkspaceID, r.AtlasID, r.UserID, r.AgentID = a.workspace.id, a.id, t.actor.UserID, t.actor.AgentID
	row, err := sessiondb.Add(t.conn, r, a.workspace.rowID, a.rowID, t.author())
	t.LinkResponse(row.ID, a.id)
	return &Session{row, t, *a}, err
}

// SetSource records the source that the agent of the call names.
func (t *Tx) SetSource(name string) error {
	if name == "" || t.actor.AgentID == "" {
		return nil
	}
	return t.accounts().SetAgentSource(t.actor.AgentID, name)
}

// A SessionView is a session that the actor may read, for its parts.
type SessionView struct {
	sessiondb.Row
	t *Tx
}

// SessionView returns a session that the actor may read, or NotFound.
func (t *Tx) SessionView(id loci.ID) (*SessionView, error) {
	v := &SessionView{t: t}
	err := t.queryRow(`SELECT`+sessiondb.Columns+`FROM`+t.sessionsJoin()+`WHERE s.id = ?2 AND`+sessionReach,
		[]any{id}, v.Dest()...)
	return v, sqldb.MapNoRows(err)
}

// ReadParts reads the newest of each part of the session, and the steps of its history.
func (v *SessionView) ReadParts(out *loci.SessionDetail, limit int) (err error) {
	c := v.t.conn
	out.Session = v.Row.Record()
	if out.Candidates, err = v.Candidates(c, limit); err != nil {
		return err
	}
	if err = v.t.keepSimilarInReach(out.Candidates); err != nil {
		return err
	}
	if out.Checkpoints, err = v.Checkpoints(c, limit); err != nil {
		return err
	}
	if out.Units, err = v.Units(c, limit); err != nil {
		return err
	}
	if out.History, err = v.History(c, limit); err != nil {
		return err
	}
	out.Redactions, err = v.Redactions()
	return err
}

// Pending returns the pending candidates of the session, oldest first.
func (v *SessionView) Pending() ([]loci.Candidate, error) { return v.PendingCandidates(v.t.conn) }

// HasEvent reports whether the session has an event with an id of its client.
func (v *SessionView) HasEvent(eventID string) (bool, error) {
	return v.Row.HasEvent(v.t.conn, eventID)
}

// EventTexts returns the newest prompt of a unit and the answer before it.
func (v *SessionView) EventTexts(unitKey string) (prompt, previous string, err error) {
	return v.Texts(v.t.conn, unitKey)
}

// PreviousAnswer returns the newest answer of the session.
func (v *SessionView) PreviousAnswer() (string, error) { return v.LastAnswer(v.t.conn) }

// KnownCandidates returns the texts of earlier candidates of a session's user in its atlas.
func (t *Tx) KnownCandidates(v *SessionView) ([]string, error) {
	return sessiondb.KnownTexts(t.conn, v.UserID, v.AtlasID)
}

// keepSimilarInReach removes the memories from the candidates that are not active any more.
func (t *Tx) keepSimilarInReach(list []loci.Candidate) error {
	var ids []loci.ID
	for _, c := range list {
		for _, x := range c.Similar {
			ids = append(ids, x.MemoryID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	active := map[loci.ID]bool{}
	err := t.queryFew(`SELECT e.id FROM`+t.memoriesJoin()+`WHERE e.status = 0 AND e.id IN (SELECT list.value FROM `+
		fmt.Sprintf(t.conn.Dialect.StringRows, 2)+`)`, []any{sqldb.EncodeStrings(ids)}, func(r sqldb.Row) error {
		var id loci.ID
		err := r.Scan(&id)
		active[id] = true
		return err
	})
	for i := range list {
		kept := []loci.SimilarToMemory{}
		for _, x := range list[i].Similar {
			if active[x.MemoryID] {
				kept = append(kept, x)
			}
		}
		list[i].Similar = kept
	}
	return err
}

// DeleteExpiredTexts deletes the texts of events whose session ended, or was last used, 30 days ago.
func (s *Store) DeleteExpiredTexts(ctx context.Context) error {
	return sessiondb.DeleteExpiredTexts(ctx, s.db)
}
