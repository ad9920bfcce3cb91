package store

import (
	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/analysis"
	"github.com/loci-memory/loci/internal/page"
	"github.com/loci-memory/loci/internal/store/accountdb"
	"github.com/loci-memory/loci/internal/store/internal/scope"
)

// Workspaces returns the workspaces in scope. With archived it includes archived ones.
func (t *Tx) Workspaces(archived bool, p page.Request) (page.List[loci.Workspace], error) {
	return scope.QueryPage(p, t.in.Query, `SELECT`+scope.WorkspaceColumns+`FROM workspaces e`+t.in.MembershipJoin("e.row_id")+
		`WHERE w.archived IN (?2, ?3) AND (w.created_at, w.id) < (?4, ?5) ORDER BY w.created_at DESC, w.id DESC
			LIMIT ?6`, scope.ScanWorkspace, false, archived)
}

// A Workspace is the handle of a workspace in which the actor has at least the requested role. Its row is locked until
// the commit.
type Workspace struct {
	*workspace
	t *Tx
}

// workspace is embedded by this name, so that no other package can replace it.
type workspace = scope.Workspace

// Workspace returns the handle of a workspace. Out of scope it is NotFound, with too low a role Forbidden.
func (t *Tx) Workspace(id loci.ID, minimum loci.Role, p Purpose) (*Workspace, error) {
	w, err := t.in.OpenWorkspace(minimum, p, "UPDATE", `WHERE e.id = ?2`, id)
	return &Workspace{w, t}, err
}

// DefaultWorkspace returns the handle of the workspace of a call that names none, to change it.
func (t *Tx) DefaultWorkspace(minimum loci.Role) (*Workspace, error) {
	w, err := t.in.DefaultWorkspace(minimum)
	return &Workspace{w, t}, err
}

// Record returns the present record of the workspace.
func (w *Workspace) Record() (loci.Workspace, error) { return w.t.WorkspaceRecord(w.ID()) }

// Update writes name and settings of the record that change makes of the present one.
func (w *Workspace) Update(change func(*loci.Workspace)) (loci.Workspace, error) {
	r, err := w.Record()
	if err == nil {
		err = w.t.in.CheckIfMatch(r.EntityTag())
	}
	if err != nil {
		return r, err
	}
	change(&r)
	w.t.LinkResponse(w.ID())
	w.NoteChange(loci.KindWorkspace, w.ID())
	_, err = w.t.in.Exec(`UPDATE workspaces SET name = ?2, secrets = ?3, updated_at = ?4 WHERE row_id = ?1`, w.RowID(),
		r.Name, r.Settings.Secrets, max(w.t.in.Conn.Now, r.UpdatedAt+1))
	if err != nil {
		return r, err
	}
	return w.Record()
}

// SetArchived archives or restores a team workspace.
func (w *Workspace) SetArchived(archived bool) error {
	if err := w.RequireTeam(); err != nil {
		return err
	}
	was := w.Status()
	if _, err := loci.WorkspaceStates.Apply(was, scope.ArchivingMove(archived)); err != nil {
		return err
	}
	w.t.LinkResponse(w.ID())
	w.NoteChange(loci.KindWorkspace, w.ID())
	at := w.t.in.Archival(archived)
	_, err := w.t.in.Exec(`UPDATE workspaces SET archived = ?2, archived_at = ?4, archived_by = ?5,`+accountdb.Touch+
		`WHERE row_id = ?1`, w.RowID(), archived, w.t.in.Conn.Now, at.ArchivedAt, at.ArchivedBy)
	return err
}

// Delete deletes a team workspace without atlases. A dry run only reports whether that is possible.
func (w *Workspace) Delete(dryRun bool) (loci.Deleted, error) {
	if err := w.checkDeletable(); err != nil {
		return loci.Deleted{}, err
	}
	if dryRun {
		return loci.NewDryRun(0, 0), nil
	}
	if err := scope.DeleteResponses(w.t.in.Conn, w.ID()); err != nil {
		return loci.Deleted{}, err
	}
	w.t.in.PublishAtCommit(accountdb.Change{WorkspaceID: w.ID()})
	return loci.Deleted{}, w.t.store.eraser.DeleteWorkspace(w.t.in.Conn, w.RowID(), w.ID())
}

// checkDeletable returns the reason why a workspace cannot be deleted.
func (w *Workspace) checkDeletable() error {
	if err := w.RequireTeam(); err != nil {
		return err
	}
	r, err := w.Record()
	if err == nil && r.AtlasCount > 0 {
		err = loci.Errorf(loci.CodeWorkspaceNotEmpty,
			"Delete the atlases of the workspace first: it has %d.", r.AtlasCount)
	}
	return err
}

// AddWorkspace makes a team workspace of the actor, within the plan.
func (s *Account) AddWorkspace(name string) (loci.Workspace, error) {
	u, err := s.t.in.UserAsOwner(s.t.in.Actor.UserID)
	if err == nil {
		err = s.t.in.CheckTeamQuota(u, 1)
	}
	if err != nil {
		return loci.Workspace{}, err
	}
	rowID, err := s.t.addWorkspace(name, s.t.in.Actor.UserID, false)
	if err != nil {
		return loci.Workspace{}, err
	}
	w, err := scope.ScanWorkspace(s.t.in.Conn.Row(`SELECT`+scope.WorkspaceColumns+
		`FROM workspaces w JOIN members m ON m.workspace = w.row_id AND m.user_id = ?2 WHERE w.row_id = ?1`,
		rowID, s.t.in.Actor.UserID))
	s.t.LinkResponse(w.ID)
	return w, err
}

func (t *Tx) addWorkspace(name string, owner loci.ID, personal bool) (rowID int64, err error) {
	var of *loci.ID
	if personal {
		of = &owner
	}
	id := loci.NewID(t.in.Conn.Now.Std())
	rowID, err = t.in.Conn.Insert(
		`INSERT INTO workspaces (id, name, personal_of, archived, secrets, created_at, updated_at)
			VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6)`,
		[]any{id, name, of, false, loci.SecretsReject, t.in.Conn.Now})
	if err != nil {
		return 0, err
	}
	t.in.Conn.NoteChange(loci.KindWorkspace, rowID, id, "")
	if _, err = t.in.Exec(`INSERT INTO keyword_indexes (workspace, version, analyzer) VALUES (?1, 0, ?2)`, rowID,
		analysis.Version); err != nil {
		return 0, err
	}
	return rowID, t.addMember(rowID, owner, loci.RoleOwner)
}
