package store

import "github.com/loci-memory/loci"

// Members returns the members of a workspace within the actor's reach.
func (t *Tx) Members(workspaceID string, p Page) (list []loci.MemberRecord, err error) {
	if _, err := t.WorkspaceRecord(workspaceID); err != nil {
		return nil, err
	}
	at, id, limit := p.from()
	list = []loci.MemberRecord{}
	err = t.each(`SELECT u.id, u.email, u.name, x.role, x.joined_at FROM members x JOIN users u ON u.id = x.user_id`+t.mine("x.workspace")+
		`WHERE w.id = ?2 AND (x.joined_at, x.user_id) < (?3, ?4) ORDER BY x.joined_at DESC, x.user_id DESC LIMIT ?5`,
		[]any{workspaceID, at, id, limit}, func(r row) error {
			var m loci.MemberRecord
			err := r.Scan(&m.UserID, &m.Email, &m.Name, &m.Role, &m.JoinedAt)
			list = append(list, m)
			return err
		})
	return list, err
}

func (t *Tx) addMember(workspace int64, userID string, role loci.Role) error {
	_, err := t.exec(`INSERT INTO members (user_id, workspace, role, joined_at) VALUES (?1, ?2, ?3, ?4)`, userID, workspace, role, t.now)
	return err
}
