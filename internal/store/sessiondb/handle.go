package sessiondb

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store/accountdb"
	"github.com/loci-memory/loci/internal/store/internal/scope"
	"github.com/loci-memory/loci/internal/store/memorydb"
)

// An Access is the access to a session that an operation needs.
type Access int

// The accesses. A member reaches its own sessions; managers reach those of all members for Manage alone.
const (
	Own Access = iota
	Manage
)

// A Session is the handle of a session that the actor may change. Its row is locked until the commit.
type Session struct {
	view
	atlas scope.Atlas
}

// view is embedded by this name, so that no other package can make a Session of one.
type view = View

// sessionsJoin joins sessions s in reach of the actor to their workspaces w and atlases a. A deleted atlas has no
// workspace, and thus no sessions.
func sessionsJoin(t *scope.Scope) string {
	return sessionsJoinOn(t, "")
}

// sessionsJoinOn is sessionsJoin with a condition for a join of the sessions, which may be empty.
func sessionsJoinOn(t *scope.Scope, on string) string {
	if on != "" {
		on = ` ON ` + on
	}
	return ` sessions s` + on + t.MembershipJoin("s.workspace") +
		`JOIN atlases a ON a.row_id = s.atlas AND a.workspace = s.workspace `
}

// sessionReach is the condition of the sessions s that the actor may read: its own, and all as a manager.
const sessionReach = ` (s.user_id = ?1 OR m.role <> 'member') `

// Open returns the handle of a session. Out of reach it is NotFound, and Forbidden where managers may only read. A
// status or a container against the purpose is a state_conflict.
func Open(h scope.Holder, id loci.ID, access Access, p scope.Purpose) (*Session, error) {
	t := scope.Of(h)
	return openSession(t, access, p, `WHERE s.id = ?2 AND`+sessionReach, id)
}

// OpenOf returns the handle of the session of a candidate, as Open does.
func OpenOf(h scope.Holder, candidate loci.ID, access Access, p scope.Purpose) (*Session, error) {
	t := scope.Of(h)
	return openSession(t, access, p, `WHERE s.row_id = (SELECT c.session FROM candidates c WHERE c.id = ?2) AND`+
		sessionReach, candidate)
}

func openSession(t *scope.Scope, access Access, p scope.Purpose, which string, args ...any) (*Session, error) {
	s := &Session{View{in: t}, t.NewAtlas()}
	row := &s.Row
	err := t.QueryRow(`SELECT`+Columns+`,`+scope.AtlasHandleColumns+`FROM`+sessionsJoin(t)+scope.OwnerJoin+which+
		t.Conn.LockClause("UPDATE", "s")+t.Conn.LockClause("KEY SHARE", "a, w, m"), args,
		append(row.Dest(), scope.AtlasHandleDest(&s.atlas)...)...)
	if err != nil {
		return nil, sqldb.MapNoRows(err)
	}
	if access == Own && row.UserID != t.Actor.UserID {
		return nil, loci.Errorf(loci.CodeForbidden, "The session belongs to another member: you may read, archive, "+
			"restore, moderate and revert it.")
	}
	if err := row.RefreshMemory(t.Conn); err != nil {
		return nil, err
	}
	t.LinkResponse(row.ID, row.AtlasID, row.MemoryID)
	if err := t.CheckIdempotency(); err != nil {
		return nil, err
	}
	return s, s.Accept(p)
}

// Atlas returns the handle of the session's atlas.
func (s *Session) Atlas() *scope.Atlas { return &s.atlas }

// Accept returns state_conflict where the session, its atlas or its workspace refuses a purpose. An opening asks it; a
// call that first looks for an earlier answer opens the session in any state, and asks it then.
func (s *Session) Accept(p scope.Purpose) error { return acceptSession(&s.Row, &s.atlas, p) }

func acceptSession(r *Row, a *scope.Atlas, p scope.Purpose) error {
	if p == scope.InAnyState {
		return nil
	}
	if err := a.Accept(scope.ToChange); err != nil || p == scope.ToMove {
		return err
	}
	_, err := loci.ArchivedSessionStates.Apply(accountdb.ContainerStatus(r.Archived), "changed")
	if err == nil && p == scope.ToContinue {
		_, err = statesOf(r).Apply(r.Status, "continued")
	}
	return err
}

// AcceptExtraction returns state_conflict where nothing more is extracted from the events of a session.
func (r *Row) AcceptExtraction() error {
	_, err := statesOf(r).Apply(r.Status, "extracted")
	return err
}

// statesOf returns the table of the states of a session.
func statesOf(r *Row) loci.Machine[loci.SessionStatus] {
	if r.Kind == loci.SessionAutomatic {
		return loci.SessionStates
	}
	return loci.ManualSessionStates
}

// Move returns the change of the session by a move of its states.
func (s *Session) Move(move loci.SessionAction) (Change, error) {
	status, err := statesOf(&s.Row).Apply(s.Status, string(move))
	return Change{Status: status, Archived: s.Archived, Action: move}, err
}

// SetArchived archives or restores the session.
func (s *Session) SetArchived(archived bool) error {
	move := scope.ArchivingMove(archived)
	if _, err := loci.ArchivedSessionStates.Apply(accountdb.ContainerStatus(s.Archived), move); err != nil {
		return err
	}
	return s.Apply(Change{Status: s.Status, Archived: archived, Action: loci.SessionAction(move)})
}

// Delete deletes the session. A background job erases its rows; its memories stay.
func (s *Session) Delete() error {
	if err := scope.DeleteResponses(s.in.Conn, s.ID); err != nil {
		return err
	}
	if err := s.MarkDeleted(); err != nil {
		return err
	}
	return s.in.AddJob(EraseJob, s.ID)
}

// AllCheckpoints returns the checkpoints of the session, oldest first.
func (s *Session) AllCheckpoints() ([]loci.Checkpoint, error) {
	list, err := s.Checkpoints(loci.MaxCheckpoints)
	slices.Reverse(list)
	return list, err
}

// ByExternalID returns the handle of the actor's session of a kind with an id of its client: in a workspace, or in any
// where the id of the workspace is empty. It locks the id until the commit.
func ByExternalID(h scope.Holder, workspaceID loci.ID, kind loci.SessionKind, adapter loci.Adapter,
	externalID string) (s *Session, found bool, err error) {
	t := scope.Of(h)
	lock := string(t.Actor.UserID) + "/session/" + string(adapter) + "/" + externalID
	if err := t.Conn.AdvisoryLock(lock); err != nil {
		return nil, false, err
	}
	s, err = openSession(t, Own, scope.ToMove, `WHERE s.user_id = ?1 AND s.external_id = ?2 AND s.adapter = ?3
		AND s.kind = ?5 AND s.external_id <> '' AND (?4 = '' OR w.id = ?4) ORDER BY s.row_id LIMIT 1`, externalID,
		adapter, workspaceID, kind)
	if loci.Is(err, loci.CodeNotFound) {
		return nil, false, nil
	}
	return s, err == nil, err
}

// Add makes a session of the actor in an atlas.
func Add(a *scope.Atlas, r loci.Session) (*Session, error) {
	if err := a.Accept(scope.ToChange); err != nil {
		return nil, err
	}
	t := scope.Of(a)
	r.WorkspaceID, r.AtlasID, r.UserID, r.AgentID = a.WorkspaceID(), a.ID(), t.Actor.UserID, t.Actor.AgentID
	s, err := insert(t, r, a)
	t.LinkResponse(s.ID, a.ID())
	return s, err
}

// A View is a session that the actor may read, for its parts.
type View struct {
	Row
	in *scope.Scope
}

// OpenView returns a session that the actor may read, or NotFound.
func OpenView(h scope.Holder, id loci.ID) (*View, error) {
	t := scope.Of(h)
	v := &View{in: t}
	err := t.QueryRow(`SELECT`+Columns+`FROM`+sessionsJoin(t)+`WHERE s.id = ?2 AND`+sessionReach,
		[]any{id}, v.Dest()...)
	return v, sqldb.MapNoRows(err)
}

// ReadParts reads the newest of each part of the session, and the steps of its history.
func (v *View) ReadParts(out *loci.SessionDetail, limit int) (err error) {
	out.Session = v.Row.Record()
	if out.Candidates, err = v.Candidates(limit); err != nil {
		return err
	}
	if err = complete(v.in, out.Candidates); err != nil {
		return err
	}
	if out.Checkpoints, err = v.Checkpoints(limit); err != nil {
		return err
	}
	if out.Units, err = v.Units(limit); err != nil {
		return err
	}
	if out.History, err = v.History(limit); err != nil {
		return err
	}
	out.Redactions, err = v.Redactions()
	return err
}

// complete makes candidates what a read shows.
func complete(t *scope.Scope, list []loci.Candidate) error {
	if err := keepSimilarInReach(t, list); err != nil {
		return err
	}
	return addTurns(t, list)
}

// keepSimilarInReach removes the memories from the candidates that are not active any more.
func keepSimilarInReach(t *scope.Scope, list []loci.Candidate) error {
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
	err := t.QueryFew(`SELECT e.id FROM`+memorydb.Join(t)+`WHERE e.status = 0 AND e.id IN (SELECT list.value FROM `+
		fmt.Sprintf(t.Conn.Dialect.StringRows, 2)+`)`, []any{sqldb.EncodeStrings(ids)}, func(r sqldb.Row) error {
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

// OwnerOfEvent returns the session of an event, and its user as the actor of a job. The actor has presented no
// credential, and reaches the workspace of the session alone. Without a user who may sign in it is NotFound.
func OwnerOfEvent(h scope.SystemHolder, id loci.ID) (session loci.ID, actor *identity.Actor, err error) {
	t := scope.OfSystem(h)
	var c accountdb.Credential
	var workspace, agent loci.ID
	err = t.Accounts().ScanCredential(t.Conn.Row(`SELECT`+accountdb.CredentialColumns+`, s.id, s.agent_id, w.id
		FROM session_events v JOIN sessions s ON s.row_id = v.session JOIN workspaces w ON w.row_id = s.workspace
		JOIN users u ON u.id = s.user_id WHERE v.id = ?1`, id), &c, &session, &agent, &workspace)
	if err == nil && c.Revoked {
		err = loci.NewError(loci.CodeNotFound)
	}
	return session, &identity.Actor{UserID: c.UserID, Email: c.Email, Plan: c.Plan, BasePlan: c.BasePlan,
		OpenReferral: c.OpenReferral, AgentID: agent, GrantedWorkspaces: []loci.ID{workspace}}, err
}

// OpenTurn returns the turn of an event of the session. Where the session is finalized, or a place of it is archived,
// it is state_conflict.
func (v *View) OpenTurn(eventID loci.ID) (turn Turn, err error) {
	t := v.in
	a := t.NewAtlas()
	if err := t.QueryRow(`SELECT`+scope.AtlasHandleColumns+`FROM atlases a`+t.MembershipJoin("a.workspace")+
		scope.OwnerJoin+`WHERE a.id = ?2`, []any{v.AtlasID}, scope.AtlasHandleDest(&a)...); err != nil {
		return turn, sqldb.MapNoRows(err)
	}
	if err := cmp.Or(acceptSession(&v.Row, &a, scope.ToChange), v.AcceptExtraction()); err != nil {
		return turn, err
	}
	return v.Turn(eventID)
}
