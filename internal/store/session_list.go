package store

import (
	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store/sessiondb"
)

// A SessionFilter limits a list of sessions or of their candidates. An empty field does not limit it.
type SessionFilter struct {
	WorkspaceID, AtlasID, SessionID loci.ID
	Status                          string // of the session or the candidate
	Managed                         bool   // those of all members, for managers
	Archived                        bool   // archived sessions too
}

// sessionScope returns the condition of a filter on sessions s, with arguments from ?2 on.
func (t *Tx) sessionScope(f SessionFilter) (where string, args []any, err error) {
	r := scopeFilter{}
	if f.WorkspaceID != "" || f.AtlasID != "" {
		if r, err = t.resolveScope(Filter{WorkspaceID: f.WorkspaceID, AtlasID: f.AtlasID}); err != nil {
			return "", nil, err
		}
	}
	workspace := int64(0)
	if len(r.workspaces) > 0 {
		workspace = r.workspaces[0]
	}
	if f.Managed {
		if err := t.requireManager(workspace); err != nil {
			return "", nil, err
		}
	}
	switch {
	case f.SessionID != "":
		if _, err := t.SessionView(f.SessionID); err != nil {
			return "", nil, err
		}
		where = `WHERE` + sessionReach
	case !f.Managed:
		where = `WHERE s.user_id = ?1`
	case workspace != 0:
		where = `WHERE s.workspace = ?2`
	default:
		where = `WHERE m.role <> 'member'`
	}
	return where + ` AND (?2 = 0 OR s.workspace = ?2) AND (?3 = 0 OR s.atlas = ?3) AND s.archived IN (?4, ?5)
		AND (?6 = '' OR s.id = ?6) `, []any{workspace, r.atlas, false, f.Archived || f.SessionID != "", f.SessionID}, nil
}

// requireManager returns Forbidden where the actor manages neither the workspace nor, without one, any.
func (t *Tx) requireManager(workspace int64) error {
	var manages bool
	err := t.queryRow(`SELECT EXISTS (SELECT 1 FROM`+t.membershipSubquery()+
		`WHERE m.role <> 'member' AND (?2 = 0 OR w.row_id = ?2))`, []any{workspace}, &manages)
	if err == nil && !manages {
		err = loci.NewError(loci.CodeForbidden)
	}
	return err
}

// Sessions returns a page of sessions, newest first, without their snapshots.
func (t *Tx) Sessions(f SessionFilter, p Page) (list List[loci.Session], err error) {
	where, args, err := t.sessionScope(f)
	if err != nil {
		return list, err
	}
	return queryPage(p, t.query, `SELECT`+sessiondb.ListColumns+`FROM`+t.sessionsJoin()+where+
		`AND (?7 = '' OR s.status = ?7) AND (s.created_at, s.id) < (?8, ?9)
			ORDER BY s.created_at DESC, s.id DESC LIMIT ?10`, func(r sqldb.Row) (loci.Session, error) {
		var row sessiondb.Row
		err := r.Scan(row.Dest()...)
		return row.Record(), err
	}, append(args, f.Status)...)
}

// Candidates returns a page of candidates, newest first.
func (t *Tx) Candidates(f SessionFilter, p Page) (list List[loci.Candidate], err error) {
	where, args, err := t.sessionScope(f)
	if err != nil {
		return list, err
	}
	status := `AND (?7 = '' OR c.status = ?7)`
	if f.Status == string(loci.CandidatePending) {
		status = `AND ?7 <> '' AND c.status = 'pending'` // the condition of the partial indexes
	}
	owner := `c.workspace = s.workspace`
	switch {
	case f.SessionID != "":
	case !f.Managed:
		owner += ` AND c.user_id = ?1`
	case f.WorkspaceID != "" || f.AtlasID != "":
		owner += ` AND c.workspace = ?2`
	}
	list, err = queryPage(p, t.query, `SELECT`+sessiondb.CandidateColumns+`FROM`+t.sessionsJoin()+
		`JOIN candidates c ON c.session = s.row_id AND `+owner+` `+where+status+
		` AND (c.created_at, c.id) < (?8, ?9) ORDER BY c.created_at DESC, c.id DESC LIMIT ?10`,
		sessiondb.ScanCandidate, append(args, f.Status)...)
	if err == nil {
		err = t.keepSimilarInReach(list.Items)
	}
	return list, err
}

// Policy returns the automatic memory of the actor in a workspace; without an id it is the default one.
func (t *Tx) Policy(workspaceID loci.ID) (loci.Policy, error) {
	which, args, err := `WHERE e.id = ?2`, []any{workspaceID}, error(nil)
	if workspaceID == "" {
		if which, args, err = t.defaultWorkspace(); err != nil {
			return loci.Policy{}, err
		}
	}
	var rowID int64
	if err := t.queryRow(`SELECT w.row_id FROM workspaces e`+t.membershipJoin("e.row_id")+which, args,
		&rowID); err != nil {
		return loci.Policy{}, sqldb.MapNoRows(err)
	}
	return sessiondb.ReadPolicy(t.conn, t.actor.UserID, rowID)
}

// PolicyOf returns the automatic memory of the session's user in its workspace.
func (s *Session) PolicyOf() (loci.Policy, error) {
	return sessiondb.ReadPolicy(s.t.conn, s.UserID, s.atlas.workspace.rowID)
}

// PolicyOf returns the automatic memory of the session's user in its workspace.
func (v *SessionView) PolicyOf() (p loci.Policy, err error) {
	var rowID int64
	if err := v.t.conn.QueryRow(`SELECT w.row_id FROM workspaces w WHERE w.id = ?1`, []any{v.WorkspaceID},
		[]any{&rowID}); err != nil {
		return p, sqldb.MapNoRows(err)
	}
	return sessiondb.ReadPolicy(v.t.conn, v.UserID, rowID)
}

// PolicyWorkspace returns the handle of the workspace of a policy; without an id it is the default one.
func (t *Tx) PolicyWorkspace(id loci.ID) (*Workspace, error) {
	if id == "" {
		return t.DefaultWorkspace(loci.RoleMember)
	}
	return t.openWorkspace(loci.RoleMember, "KEY SHARE", `WHERE e.id = ?2`, id)
}

// SetPolicy replaces the automatic memory of the actor in the workspace.
func (w *Workspace) SetPolicy(p loci.Policy) (loci.Policy, error) {
	if err := w.requireActive(); err != nil {
		return p, err
	}
	var atlas int64
	if p.AtlasID != "" {
		r, err := w.t.resolveScope(Filter{AtlasID: p.AtlasID})
		if err != nil {
			return p, err
		}
		if atlas = r.atlas; r.workspaces[0] != w.rowID {
			return p, loci.NewError(loci.CodeAtlasWorkspaceMismatch)
		}
	}
	if err := sessiondb.WritePolicy(w.t.conn, w.t.actor.UserID, w.rowID, atlas, p); err != nil {
		return p, err
	}
	return sessiondb.ReadPolicy(w.t.conn, w.t.actor.UserID, w.rowID)
}
