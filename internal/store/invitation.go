package store

import (
	"errors"
	"time"

	"github.com/loci-memory/loci"
)

const invitationColumns = ` i.id, w.id, w.name, i.email, i.role, i.status, i.invited_by, i.expires_at, i.created_at, i.updated_at `

func scanInvitation(i *loci.Invitation) []any {
	return []any{&i.ID, &i.WorkspaceID, &i.WorkspaceName, &i.Email, &i.Role, &i.Status, &i.InvitedBy, &i.ExpiresAt, &i.CreatedAt, &i.UpdatedAt}
}

// Invite asks the owner of an address into the workspace. Somebody who is a
// member or already invited is skipped, with the reason. The store keeps the hash
// of the invitation's token, not the token.
func (w *Workspace) Invite(
	e loci.Email, role loci.Role, life time.Duration, tokenHash []byte,
) (i loci.Invitation, skipped loci.SkipReason, err error) {
	if err := w.invitable(role); err != nil {
		return i, "", err
	}
	// Two who invite the same address at once make one invitation.
	t := w.t
	reason, err := w.known(e)
	if err != nil || reason != "" {
		return i, reason, err
	}
	i = loci.Invitation{ID: loci.NewID(t.now.Std()), WorkspaceID: w.id, WorkspaceName: w.name, Email: string(e), Role: role, Status: loci.Pending,
		InvitedBy: t.who.UserID, ExpiresAt: t.now + loci.Time(life.Microseconds()), CreatedAt: t.now, UpdatedAt: t.now}
	_, err = t.exec(`INSERT INTO invitations
		(id, workspace, email, folded, role, status, invited_by, expires_at, created_at, updated_at, token_hash)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?9, ?10)`,
		i.ID, w.rid, i.Email, FoldEmail(e), i.Role, i.Status, i.InvitedBy, i.ExpiresAt, i.CreatedAt, tokenHash)
	return i, "", err
}

func (w *Workspace) invitable(role loci.Role) error {
	if w.personal {
		return loci.Fail(loci.StateConflict, "A personal workspace takes nobody in: make a team workspace.")
	}
	if role != loci.Member && !w.role.AtLeast(loci.Owner) {
		return loci.Fail(loci.Forbidden, "Only the owner invites as %s: invite as member.", role)
	}
	return w.open()
}

// known tells why an address needs no invitation, if it needs none.
func (w *Workspace) known(e loci.Email) (loci.SkipReason, error) {
	var one int
	err := w.t.c.one(`SELECT 1 FROM members m JOIN users u ON u.id = m.user_id WHERE m.workspace = ?1 AND u.folded = ?2`, []any{w.rid, FoldEmail(e)}, []any{&one})
	if err == nil {
		return loci.AlreadyMember, nil
	}
	if !errors.Is(err, errNoRow) {
		return "", err
	}
	err = w.t.c.one(`SELECT 1 FROM invitations i WHERE i.folded = ?1 AND i.status = ?2 AND i.workspace = ?3 AND i.expires_at > ?4`,
		[]any{FoldEmail(e), loci.Pending, w.rid, w.t.now}, []any{&one})
	if err == nil {
		return loci.AlreadyInvited, nil
	}
	if !errors.Is(err, errNoRow) {
		return "", err
	}
	return "", nil
}

// Invitations returns the invitations that were sent from a workspace that the
// actor manages.
func (t *Tx) Invitations(workspaceID string, p Page) (list List[loci.Invitation], err error) {
	w, err := t.WorkspaceRecord(workspaceID)
	if err != nil {
		return list, err
	}
	if !w.Role.AtLeast(loci.Admin) {
		return list, loci.Fail(loci.Forbidden)
	}
	at, id, limit := p.from()
	list = newList[loci.Invitation](p)
	err = t.each(`SELECT`+invitationColumns+`FROM invitations i`+t.mine("i.workspace")+
		`WHERE w.id = ?2 AND (i.created_at, i.id) < (?3, ?4) ORDER BY i.created_at DESC, i.id DESC LIMIT ?5`,
		[]any{workspaceID, at, id, limit}, list.scanning(t.scanInvitationAt))
	return list, err
}

// PendingInvitations returns the invitations that wait for the actor's answer. An
// address that is not verified may be somebody else's: it has none.
func (t *Tx) PendingInvitations(p Page) (list List[loci.Invitation], err error) {
	at, id, limit := p.from()
	list = newList[loci.Invitation](p)
	err = t.c.each(`SELECT`+invitationColumns+`FROM users u JOIN invitations i ON i.folded = u.folded AND i.status = ?2 JOIN workspaces w ON w.rid = i.workspace
		WHERE u.id = ?1 AND u.verified AND i.expires_at > ?3 AND (i.created_at, i.id) < (?4, ?5) ORDER BY i.created_at DESC, i.id DESC LIMIT ?6`,
		[]any{t.who.UserID, loci.Pending, t.now, at, id, limit}, list.scanning(t.scanInvitationAt))
	return list, err
}

func (t *Tx) scanInvitationAt(r row) (i loci.Invitation, err error) {
	err = r.Scan(scanInvitation(&i)...)
	return i.At(t.now), err
}

// An Invited is the handle of an invitation to the actor's own address.
type Invited struct {
	t         *Tx
	record    loci.Invitation
	workspace int64
	archived  bool
	verified  bool // the actor's address
}

// Invited returns the handle of an invitation to the actor; another person's is
// NotFound. An address that is not verified takes the token of the invitation.
func (t *Tx) Invited(id string, tokenHash []byte) (*Invited, error) {
	i := &Invited{t: t}
	err := t.c.one(`SELECT`+invitationColumns+`, w.rid, w.archived, u.verified
		FROM users u JOIN invitations i ON i.folded = u.folded JOIN workspaces w ON w.rid = i.workspace
		WHERE u.id = ?4 AND i.id = ?5 AND (u.verified OR `+liveToken+`)`+t.locked("UPDATE", "i"),
		[]any{tokenHash, loci.Pending, t.now, t.who.UserID, id},
		append(scanInvitation(&i.record), &i.workspace, &i.archived, &i.verified))
	if err != nil {
		return nil, notFound(err)
	}
	i.record = i.record.At(t.now)
	return i, t.once()
}

// liveToken is a condition: ?1 is the hash of the token of an invitation i, which
// is pending (?2) now (?3). A token ends with its invitation.
const liveToken = ` (i.token_hash = ?1 AND i.status = ?2 AND i.expires_at > ?3) `

// InvitationFor returns an invitation and the name of its inviter. Its token shows it
// to anybody, and a user whose verified address it is for sees it without. For all
// others it is NotFound.
func (t *SystemTx) InvitationFor(userID, id string, tokenHash []byte) (i loci.Invitation, inviter string, err error) {
	err = t.t.c.one(`SELECT`+invitationColumns+`, COALESCE(n.name, '')
		FROM invitations i JOIN workspaces w ON w.rid = i.workspace LEFT JOIN users n ON n.id = i.invited_by
		WHERE i.id = ?2 AND (i.token_hash = ?3 OR EXISTS (SELECT 1 FROM users u WHERE u.id = ?1 AND u.verified AND u.folded = i.folded))`,
		[]any{userID, id, tokenHash}, append(scanInvitation(&i), &inviter))
	return i.At(t.t.now), inviter, notFound(err)
}

// CheckInvitation returns NotFound unless the hash is that of the token of a
// pending invitation to the address.
func (t *SystemTx) CheckInvitation(e loci.Email, tokenHash []byte) error {
	var one int
	err := t.t.c.one(`SELECT 1 FROM invitations i WHERE `+liveToken+`AND i.folded = ?4`,
		[]any{tokenHash, loci.Pending, t.t.now, FoldEmail(e)}, []any{&one})
	return missing(err, "The link is unknown, answered, expired or of another address: ask for a new invitation.")
}

// Respond accepts or declines, and verifies the actor's address. An invitation is
// answered once; its token ends.
func (i *Invited) Respond(accept bool) (loci.Invitation, error) {
	if i.record.Status != loci.Pending {
		return i.record, loci.Fail(loci.StateConflict, "The invitation is %s already: ask for a new one.", i.record.Status)
	}
	i.record.Status, i.record.UpdatedAt = loci.Declined, i.t.now
	if accept {
		if i.archived {
			return i.record, loci.Fail(loci.StateConflict, "The workspace is archived: nobody can join it now.")
		}
		i.record.Status = loci.Accepted
		if _, err := i.t.exec(`INSERT INTO members (user_id, workspace, role, joined_at) VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING`,
			i.t.who.UserID, i.workspace, i.record.Role, i.t.now); err != nil {
			return i.record, err
		}
	}
	if !i.verified {
		_, err := i.t.exec(`UPDATE users SET verified = ?2, updated_at = ?3 WHERE id = ?1`, i.t.who.UserID, true, i.t.now)
		if err != nil {
			return i.record, err
		}
	}
	_, err := i.t.exec(`UPDATE invitations SET status = ?2, updated_at = ?3, token_hash = NULL WHERE id = ?1`,
		i.record.ID, i.record.Status, i.t.now)
	return i.record, err
}
