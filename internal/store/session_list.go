package store

import (
	"fmt"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/page"
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

// A sessionList is a list of sessions or of their candidates. Its page is the newest rows of index ranges, which a
// subquery reads in their order; then come the columns of these rows. So the cost depends on the page size.
type sessionList struct {
	table, alias string
	where        string   // condition of a row on the page, with the placeholders of args, of seek and of a limit
	ranges       []string // conditions of index ranges
	args         []any    // from ?2 on
}

// sessionInScope is the condition of sessions s in workspaces of the actor and atlases that are not deleted. As a
// scalar subquery it leaves the order of rows to the index of the list. PostgreSQL takes IS NOT NULL for likely.
func (t *Tx) sessionInScope(where string) string {
	return ` (SELECT 1 FROM sessions s` + t.membershipJoin("s.workspace") + `JOIN atlases a ON a.row_id = s.atlas
		AND a.workspace = s.workspace ` + where + ` AND s.archived IN (?4, ?5) AND (?6 = '' OR s.id = ?6)) IS NOT NULL `
}

// newSessionList returns the list of a filter of sessions s or candidates c.
func (t *Tx) newSessionList(table, alias, scope, status string, f SessionFilter,
	p page.Request) (l *sessionList, err error) {
	r := scopeFilter{}
	if f.WorkspaceID != "" || f.AtlasID != "" {
		if r, err = t.resolveScope(Filter{WorkspaceID: f.WorkspaceID, AtlasID: f.AtlasID}); err != nil {
			return nil, err
		}
	}
	workspace := int64(0)
	if len(r.workspaces) > 0 {
		workspace = r.workspaces[0]
	}
	if f.Managed {
		if err := t.requireManager(workspace); err != nil {
			return nil, err
		}
	}
	l = &sessionList{table: table, alias: alias, args: []any{workspace, r.atlas, false, f.Archived || f.SessionID != "",
		f.SessionID, f.Status}}
	l.where = strings.ReplaceAll(`(?2 = 0 OR x.workspace = ?2) AND (?3 = 0 OR x.atlas = ?3) AND `+status+
		` AND (x.created_at, x.id) < (?8, ?9) AND`, "x.", alias+".") + t.sessionInScope(scope)
	switch {
	case f.SessionID != "":
		l.ranges = []string{alias + `.session = (SELECT o.row_id FROM sessions o WHERE o.id = ?6)`}
	case !f.Managed:
		l.ranges = []string{alias + `.user_id = ?1`}
	case workspace != 0:
		l.ranges = []string{alias + `.workspace = ?2`}
	default:
		err = t.managedRanges(l, p)
	}
	return l, err
}

// managedRanges sets the ranges of the workspaces that the actor manages: those that can have rows on the page, as in
// newestRanges.
func (t *Tx) managedRanges(l *sessionList, p page.Request) error {
	at, id, rows := p.Seek()
	return t.queryFew(fmt.Sprintf(`SELECT workspace FROM (SELECT workspace,
			rank() OVER (ORDER BY newest_at DESC) AS newest_rank FROM (SELECT o.row_id AS workspace,
				(SELECT %[1]s.created_at FROM %[2]s %[1]s WHERE %[1]s.workspace = o.row_id AND %[3]s
				ORDER BY %[1]s.created_at DESC, %[1]s.id DESC LIMIT 1) AS newest_at
			FROM (SELECT w.row_id FROM`+t.membershipSubquery()+`WHERE m.role <> 'member') AS o
			LIMIT 1000000000) AS newest_of WHERE newest_at IS NOT NULL) AS ranked WHERE newest_rank <= ?10`, l.alias,
		l.table, l.where), append(l.args, at, id, rows), func(r sqldb.Row) error {
		var workspace int64
		err := r.Scan(&workspace)
		l.ranges = append(l.ranges, fmt.Sprintf(`%s.workspace = %d`, l.alias, workspace))
		return err
	})
}

// page returns a table of the row ids of the page.
func (l *sessionList) page() string {
	selects := make([]string, len(l.ranges))
	for i, x := range l.ranges {
		selects[i] = fmt.Sprintf(`SELECT * FROM (SELECT %[1]s.row_id, %[1]s.created_at, %[1]s.id FROM %[2]s %[1]s WHERE
			%[3]s AND %[4]s ORDER BY %[1]s.created_at DESC, %[1]s.id DESC LIMIT ?10) AS newest_rows`, l.alias, l.table, x,
			l.where)
	}
	return ` (SELECT row_id FROM (` + strings.Join(selects, " UNION ALL ") + `) AS merged
		ORDER BY created_at + 0 DESC, id DESC LIMIT ?10) AS page `
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
func (t *Tx) Sessions(f SessionFilter, p page.Request) (list page.List[loci.Session], err error) {
	l, err := t.newSessionList("sessions", "x", `WHERE s.row_id = x.row_id`, `(?7 = '' OR x.status = ?7)`, f, p)
	if err != nil || len(l.ranges) == 0 {
		return page.NewList[loci.Session](p), err
	}
	return queryPage(p, t.query, `SELECT`+sessiondb.ListColumns+`FROM`+l.page()+`JOIN`+
		t.sessionsJoinOn("s.row_id = page.row_id")+`WHERE`+sessionReach+
		`ORDER BY s.created_at DESC, s.id DESC`, func(r sqldb.Row) (loci.Session, error) {
		var row sessiondb.Row
		err := r.Scan(row.Dest()...)
		return row.Record(), err
	}, l.args...)
}

// Candidates returns a page of candidates, newest first.
func (t *Tx) Candidates(f SessionFilter, p page.Request) (list page.List[loci.Candidate], err error) {
	if f.SessionID != "" {
		if _, err := t.SessionView(f.SessionID); err != nil {
			return list, err
		}
	}
	status := `(?7 = '' OR x.status = ?7)`
	if f.Status == string(loci.CandidatePending) {
		status = `?7 <> '' AND x.status = 'pending'` // the condition of the partial indexes
	}
	l, err := t.newSessionList("candidates", "c", `WHERE s.row_id = c.session AND s.workspace = c.workspace`, status, f, p)
	if err != nil || len(l.ranges) == 0 {
		return page.NewList[loci.Candidate](p), err
	}
	list, err = queryPage(p, t.query, `SELECT`+sessiondb.CandidateColumns+`FROM`+l.page()+
		`JOIN candidates c ON c.row_id = page.row_id JOIN`+t.sessionsJoinOn("s.row_id = c.session")+`WHERE`+sessionReach+
		`ORDER BY c.created_at DESC, c.id DESC`, sessiondb.ScanCandidate, l.args...)
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

// PolicyWorkspace returns the handle of the workspace of a policy, to change it; without an id it is the default one.
func (t *Tx) PolicyWorkspace(id loci.ID) (*Workspace, error) {
	if id == "" {
		return t.DefaultWorkspace(loci.RoleMember)
	}
	return t.openWorkspace(loci.RoleMember, ToChange, "KEY SHARE", `WHERE e.id = ?2`, id)
}

// SetPolicy replaces the automatic memory of the actor in the workspace.
func (w *Workspace) SetPolicy(p loci.Policy) (loci.Policy, error) {
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
