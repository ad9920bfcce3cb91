package store

import (
	"errors"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/page"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store/accountdb"
	"github.com/loci-memory/loci/internal/store/internal/scope"
)

// Members returns the members of a workspace in scope.
func (t *Tx) Members(workspaceID loci.ID, p page.Request) (list page.List[loci.Member], err error) {
	if _, err := t.WorkspaceRecord(workspaceID); err != nil {
		return list, err
	}
	return scope.QueryPage(p, t.in.Query, `SELECT`+accountdb.MemberColumns+`FROM members x JOIN users u ON u.id = x.user_id`+
		t.in.MembershipJoin("x.workspace")+
		`WHERE w.id = ?2 AND (x.joined_at, x.user_id) < (?3, ?4) ORDER BY x.joined_at DESC, x.user_id DESC LIMIT ?5`,
		accountdb.ScanMember, workspaceID)
}

// member returns the record of a member of the workspace, or NotFound.
func (w *Workspace) member(userID loci.ID) (m loci.Member, err error) {
	m, err = accountdb.ScanMember(w.t.in.Conn.Row(`SELECT`+accountdb.MemberColumns+`FROM members x
		JOIN users u ON u.id = x.user_id WHERE x.workspace = ?1 AND x.user_id = ?2`, w.RowID(), userID))
	if errors.Is(err, sqldb.ErrNoRows) {
		err = newNoMemberError()
	}
	return m, err
}

// writeRole gives a member a role. One whose membership ended meanwhile, with the account, is NotFound.
func (w *Workspace) writeRole(userID loci.ID, role loci.Role) error {
	w.NoteChange(loci.KindMember, userID)
	n, err := w.t.in.Exec(`UPDATE members SET role = ?3 WHERE workspace = ?1 AND user_id = ?2`, w.RowID(), userID, role)
	if err == nil && n == 0 {
		err = newNoMemberError()
	}
	return err
}

func newNoMemberError() error {
	return loci.Errorf(loci.CodeNotFound, "The user is not a member of the workspace.")
}

// SetRole gives a member another role than owner.
func (w *Workspace) SetRole(userID loci.ID, role loci.Role) (m loci.Member, err error) {
	if m, err = w.member(userID); err != nil {
		return m, err
	}
	if m.Role == loci.RoleOwner {
		return m, loci.Errorf(loci.CodeStateConflict, "A workspace has one owner: transfer it to another member.")
	}
	m.Role = role
	w.t.LinkResponse(w.ID())
	return m, w.writeRole(userID, role)
}

// RemoveMember ends a membership. An admin removes members alone.
func (w *Workspace) RemoveMember(userID loci.ID) error {
	m, err := w.member(userID)
	switch {
	case err != nil:
		return err
	case m.Role != loci.RoleMember && w.Role() != loci.RoleOwner:
		return loci.Errorf(loci.CodeForbidden, "Only the owner removes an admin. An admin can leave.")
	case m.Role == loci.RoleOwner:
		return loci.Errorf(loci.CodeStateConflict, "The owner cannot be removed: transfer the workspace first.")
	}
	return w.endMembership(userID)
}

// Leave ends the actor's membership.
func (w *Workspace) Leave() error {
	if err := w.RequireTeam(); err != nil {
		return err
	}
	if w.Role() == loci.RoleOwner {
		return loci.Errorf(loci.CodeStateConflict,
			"The owner cannot leave: transfer the workspace to another member, or delete it.")
	}
	return w.endMembership(w.t.in.Actor.UserID)
}

func (w *Workspace) endMembership(userID loci.ID) error {
	w.t.LinkResponse(w.ID())
	w.t.in.PublishAtCommit(accountdb.Change{UserID: userID}) // a token may reach nothing now
	w.NoteChange(loci.KindMember, userID)
	_, err := w.t.in.Exec(`DELETE FROM members WHERE workspace = ?1 AND user_id = ?2`, w.RowID(), userID)
	return err
}

// Transfer makes a member the owner, and the owner an admin. The plan of the new owner must have room for the workspace
// and what it holds.
func (w *Workspace) Transfer(userID loci.ID) error {
	if err := w.RequireTeam(); err != nil {
		return err
	}
	if userID == w.t.in.Actor.UserID {
		return loci.Errorf(loci.CodeStateConflict, "You own the workspace already: name another member.")
	}
	if _, err := w.member(userID); err != nil {
		return err
	}
	w.t.LinkResponse(w.ID())
	if err := w.writeRole(w.t.in.Actor.UserID, loci.RoleAdmin); err != nil {
		return err
	}
	if err := w.writeRole(userID, loci.RoleOwner); err != nil {
		return err
	}
	return w.t.requireRoom(userID)
}

// requireRoom returns state_conflict where a user owns more than the plan of the user allows.
func (t *Tx) requireRoom(userID loci.ID) error {
	u, err := t.in.UserAsOwner(userID)
	if err == nil {
		err = t.in.CheckTeamQuota(u, 0)
	}
	if err == nil {
		err = t.in.CheckAtlasQuota(u, 0)
	}
	if err == nil {
		err = t.in.CheckStorageQuota(u)
	}
	if loci.Is(err, loci.CodeQuotaExceeded) {
		err = loci.Errorf(loci.CodeStateConflict, "The plan of this member has no room for the workspace and what it "+
			"holds: name another member.")
	}
	return err
}

func (t *Tx) addMember(workspace int64, userID loci.ID, role loci.Role) error {
	_, err := t.in.Exec(`INSERT INTO members (user_id, workspace, role, joined_at) VALUES (?1, ?2, ?3, ?4)`, userID,
		workspace, role, t.in.Conn.Now)
	return err
}
