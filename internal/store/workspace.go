package store

import (
	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/analysis"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/page"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store/accountdb"
)

const workspaceColumns = ` w.id, w.name, w.personal_of IS NOT NULL, m.role, w.archived, w.secrets, w.created_at,
	w.updated_at,
	(SELECT count(*) FROM members x WHERE x.workspace = w.row_id), (SELECT count(*) FROM atlases x
	WHERE x.workspace = w.row_id) `

func scanWorkspace(r sqldb.Row) (w loci.Workspace, err error) {
	var personal, archived bool
	err = r.Scan(&w.ID, &w.Name, &personal, &w.Role, &archived, &w.Settings.Secrets, &w.CreatedAt, &w.UpdatedAt,
		&w.MemberCount, &w.AtlasCount)
	w.Kind, w.Status = accountdb.WorkspaceKind(personal), accountdb.ContainerStatus(archived)
	return w, err
}

// WorkspaceRecord returns a workspace in scope.
func (t *Tx) WorkspaceRecord(id loci.ID) (loci.Workspace, error) {
	w, err := scanWorkspace(t.row(`SELECT`+workspaceColumns+`FROM workspaces e`+t.membershipJoin("e.row_id")+
		`WHERE e.id = ?2`, id))
	return w, sqldb.MapNoRows(err)
}

// Workspaces returns the workspaces in scope. With archived it includes archived ones.
func (t *Tx) Workspaces(archived bool, p page.Request) (page.List[loci.Workspace], error) {
	return queryPage(p, t.query, `SELECT`+workspaceColumns+`FROM workspaces e`+t.membershipJoin("e.row_id")+
		`WHERE w.archived IN (?2, ?3) AND (w.created_at, w.id) < (?4, ?5) ORDER BY w.created_at DESC, w.id DESC
			LIMIT ?6`, scanWorkspace, false, archived)
}

// A Workspace is the handle of a workspace in which the actor has at least the requested role. Its row is locked until
// the commit.
type Workspace struct {
	t        *Tx
	rowID    int64
	id       loci.ID
	name     string
	role     loci.Role
	personal bool
	archived bool
	secrets  loci.SecretsPolicy
	owner    owner
}

// An owner is the owner of a workspace, whose plan limits what is in it.
type owner struct {
	id       loci.ID
	plan     loci.PlanName // empty: the default of the server
	proUntil loci.Time
}

// The owner of the workspace w.
const (
	ownerJoin    = ` JOIN members o ON o.workspace = w.row_id AND o.role = 'owner' JOIN users ou ON ou.id = o.user_id `
	ownerColumns = `, ou.id, ou.plan, ou.pro_until `
)

func (o *owner) scanDest() []any { return []any{&o.id, &o.plan, &o.proUntil} }

// presentOwner returns the owner of a workspace that a handle has locked. The owner of a handle that waited for a
// transfer is the former one: PostgreSQL reads again only the rows that a statement locks.
func (w *Workspace) presentOwner() (o owner, err error) {
	if !w.t.conn.Dialect.Postgres {
		return w.owner, nil
	}
	err = w.t.conn.QueryRow(`SELECT ou.id, ou.plan, ou.pro_until FROM members o
		JOIN users ou ON ou.id = o.user_id WHERE o.workspace = ?1 AND o.role = 'owner'`, []any{w.rowID},
		o.scanDest())
	return o, err
}

func (t *Tx) plan(o owner) identity.Plan {
	return t.store.plans.Effective(o.plan, o.proUntil, t.conn.Now)
}

// Workspace returns the handle of a workspace. Out of scope it is NotFound, with too low a role Forbidden.
func (t *Tx) Workspace(id loci.ID, minimum loci.Role, p Purpose) (*Workspace, error) {
	return t.openWorkspace(minimum, p, "UPDATE", `WHERE e.id = ?2`, id)
}

// DefaultWorkspace returns the handle of the workspace of a call that names none, to change it.
func (t *Tx) DefaultWorkspace(minimum loci.Role) (*Workspace, error) {
	which, args, err := t.defaultWorkspace()
	if err != nil {
		return nil, err
	}
	return t.openWorkspace(minimum, ToChange, "KEY SHARE", which, args...)
}

// defaultWorkspace returns the condition of the actor's personal workspace. A token that does not reach it uses the
// only workspace that it reaches.
func (t *Tx) defaultWorkspace() (which string, args []any, err error) {
	const personal = `WHERE e.personal_of = ?1`
	if t.actor.GrantedWorkspaces == nil {
		return personal, nil, nil
	}
	var reached []loci.ID
	hasPersonal := false
	err = t.query(`SELECT w.id, w.personal_of IS NOT NULL FROM workspaces e`+t.membershipJoin("e.row_id"), nil,
		func(r sqldb.Row) error {
			var id loci.ID
			var isPersonal bool
			err := r.Scan(&id, &isPersonal)
			reached, hasPersonal = append(reached, id), hasPersonal || isPersonal
			return err
		})
	switch {
	case err != nil || hasPersonal || len(reached) == 0:
		return personal, nil, err
	case len(reached) > 1:
		return "", nil, loci.Errorf(loci.CodeInvalidQuery, "workspaceId is missing: this token reaches several "+
			"workspaces, and not the personal one.")
	}
	return `WHERE e.id = ?2`, []any{reached[0]}, nil
}

func (t *Tx) openWorkspace(minimum loci.Role, p Purpose, lock, which string, args ...any) (*Workspace, error) {
	w := &Workspace{t: t}
	err := t.queryRow(`SELECT w.row_id, w.id, w.name, w.personal_of IS NOT NULL, m.role, w.archived`+ownerColumns+
		`FROM workspaces e`+t.membershipJoin("e.row_id")+ownerJoin+which+t.conn.LockClause(lock, "w, m"), args,
		append([]any{&w.rowID, &w.id, &w.name, &w.personal, &w.role, &w.archived}, w.owner.scanDest()...)...)
	if err = w.authorize(err, minimum); err == nil {
		err = w.accept(p)
	}
	return w, err
}

// authorize checks scope (by the error of the query), role and idempotency, in this order.
func (w *Workspace) authorize(err error, minimum loci.Role) error {
	if err != nil {
		return sqldb.MapNoRows(err)
	}
	switch {
	case w.role.AtLeast(minimum):
		return w.t.checkIdempotency()
	case minimum == loci.RoleOwner:
		return loci.Errorf(loci.CodeForbidden, "Only the owner of the workspace may do this: ask the owner.")
	}
	return loci.NewError(loci.CodeForbidden)
}

// accept returns state_conflict where the workspace is archived and refuses a purpose.
func (w *Workspace) accept(p Purpose) error {
	if !p.changes() {
		return nil
	}
	_, err := loci.WorkspaceStates.Apply(accountdb.ContainerStatus(w.archived), "changed")
	return err
}

// requireTeam returns state_conflict for the personal workspace, which belongs to its user alone.
func (w *Workspace) requireTeam() error {
	if w.personal {
		return loci.Errorf(loci.CodeStateConflict, "A personal workspace belongs to its user alone: it cannot be "+
			"shared, left, archived or deleted. A team workspace can.")
	}
	return nil
}

// Record returns the present record of the workspace.
func (w *Workspace) Record() (loci.Workspace, error) { return w.t.WorkspaceRecord(w.id) }

// Update writes name and settings of the record that change makes of the present one.
func (w *Workspace) Update(change func(*loci.Workspace)) (loci.Workspace, error) {
	r, err := w.Record()
	if err == nil {
		err = w.t.checkIfMatch(r.EntityTag())
	}
	if err != nil {
		return r, err
	}
	change(&r)
	w.t.LinkResponse(w.id)
	_, err = w.t.exec(`UPDATE workspaces SET name = ?2, secrets = ?3, updated_at = ?4 WHERE row_id = ?1`, w.rowID,
		r.Name, r.Settings.Secrets, max(w.t.conn.Now, r.UpdatedAt+1))
	if err != nil {
		return r, err
	}
	return w.Record()
}

// SetArchived archives or restores a team workspace.
func (w *Workspace) SetArchived(archived bool) error {
	if err := w.requireTeam(); err != nil {
		return err
	}
	was := accountdb.ContainerStatus(w.archived)
	if _, err := loci.WorkspaceStates.Apply(was, archivingMove(archived)); err != nil {
		return err
	}
	w.t.LinkResponse(w.id)
	_, err := w.t.exec(`UPDATE workspaces SET archived = ?2,`+accountdb.Touch+`WHERE row_id = ?1`, w.rowID, archived,
		w.t.conn.Now)
	return err
}

// archivingMove names the move of an atlas or a workspace that is archived or restored.
func archivingMove(archived bool) string {
	if archived {
		return "archived"
	}
	return "restored"
}

// Delete deletes a team workspace without atlases. A dry run only reports whether that is possible.
func (w *Workspace) Delete(dryRun bool) (loci.Deleted, error) {
	if err := w.checkDeletable(); err != nil {
		return loci.Deleted{}, err
	}
	if dryRun {
		return loci.NewDryRun(0, 0), nil
	}
	if err := w.t.deleteResponses(w.id); err != nil {
		return loci.Deleted{}, err
	}
	w.t.publishAtCommit(accountdb.Change{WorkspaceID: w.id})
	return loci.Deleted{}, w.t.store.eraser.DeleteWorkspace(w.t.conn, w.rowID, w.id)
}

// checkDeletable returns the reason why a workspace cannot be deleted.
func (w *Workspace) checkDeletable() error {
	if err := w.requireTeam(); err != nil {
		return err
	}
	r, err := w.Record()
	if err == nil && r.AtlasCount > 0 {
		err = loci.Errorf(loci.CodeWorkspaceNotEmpty,
			"Delete the atlases of the workspace first: it has %d.", r.AtlasCount)
	}
	return err
}

// userAsOwner returns a user with the plan that limits the workspaces of the user.
func (t *Tx) userAsOwner(userID loci.ID) (u owner, err error) {
	err = t.conn.QueryRow(`SELECT ou.id, ou.plan, ou.pro_until FROM users ou WHERE ou.id = ?1`, []any{userID},
		u.scanDest())
	return u, sqldb.NotFoundMessage(err, "The user does not exist.")
}

// checkTeamQuota returns quota_exceeded where a user has no room for that many team workspaces more.
func (t *Tx) checkTeamQuota(u owner, more int64) error {
	return t.checkQuota(t.plan(u).Teams, u.id, more,
		`SELECT count(*) FROM members m JOIN workspaces w ON w.row_id = m.workspace
		WHERE m.user_id = ?1 AND m.role = 'owner' AND w.personal_of IS NULL`, "team workspaces")
}

// AddWorkspace makes a team workspace of the actor, within the plan.
func (s *Account) AddWorkspace(name string) (loci.Workspace, error) {
	u, err := s.t.userAsOwner(s.t.actor.UserID)
	if err == nil {
		err = s.t.checkTeamQuota(u, 1)
	}
	if err != nil {
		return loci.Workspace{}, err
	}
	rowID, err := s.t.addWorkspace(name, s.t.actor.UserID, false)
	if err != nil {
		return loci.Workspace{}, err
	}
	w, err := scanWorkspace(s.t.conn.Row(`SELECT`+workspaceColumns+
		`FROM workspaces w JOIN members m ON m.workspace = w.row_id AND m.user_id = ?2 WHERE w.row_id = ?1`,
		rowID, s.t.actor.UserID))
	s.t.LinkResponse(w.ID)
	return w, err
}

func (t *Tx) addWorkspace(name string, owner loci.ID, personal bool) (rowID int64, err error) {
	var of *loci.ID
	if personal {
		of = &owner
	}
	rowID, err = t.conn.Insert(
		`INSERT INTO workspaces (id, name, personal_of, archived, secrets, created_at, updated_at)
			VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6)`,
		[]any{loci.NewID(t.conn.Now.Std()), name, of, false, loci.SecretsReject, t.conn.Now})
	if err != nil {
		return 0, err
	}
	if _, err = t.exec(`INSERT INTO keyword_indexes (workspace, version, analyzer) VALUES (?1, 0, ?2)`, rowID,
		analysis.Version); err != nil {
		return 0, err
	}
	return rowID, t.addMember(rowID, owner, loci.RoleOwner)
}

// checkQuota returns quota_exceeded where an owner has no room for that many more of something, which the query count
// counts.
func (t *Tx) checkQuota(maximum int64, owner loci.ID, more int64, count, what string) error {
	if maximum >= loci.Unlimited {
		return nil
	}
	have, err := t.countLocked(owner, count)
	if err == nil && have+more > maximum {
		err = t.quotaError("The owner's plan limits the number of %s to %d: delete one, or change the plan.", what,
			maximum)
	}
	return err
}

// countLocked counts records of an owner, under a lock until the commit.
func (t *Tx) countLocked(owner loci.ID, count string, more ...any) (n int64, err error) {
	if err = t.conn.AdvisoryLock("plan/" + string(owner)); err == nil {
		err = t.conn.QueryRow(count, append([]any{owner}, more...), []any{&n})
	}
	return n, err
}
