package store

import (
	"errors"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store/accountdb"
	"github.com/loci-memory/loci/internal/store/sessiondb"
)

// Delete deletes the actor's account, unless its password changed meanwhile. The owner of a team is a conflict.
func (s *Account) Delete(password string) error {
	t := s.t
	if err := t.lockUser(t.in.Actor.UserID, t.in.Actor.Email); err != nil {
		return err
	}
	if hash, err := t.in.Accounts().PasswordOf(t.in.Actor.UserID); err != nil {
		return err
	} else if hash != password {
		return accountdb.NewPasswordChangedError()
	}
	teams, n, err := accountdb.OwnedTeams(t.in.Conn, t.in.Actor.UserID)
	if err != nil {
		return err
	}
	if n > 0 {
		return loci.Errorf(loci.CodeStateConflict, "You own %s: transfer or delete what you own first.", teams)
	}
	t.in.DiscardResponse()
	return t.deleteUser(t.in.Actor.UserID, t.in.Actor.Email)
}

// DeleteUser deletes the account with an address for the operator. The owner of a team is a conflict. A dry run only
// reports whether the deletion is possible.
func (t *SystemTx) DeleteUser(e loci.Email, dryRun bool) (u loci.User, err error) {
	found, err := t.UserByEmail(e)
	if u = found.User; err != nil {
		return u, err
	}
	if err := t.t.lockUser(u.ID, u.Email); err != nil {
		return u, err
	}
	teams, n, err := accountdb.OwnedTeams(t.t.in.Conn, u.ID)
	if err != nil {
		return u, err
	}
	if n > 0 {
		return u, loci.Errorf(loci.CodeStateConflict,
			"The user owns %s: the user transfers or deletes what is owned first, or you purge it (loci admin "+
				"workspace purge ID).", teams)
	}
	if dryRun {
		return u, nil
	}
	return u, t.t.deleteUser(u.ID, u.Email)
}

// lockUser locks a user with its memberships and agents until the commit, so that it neither joins nor is given a
// workspace meanwhile. Other calls lock in this order too: an invitation that is accepted, a workspace before its
// members, a membership before the agents that a message is for.
func (t *Tx) lockUser(id loci.ID, email string) error {
	for _, lock := range []struct {
		query, table string
		arg          any
	}{
		{`SELECT 1 FROM invitations i WHERE i.email_folded = ?1 ORDER BY i.row_id`, "i",
			accountdb.FoldEmail(loci.Email(email))},
		{`SELECT 1 FROM users u WHERE u.id = ?1`, "u", id},
		{`SELECT 1 FROM workspaces w WHERE w.personal_of = ?1`, "w", id},
	} {
		if err := t.in.Conn.Query(lock.query+t.in.Conn.LockClause("UPDATE", lock.table), []any{lock.arg},
			func(sqldb.Row) error { return nil }); err != nil {
			return err
		}
	}
	return accountdb.LockMemberships(t.in.Conn, id)
}

// deleteUser deletes a locked user. Background jobs erase the personal workspace and the sessions, which nobody reaches
// any more.
func (t *Tx) deleteUser(id loci.ID, email string) error {
	var workspace int64
	var workspaceID loci.ID
	err := t.in.Conn.QueryRow(`SELECT w.row_id, w.id FROM workspaces w WHERE w.personal_of = ?1`, []any{id},
		[]any{&workspace, &workspaceID})
	if err == nil {
		err = t.store.eraser.DeleteWorkspace(t.in.Conn, workspace, workspaceID)
	}
	if err != nil && !errors.Is(err, sqldb.ErrNoRows) {
		return err
	}
	sessions, err := sessiondb.MarkDeletedOf(t.in.Conn, id)
	if err == nil && sessions > 0 {
		err = t.AddJob(sessiondb.EraseJob, id)
	}
	if err != nil {
		return err
	}
	return t.in.Accounts().DeleteUser(id, loci.Email(email))
}
