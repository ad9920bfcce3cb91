package accountdb

import (
	"fmt"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
)

// OwnedTeams lists the team workspaces of a user by name and id, and counts them.
func OwnedTeams(t *sqldb.Tx, userID loci.ID) (list string, n int, err error) {
	var teams []string
	err = t.QueryFew(`SELECT w.name, w.id FROM members m JOIN workspaces w ON w.row_id = m.workspace
		WHERE m.user_id = ?1 AND m.role = 'owner' AND w.personal_of IS NULL ORDER BY w.created_at, w.id`, []any{userID},
		func(r sqldb.Row) error {
			var name, id string
			err := r.Scan(&name, &id)
			teams = append(teams, fmt.Sprintf("%q (%s)", name, id))
			return err
		})
	return strings.Join(teams, ", "), len(teams), err
}

// DeleteUser deletes a user with keys, sign-ins, memberships and the invitations to the address. An address that is not
// verified may belong to another person, whose invitations stay. The personal workspace must be deleted before.
func (t Tx) DeleteUser(id loci.ID, e loci.Email) error {
	if _, err := t.conn.Exec(`DELETE FROM invitations WHERE email_folded = ?1
		AND (SELECT u.verified FROM users u WHERE u.id = ?2)`, FoldEmail(e), id); err != nil {
		return err
	}
	n, err := DeleteUserRow(t.conn, id)
	if err == nil && n == 0 {
		err = loci.NewError(loci.CodeNotFound)
	}
	t.onChange(Change{UserID: id})
	return err
}

// DeleteUserRow deletes the row of a user, and those of the keys and grants before: agents refer to all of them.
func DeleteUserRow(t *sqldb.Tx, id loci.ID) (int64, error) {
	for _, q := range []string{`DELETE FROM api_keys WHERE user_id = ?1`, `DELETE FROM grants WHERE user_id = ?1`} {
		if _, err := t.Exec(q, id); err != nil {
			return 0, err
		}
	}
	return t.Exec(`DELETE FROM users WHERE id = ?1`, id)
}

// LockMemberships locks the memberships and agents of a user until the commit, in the order of all transactions.
func LockMemberships(t *sqldb.Tx, id loci.ID) error {
	for _, lock := range [][2]string{
		{`SELECT 1 FROM members m WHERE m.user_id = ?1 ORDER BY m.workspace`, "m"},
		{`SELECT 1 FROM agents g WHERE g.user_id = ?1 ORDER BY g.id`, "g"},
	} {
		if err := t.Query(lock[0]+t.LockClause("UPDATE", lock[1]), []any{id},
			func(sqldb.Row) error { return nil }); err != nil {
			return err
		}
	}
	return nil
}
