package scope

import (
	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store/accountdb"
)

// WorkspaceColumns are the columns of a workspace w and a membership m that ScanWorkspace reads.
const WorkspaceColumns = ` w.id, w.name, w.personal_of IS NOT NULL, m.role, w.archived, w.archived_at,
	w.archived_by, w.secrets, w.created_at, w.updated_at,
	(SELECT count(*) FROM members x WHERE x.workspace = w.row_id), (SELECT count(*) FROM atlases x
	WHERE x.workspace = w.row_id) `

// ScanWorkspace reads WorkspaceColumns.
func ScanWorkspace(r sqldb.Row) (w loci.Workspace, err error) {
	var personal, archived bool
	err = r.Scan(&w.ID, &w.Name, &personal, &w.Role, &archived, &w.ArchivedAt, &w.ArchivedBy,
		&w.Settings.Secrets, &w.CreatedAt, &w.UpdatedAt, &w.MemberCount, &w.AtlasCount)
	w.Kind, w.Status = accountdb.WorkspaceKind(personal), accountdb.ContainerStatus(archived)
	return w, err
}

// WorkspaceRecord returns a workspace in scope.
func (t Tx) WorkspaceRecord(id loci.ID) (loci.Workspace, error) {
	w, err := ScanWorkspace(t.scope.Row(`SELECT`+WorkspaceColumns+`FROM workspaces e`+t.scope.MembershipJoin("e.row_id")+
		`WHERE e.id = ?2`, id))
	return w, sqldb.MapNoRows(err)
}

// A Workspace is the handle of a workspace in which the actor has at least the requested role. Its row is locked until
// the commit.
type Workspace struct {
	scope    *Scope
	rowID    int64
	id       loci.ID
	name     string
	role     loci.Role
	personal bool
	archived bool
	secrets  loci.SecretsPolicy
	owner    Owner
}

func (w *Workspace) held() *Scope { return w.scope }

// RowID returns the key of the row.
func (w *Workspace) RowID() int64 { return w.rowID }

// ID returns the id of the workspace.
func (w *Workspace) ID() loci.ID { return w.id }

// Name returns the name of the workspace.
func (w *Workspace) Name() string { return w.name }

// Role returns the role of the actor.
func (w *Workspace) Role() loci.Role { return w.role }

// NoteChange records a change of a record of the workspace.
func (w *Workspace) NoteChange(kind loci.RecordKind, id loci.ID) {
	w.scope.Conn.NoteChange(kind, w.rowID, id, "")
}

// IsPersonal reports whether the workspace belongs to its user alone.
func (w *Workspace) IsPersonal() bool { return w.personal }

// Status returns whether the workspace is archived.
func (w *Workspace) Status() loci.ContainerStatus { return accountdb.ContainerStatus(w.archived) }

// An Owner is the owner of a workspace, whose plan limits what is in it.
type Owner struct {
	id       loci.ID
	plan     loci.PlanName // empty: the default of the server
	proUntil loci.Time
}

// OwnerJoin joins the owner of the workspace w.
const (
	OwnerJoin    = ` JOIN members o ON o.workspace = w.row_id AND o.role = 'owner' JOIN users ou ON ou.id = o.user_id `
	ownerColumns = `, ou.id, ou.plan, ou.pro_until `
)

func (o *Owner) scanDest() []any { return []any{&o.id, &o.plan, &o.proUntil} }

// DefaultWorkspace returns the handle of the workspace of a call that names none, to change it.
func (s *Scope) DefaultWorkspace(minimum loci.Role) (*Workspace, error) {
	which, args, err := s.DefaultCondition()
	if err != nil {
		return nil, err
	}
	return s.OpenWorkspace(minimum, ToChange, "KEY SHARE", which, args...)
}

// DefaultCondition returns the condition of the actor's personal workspace. A token that does not reach it uses the
// only workspace that it reaches.
func (s *Scope) DefaultCondition() (which string, args []any, err error) {
	const personal = `WHERE e.personal_of = ?1`
	if s.Actor.GrantedWorkspaces == nil {
		return personal, nil, nil
	}
	var reached []loci.ID
	hasPersonal := false
	err = s.Query(`SELECT w.id, w.personal_of IS NOT NULL FROM workspaces e`+s.MembershipJoin("e.row_id"), nil,
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

// OpenWorkspace returns the handle of the workspace e of a condition. Out of scope it is NotFound, with too low a role
// Forbidden.
func (s *Scope) OpenWorkspace(minimum loci.Role, p Purpose, lock, which string, args ...any) (*Workspace, error) {
	w := &Workspace{scope: s}
	err := s.QueryRow(`SELECT w.row_id, w.id, w.name, w.personal_of IS NOT NULL, m.role, w.archived`+ownerColumns+
		`FROM workspaces e`+s.MembershipJoin("e.row_id")+OwnerJoin+which+s.Conn.LockClause(lock, "w, m"), args,
		append([]any{&w.rowID, &w.id, &w.name, &w.personal, &w.role, &w.archived}, w.owner.scanDest()...)...)
	if err = w.Authorize(err, minimum); err == nil {
		err = w.Accept(p)
	}
	return w, err
}

// Authorize checks scope (by the error of the query), role and idempotency, in this order.
func (w *Workspace) Authorize(err error, minimum loci.Role) error {
	return w.scope.Authorize(err, w.role, minimum)
}

// Authorize checks scope (by the error of a query), the role in the workspace and idempotency, in this order.
func (s *Scope) Authorize(err error, role, minimum loci.Role) error {
	if err != nil {
		return sqldb.MapNoRows(err)
	}
	switch {
	case role.AtLeast(minimum):
		return s.CheckIdempotency()
	case minimum == loci.RoleOwner:
		return loci.Errorf(loci.CodeForbidden, "Only the owner of the workspace may do this: ask the owner.")
	}
	return loci.NewError(loci.CodeForbidden)
}

// Accept returns state_conflict where the workspace is archived and refuses a purpose.
func (w *Workspace) Accept(p Purpose) error {
	if !p.Changes() {
		return nil
	}
	_, err := loci.WorkspaceStates.Apply(w.Status(), "changed")
	return err
}

// RequireTeam returns state_conflict for the personal workspace, which belongs to its user alone.
func (w *Workspace) RequireTeam() error {
	if w.personal {
		return loci.Errorf(loci.CodeStateConflict, "A personal workspace belongs to its user alone: it cannot be "+
			"shared, left, archived or deleted. A team workspace can.")
	}
	return nil
}
