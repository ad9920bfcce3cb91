package store

import (
	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
)

// Members returns the members of a workspace in scope.
func (t *Tx) Members(workspaceID loci.ID, p Page) (list List[loci.Member], err error) {
	if _, err := t.WorkspaceRecord(workspaceID); err != nil {
		return list, err
	}
	return queryPage(p, t.query, `SELECT u.id, u.email, u.name, x.role, x.joined_at
		FROM members x JOIN users u ON u.id = x.user_id`+t.membershipJoin("x.workspace")+
		`WHERE w.id = ?2 AND (x.joined_at, x.user_id) < (?3, ?4) ORDER BY x.joined_at DESC, x.user_id DESC LIMIT ?5`,
		func(r sqldb.Row) (m loci.Member, err error) {
			err = r.Scan(&m.UserID, &m.Email, &m.Name, &m.Role, &m.JoinedAt)
			return m, err
		}, workspaceID)
}

func (t *Tx) addMember(workspace int64, userID loci.ID, role loci.Role) error {
	_, err := t.exec(`INSERT INTO members (user_id, workspace, role, joined_at) VALUES (?1, ?2, ?3, ?4)`, userID,
		workspace, role, t.conn.Now)
	return err
}

func (t *Tx) workspaceOwner(workspace int64) (user loci.ID, err error) {
	err = t.conn.QueryRow(`SELECT user_id FROM members WHERE workspace = ?1 AND role = 'owner'`, []any{workspace},
		[]any{&user})
	return user, err
}
