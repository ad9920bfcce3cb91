package store

import (
	"fmt"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/page"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store/accountdb"
	"github.com/loci-memory/loci/internal/store/internal/scope"
)

const invitationColumns = ` i.id, w.id, w.name, i.email, i.role, i.status, i.invited_by, i.expires_at,
	i.created_at, i.updated_at `

// inviterQuery selects invitations i with the name of the inviter, which is empty once the account is deleted.
const inviterQuery = `SELECT` + invitationColumns + `, COALESCE(n.name, '') FROM invitations i
	JOIN workspaces w ON w.row_id = i.workspace LEFT JOIN users n ON n.id = i.invited_by `

func scanInvitation(i *loci.Invitation) []any {
	return []any{&i.ID, &i.WorkspaceID, &i.WorkspaceName, &i.Email, &i.Role, &i.Status, &i.InvitedBy, &i.ExpiresAt,
		&i.CreatedAt, &i.UpdatedAt}
}

// Invite invites an address into the workspace. A member and an address with a pending invitation are skipped, with the
// reason. Without the hash of a token the invitation has no link yet: see AddInvitationToken.
func (w *Workspace) Invite(
	e loci.Email, role loci.Role, life time.Duration, tokenHash []byte,
) (i loci.Invitation, skipped loci.SkipReason, err error) {
	if err := w.checkInvitable(role); err != nil {
		return i, "", err
	}
	t := w.t
	// The handle locks the workspace, so that concurrent calls make one invitation for an address.
	reason, err := w.skipReason(e)
	if err != nil || reason != "" {
		return i, reason, err
	}
	i = loci.Invitation{ID: loci.NewID(t.in.Conn.Now.Std()), WorkspaceID: w.ID(), WorkspaceName: w.Name(),
		Email: string(e), Role: role, Status: loci.InvitationPending, InvitedBy: t.in.Actor.UserID,
		ExpiresAt: t.in.Conn.Now + loci.Time(life.Microseconds()), CreatedAt: t.in.Conn.Now, UpdatedAt: t.in.Conn.Now}
	t.in.Conn.NoteChange(loci.KindInvitation, w.RowID(), i.ID, t.in.Actor.UserID)
	_, err = t.in.Exec(`INSERT INTO invitations
		(id, workspace, email, email_folded, role, status, invited_by, expires_at, created_at, updated_at)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?9)`,
		i.ID, w.RowID(), i.Email, accountdb.FoldEmail(e), i.Role, i.Status, i.InvitedBy, i.ExpiresAt, i.CreatedAt)
	if err == nil && tokenHash != nil {
		err = t.addInvitationToken(i, tokenHash)
	}
	return i, "", err
}

// maxPendingInvitations is the most invitations of a workspace that wait for an answer at once.
const maxPendingInvitations = 200

// CheckPending returns state_conflict if the workspace has too many pending invitations, of which the transaction made
// some.
func (w *Workspace) CheckPending(made int) error {
	var pending int
	err := w.t.in.Conn.QueryRow(`SELECT count(*) FROM invitations i WHERE i.workspace = ?1 AND i.status = ?2
		AND i.expires_at > ?3`, []any{w.RowID(), loci.InvitationPending, w.t.in.Conn.Now}, []any{&pending})
	if err != nil || pending <= maxPendingInvitations {
		return err
	}
	return loci.Errorf(loci.CodeStateConflict, "A workspace has at most %d pending invitations. This one has %d, and "+
		"this call would add %d: revoke some first, or wait until people answer.", maxPendingInvitations,
		pending-made, made)
}

// RequireVerified refuses an actor with an address that is not verified, in whose name no mail goes to others.
func (w *Workspace) RequireVerified() error {
	u, err := w.t.CurrentUser()
	if err == nil && !u.EmailVerified {
		err = loci.Errorf(loci.CodeForbidden, "Verify your e-mail address first, because the server sends invitations "+
			"by mail: open the link in the mail to you, or let it be sent again (loci account verify).")
	}
	return err
}

// ChargeMails counts mails to others against the plan of the actor, who sends them today (UTC). Too many of them are
// quota_exceeded until the end of the day: the transaction must not commit.
func (w *Workspace) ChargeMails(n int) error {
	t := w.t
	sent, dayEnd, err := t.in.Accounts().AddMails(t.in.Actor.UserID, n)
	plan := t.in.Actor.Plan
	if err != nil || sent <= plan.Mails {
		return err
	}
	detail, advice := "", "Invite fewer, or wait"
	if t.in.Actor.GrantedWorkspaces == nil { // else they would tell of workspaces that the token does not reach
		left := max(0, plan.Mails-sent+int64(n))
		detail = fmt.Sprintf("; %d are left, and this call would use %d", left, n)
		if left == 0 {
			advice = "Wait"
		}
	}
	return &loci.Error{Code: loci.CodeQuotaExceeded, RetryAfter: dayEnd.Std().Sub(t.in.Conn.Now.Std()),
		Message: fmt.Sprintf("Your plan %s sends invitations to %d addresses a day%s. %s until %s UTC.", plan.Name,
			plan.Mails, detail, advice, dayEnd.Std().UTC().Format("2006-01-02 15:04"))}
}

func (t *Tx) addInvitationToken(i loci.Invitation, hash []byte) error {
	_, err := t.in.Exec(`INSERT INTO tokens (hash, kind, invitation, expires_at) VALUES (?1, ?2, ?3, ?4)`, hash,
		accountdb.InvitationToken, i.ID, i.ExpiresAt)
	return err
}

// AddInvitationToken stores the hash of the token of a mail, and returns the invitation and the name of the inviter.
// The tokens of earlier mails stay valid. An invitation that is not pending is NotFound. So is one whose inviter is
// disabled or not verified.
func (t *SystemTx) AddInvitationToken(id loci.ID, hash []byte) (i loci.Invitation, inviter string, err error) {
	if err := t.t.lockInvitation(id); err != nil {
		return i, "", err
	}
	err = t.t.in.Conn.QueryRow(inviterQuery+`WHERE i.id = ?1 AND i.status = ?2 AND i.expires_at > ?3
		AND (n.id IS NULL OR n.verified AND NOT n.disabled)`,
		[]any{id, loci.InvitationPending, t.Now()}, append(scanInvitation(&i), &inviter))
	if err != nil {
		return i, "", sqldb.MapNoRows(err)
	}
	return i, inviter, t.t.addInvitationToken(i, hash)
}

// lockInvitation locks the row of an invitation until the commit. A statement that waits for the lock would judge the
// user as before, and the invitation as after.
func (t *Tx) lockInvitation(id loci.ID) error {
	return t.in.Conn.QueryFew(`SELECT 1 FROM invitations i WHERE i.id = ?1`+t.in.Conn.LockClause("UPDATE", "i"), []any{id},
		func(sqldb.Row) error { return nil })
}

// endInvitation stores the last status of an invitation to a workspace. Its links are dead then.
func (t *Tx) endInvitation(workspace int64, id loci.ID, status loci.InvitationStatus) error {
	if _, err := t.in.Exec(`DELETE FROM tokens WHERE invitation = ?1`, id); err != nil {
		return err
	}
	t.in.Conn.NoteChange(loci.KindInvitation, workspace, id, t.in.Actor.UserID)
	_, err := t.in.Exec(`UPDATE invitations SET status = ?2, updated_at = ?3 WHERE id = ?1`, id, status, t.in.Conn.Now)
	return err
}

func (w *Workspace) checkInvitable(role loci.Role) error {
	if err := w.RequireTeam(); err != nil {
		return err
	}
	if role != loci.RoleMember && !w.Role().AtLeast(loci.RoleOwner) {
		return loci.Errorf(loci.CodeForbidden, "Only the owner invites as %s: invite as member.", role)
	}
	return nil
}

// skipReason returns the reason why an address needs no invitation, or "".
func (w *Workspace) skipReason(e loci.Email) (reason loci.SkipReason, err error) {
	var member, invited bool
	err = w.t.in.Conn.QueryRow(`SELECT EXISTS (SELECT 1 FROM members m JOIN users u ON u.id = m.user_id
			WHERE m.workspace = ?1 AND u.email_folded = ?2),
		EXISTS (SELECT 1 FROM invitations i WHERE i.email_folded = ?2 AND i.status = ?3 AND i.workspace = ?1
			AND i.expires_at > ?4)`,
		[]any{w.RowID(), accountdb.FoldEmail(e), loci.InvitationPending, w.t.in.Conn.Now}, []any{&member, &invited})
	if member {
		return loci.SkipAlreadyMember, err
	}
	if invited {
		reason = loci.SkipAlreadyInvited
	}
	return reason, err
}

// Invitations returns the invitations to a workspace in which the actor is at least an admin.
func (t *Tx) Invitations(workspaceID loci.ID, p page.Request) (list page.List[loci.Invitation], err error) {
	w, err := t.WorkspaceRecord(workspaceID)
	if err != nil {
		return list, err
	}
	if !w.Role.AtLeast(loci.RoleAdmin) {
		return list, loci.NewError(loci.CodeForbidden)
	}
	return scope.QueryPage(p, t.in.Query, `SELECT`+invitationColumns+`FROM invitations i`+t.in.MembershipJoin("i.workspace")+
		`WHERE w.id = ?2 AND (i.created_at, i.id) < (?3, ?4) ORDER BY i.created_at DESC, i.id DESC LIMIT ?5`,
		t.scanInvitationAt, workspaceID)
}

// PendingInvitations returns the pending invitations to the actor's address. An unverified address has none: it may
// belong to another person. A narrowed token has none: it reaches no workspace that its user has not joined.
func (t *Tx) PendingInvitations(p page.Request) (page.List[loci.Invitation], error) {
	if t.in.Actor.GrantedWorkspaces != nil {
		return page.NewList[loci.Invitation](p), nil
	}
	return scope.QueryPage(p, t.in.Conn.Query, `SELECT`+invitationColumns+
		`FROM users u JOIN invitations i ON i.email_folded = u.email_folded AND i.status = ?2
			JOIN workspaces w ON w.row_id = i.workspace
		WHERE u.id = ?1 AND u.verified AND i.expires_at > ?3 AND (i.created_at, i.id) < (?4, ?5)
			ORDER BY i.created_at DESC, i.id DESC LIMIT ?6`,
		t.scanInvitationAt, t.in.Actor.UserID, loci.InvitationPending, t.in.Conn.Now)
}

func (t *Tx) scanInvitationAt(r sqldb.Row) (i loci.Invitation, err error) {
	err = r.Scan(scanInvitation(&i)...)
	return i.At(t.in.Conn.Now), err
}

// An IncomingInvitation is the handle of an invitation to the actor's address.
type IncomingInvitation struct {
	t         *Tx
	record    loci.Invitation
	workspace int64
	archived  bool
	verified  bool // the actor's address
}

// IncomingInvitation returns the handle of an invitation to the actor, or NotFound, as for a narrowed token. An actor
// with an unverified address needs the token of the invitation.
func (t *Tx) IncomingInvitation(id loci.ID, tokenHash []byte) (*IncomingInvitation, error) {
	if t.in.Actor.GrantedWorkspaces != nil {
		return nil, loci.NewError(loci.CodeNotFound)
	}
	i := &IncomingInvitation{t: t}
	if err := t.lockInvitation(id); err != nil {
		return nil, err
	}
	err := t.in.Conn.QueryRow(`SELECT`+invitationColumns+`, w.row_id, w.archived, u.verified
		FROM users u JOIN invitations i ON i.email_folded = u.email_folded JOIN workspaces w ON w.row_id = i.workspace
		WHERE u.id = ?4 AND i.id = ?5 AND (u.verified OR `+validInvitationTokenCondition+`)`,
		[]any{tokenHash, loci.InvitationPending, t.in.Conn.Now, t.in.Actor.UserID, id},
		append(scanInvitation(&i.record), &i.workspace, &i.archived, &i.verified))
	if err != nil {
		return nil, sqldb.MapNoRows(err)
	}
	i.record = i.record.At(t.in.Conn.Now)
	return i, t.in.CheckIdempotency()
}

// validInvitationTokenCondition is an SQL condition. ?1 is the hash of a token of invitation i, ?2 the status pending.
// The invitation expires after ?3.
const validInvitationTokenCondition = ` (i.id = (SELECT invitation FROM tokens WHERE hash = ?1) AND i.status = ?2
	AND i.expires_at > ?3) `

// ViewInvitation returns an invitation and the name of its inviter. The caller holds its token, or is the user with its
// verified address. For any other caller it is NotFound.
func (t *SystemTx) ViewInvitation(userID, id loci.ID, tokenHash []byte) (i loci.Invitation, inviter string, err error) {
	err = t.t.in.Conn.QueryRow(inviterQuery+`WHERE i.id = ?2 AND (i.id = (SELECT invitation FROM tokens WHERE hash = ?3)
		OR EXISTS (SELECT 1 FROM users u WHERE u.id = ?1 AND u.verified AND u.email_folded = i.email_folded))`,
		[]any{userID, id, tokenHash}, append(scanInvitation(&i), &inviter))
	return i.At(t.t.in.Conn.Now), inviter, sqldb.MapNoRows(err)
}

// CheckInvitationToken returns NotFound unless the hash is that of the token of a pending invitation to the address.
func (t *SystemTx) CheckInvitationToken(e loci.Email, tokenHash []byte) error {
	var one int
	err := t.t.in.Conn.QueryRow(`SELECT 1 FROM invitations i WHERE `+validInvitationTokenCondition+`AND i.email_folded = ?4`,
		[]any{tokenHash, loci.InvitationPending, t.t.in.Conn.Now, accountdb.FoldEmail(e)}, []any{&one})
	return sqldb.NotFoundMessage(err, "The link is unknown, answered, expired or of another address: ask for a new "+
		"invitation.")
}

// RevokeInvitation ends a pending invitation to a workspace in which the actor is at least an admin.
func (t *Tx) RevokeInvitation(id loci.ID) error {
	i, role, workspace := loci.Invitation{}, loci.Role(""), int64(0)
	err := t.in.QueryRow(`SELECT`+invitationColumns+`, m.role, w.row_id FROM invitations i`+
		t.in.MembershipJoin("i.workspace")+`WHERE i.id = ?2`+t.in.Conn.LockClause("UPDATE", "i"), []any{id},
		append(scanInvitation(&i), &role, &workspace)...)
	if err := t.in.Authorize(err, role, loci.RoleAdmin); err != nil {
		return err
	}
	if i.Status, err = loci.InvitationStates.Apply(i.At(t.in.Conn.Now).Status, "revoked"); err != nil {
		return err
	}
	return t.endInvitation(workspace, id, i.Status)
}

// Respond accepts or declines the invitation and verifies the actor's address. It invalidates the token.
func (i *IncomingInvitation) Respond(accept bool) (loci.Invitation, error) {
	move := "declined"
	if accept {
		move = "accepted"
	}
	status, err := loci.InvitationStates.Apply(i.record.Status, move)
	if err != nil {
		return i.record, err
	}
	i.record.Status, i.record.UpdatedAt = status, i.t.in.Conn.Now
	if accept {
		if _, err := loci.WorkspaceStates.Apply(accountdb.ContainerStatus(i.archived), "joined"); err != nil {
			return i.record, err
		}
		if _, err := i.t.in.Exec(
			`INSERT INTO members (user_id, workspace, role, joined_at) VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING`,
			i.t.in.Actor.UserID, i.workspace, i.record.Role, i.t.in.Conn.Now); err != nil {
			return i.record, err
		}
		i.t.in.Conn.NoteChange(loci.KindMember, i.workspace, i.t.in.Actor.UserID, "")
	}
	if !i.verified {
		if err := i.t.in.Accounts().MarkVerified(i.t.in.Actor.UserID); err != nil {
			return i.record, err
		}
	}
	return i.record, i.t.endInvitation(i.workspace, i.record.ID, i.record.Status)
}
