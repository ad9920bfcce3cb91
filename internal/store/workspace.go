package store

import (
	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/search"
)

const workspaceColumns = ` w.id, w.name, w.personal_of IS NOT NULL, m.role, w.archived, w.secrets, w.created_at, w.updated_at,
	(SELECT count(*) FROM members x WHERE x.workspace = w.rid), (SELECT count(*) FROM atlases x WHERE x.workspace = w.rid) `

func scanWorkspace(r row, more ...any) (w loci.Workspace, err error) {
	var personal, archived bool
	err = r.Scan(append([]any{&w.ID, &w.Name, &personal, &w.Role, &archived, &w.Settings.Secrets, &w.CreatedAt, &w.UpdatedAt, &w.MemberCount, &w.AtlasCount}, more...)...)
	w.Kind, w.Status = loci.Team, status(archived)
	if personal {
		w.Kind = loci.Personal
	}
	return w, err
}

func status(archived bool) loci.PlaceStatus {
	if archived {
		return loci.PlaceArchived
	}
	return loci.PlaceActive
}

// scanned is a row that was read for one scan.
type scanned struct {
	scan func(dest ...any) error
}

func (s scanned) Scan(dest ...any) error { return s.scan(dest...) }

// WorkspaceRecord returns a workspace within the actor's reach.
func (t *Tx) WorkspaceRecord(id string) (loci.Workspace, error) {
	w, err := scanWorkspace(scanned{func(dest ...any) error {
		return t.one(`SELECT`+workspaceColumns+`FROM workspaces e`+t.mine("e.rid")+`WHERE e.id = ?2`, []any{id}, dest...)
	}})
	return w, notFound(err)
}

// Workspaces returns the workspaces within the actor's reach.
func (t *Tx) Workspaces(archived bool, p Page) (list List[loci.Workspace], err error) {
	at, id, limit := p.from()
	list = newList[loci.Workspace](p)
	err = t.each(`SELECT`+workspaceColumns+`FROM workspaces e`+t.mine("e.rid")+
		`WHERE w.archived IN (?2, ?3) AND (w.created_at, w.id) < (?4, ?5) ORDER BY w.created_at DESC, w.id DESC LIMIT ?6`,
		[]any{false, archived, at, id, limit}, list.scanning(func(r row) (loci.Workspace, error) { return scanWorkspace(r) }))
	return list, err
}

// A Workspace is the handle of a workspace in which the actor has at least the
// role that was asked for: writes to the workspace are its methods, and there
// is no other way to one. Its row stays as it is until the commit.
type Workspace struct {
	t        *Tx
	rid      int64
	id       string
	name     string
	role     loci.Role
	personal bool
	archived bool
	secrets  loci.SecretsPolicy
}

// Workspace returns the handle of a workspace. One that is out of reach is
// NotFound, too low a role Forbidden.
func (t *Tx) Workspace(id string, least loci.Role) (*Workspace, error) {
	w := &Workspace{t: t}
	err := t.one(`SELECT w.rid, w.id, w.name, w.personal_of IS NOT NULL, m.role, w.archived FROM workspaces e`+t.mine("e.rid")+
		`WHERE e.id = ?2`+t.locked("UPDATE", "m, w"), []any{id}, &w.rid, &w.id, &w.name, &w.personal, &w.role, &w.archived)
	return w, w.granted(err, least)
}

// PersonalWorkspace returns the handle of the actor's own workspace.
func (t *Tx) PersonalWorkspace() (*Workspace, error) {
	w := &Workspace{t: t}
	err := t.one(`SELECT w.rid, w.id, w.name, w.personal_of IS NOT NULL, m.role, w.archived FROM workspaces e`+t.mine("e.rid")+
		`WHERE e.personal_of = ?1`+t.locked("KEY SHARE", "m, w"), nil, &w.rid, &w.id, &w.name, &w.personal, &w.role, &w.archived)
	return w, w.granted(err, loci.Owner)
}

// granted ends the way to a handle: scope, role, and then whether the call was
// answered before.
func (w *Workspace) granted(err error, least loci.Role) error {
	if err != nil {
		return notFound(err)
	}
	if !w.role.AtLeast(least) {
		return loci.Fail(loci.Forbidden)
	}
	return w.t.once()
}

// open refuses what an archived workspace does not take.
func (w *Workspace) open() error {
	if w.archived {
		return loci.Fail(loci.StateConflict, "The workspace is archived: restore it first.")
	}
	return nil
}

// AddWorkspace makes a team workspace that the actor owns, unless most are there.
func (s *Self) AddWorkspace(name string, most int64) (loci.Workspace, error) {
	if err := s.t.within(most, s.t.who.UserID, `SELECT count(*) FROM members m JOIN workspaces w ON w.rid = m.workspace
		WHERE m.user_id = ?1 AND m.role = 'owner' AND w.personal_of IS NULL`, "team workspaces"); err != nil {
		return loci.Workspace{}, err
	}
	rid, err := s.t.addWorkspace(name, s.t.who.UserID, false)
	if err != nil {
		return loci.Workspace{}, err
	}
	w, err := scanWorkspace(scanned{func(dest ...any) error {
		return s.t.c.one(`SELECT`+workspaceColumns+`FROM workspaces w JOIN members m ON m.workspace = w.rid AND m.user_id = ?2 WHERE w.rid = ?1`,
			[]any{rid, s.t.who.UserID}, dest)
	}})
	s.t.Concerns(w.ID)
	return w, err
}

func (t *Tx) addWorkspace(name, owner string, personal bool) (rid int64, err error) {
	var of *string
	if personal {
		of = &owner
	}
	rid, err = t.c.insert(`INSERT INTO workspaces (id, name, personal_of, archived, secrets, created_at, updated_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6)`,
		[]any{loci.NewID(t.now.Std()), name, of, false, loci.SecretsReject, t.now})
	if err != nil {
		return 0, err
	}
	if _, err = t.exec(`INSERT INTO indexes (workspace, version, analyzer) VALUES (?1, 0, ?2)`, rid, search.AnalyzerVersion); err != nil {
		return 0, err
	}
	return rid, t.addMember(rid, owner, loci.Owner)
}

// within refuses one more of what an owner has enough of.
func (t *Tx) within(most int64, owner, count, what string) error {
	if most >= loci.Unlimited {
		return nil
	}
	have, err := t.counted(owner, count)
	if err != nil {
		return err
	}
	if have >= most {
		return loci.Fail(loci.QuotaExceeded, "The plan's limit of %s is %d, and it is reached: use one that is there, or change the plan.", what, most)
	}
	return nil
}

// counted counts by a query what an owner has, and lets nobody else count it until the
// commit.
func (t *Tx) counted(owner, count string) (n int64, err error) {
	if err = t.s.db.dialect().serialize(t.c, "plan/"+owner); err == nil {
		err = t.c.one(count, []any{owner}, []any{&n})
	}
	return n, err
}

func (t *Tx) ownerOf(workspace int64) (user string, err error) {
	err = t.c.one(`SELECT user_id FROM members WHERE workspace = ?1 AND role = 'owner'`, []any{workspace}, []any{&user})
	return user, err
}
