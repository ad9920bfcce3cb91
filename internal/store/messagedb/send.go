package messagedb

import (
	"fmt"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store/accountdb"
)

// lockSenders makes the senders of a workspace wait until the commit. Row ids of its messages follow commits.
func lockSenders(t *sqldb.Tx, workspace loci.ID) error {
	return t.AdvisoryLock(string(workspace) + "/messages")
}

// A Recipient is an agent that a message may be sent to. Its row is locked until the commit.
type Recipient struct {
	ID      loci.ID
	Revoked bool // or its user is disabled

	rowID int64
	span  int64 // from its oldest open message of the workspace to the newest message of all: at most as many are open
}

// recipientColumns are the columns of a Recipient: of an agent g with its key k or grant n, in the workspace ?1 at the
// time ?4. An index of open receipts returns the oldest one at once.
var recipientColumns = ` g.row_id, g.id,` + accountdb.RevokedAgent("?4") + `OR u.disabled,
	g.last_number + 1 - COALESCE((SELECT min(r.number) FROM receipts r WHERE r.agent = g.row_id
		AND r.workspace = ?1 AND r.status <> 'closed'), g.last_number + 1) `

// recipients locks the active agents of the members of a workspace, other than the sender: all of them, or the one with
// an id, which may be the sender or revoked.
func recipients(t *sqldb.Tx, workspace int64, sender, only loci.ID) (list []Recipient, err error) {
	err = t.Query(`SELECT`+recipientColumns+`FROM members m JOIN agents g ON g.user_id = m.user_id`+
		accountdb.AgentCredentials+`JOIN users u ON u.id = g.user_id WHERE m.workspace = ?1 AND`+
		accountdb.LiveAgent+`AND`+accountdb.ReachingAgent("m.workspace")+`AND (g.id = ?3 OR ?3 = '' AND g.id <> ?2
		AND NOT`+accountdb.RevokedAgent("?4")+`AND NOT u.disabled)
		ORDER BY g.id`+t.LockClause("NO KEY UPDATE", "g"),
		[]any{workspace, sender, only, t.Now}, func(r sqldb.Row) error {
			var x Recipient
			err := r.Scan(&x.rowID, &x.ID, &x.Revoked, &x.span)
			list = append(list, x)
			return err
		})
	return list, err
}

// mayBeFull reports whether the inbox of a recipient can be full, without a count.
func (x Recipient) mayBeFull() bool { return x.span >= loci.MaxOpenMessages }

// countOpen counts the messages of a workspace that a recipient has not closed, as far as they fill its inbox.
func (x Recipient) countOpen(t *sqldb.Tx, workspace int64) (n int, err error) {
	err = t.QueryRow(`SELECT count(*) FROM (SELECT 1 FROM receipts r WHERE r.agent = ?1 AND r.workspace = ?2
		AND r.status <> 'closed' LIMIT ?3) AS open_receipts`, []any{x.rowID, workspace, loci.MaxOpenMessages}, []any{&n})
	return n, err
}

// insert stores a message of an agent, with a receipt for each recipient.
func insert(t *sqldb.Tx, workspace int64, m loci.Message, recipients []Recipient) error {
	row, err := t.Insert(`INSERT INTO messages (id, workspace, agent, to_agent, subject, content, thread_id, reply_to,
		created_at) VALUES (?1, ?2, (SELECT row_id FROM agents WHERE id = ?3), ?4, ?5, ?6, ?7, ?8, ?9)`, []any{m.ID,
		workspace, m.From.AgentID, m.To, m.Subject, m.Content, m.ThreadID, m.ReplyTo, m.CreatedAt})
	if err != nil || len(recipients) == 0 {
		return err
	}
	rows := make([]int64, len(recipients))
	for i, x := range recipients {
		rows[i] = x.rowID
	}
	if _, err := t.Exec(`UPDATE agents SET last_number = last_number + 1 WHERE `+
		fmt.Sprintf(t.Dialect.InList, "row_id", 1), sqldb.EncodeInts(rows)); err != nil {
		return err
	}
	_, err = t.Exec(`INSERT INTO receipts (message, agent, workspace, number, status, updated_at)
		SELECT ?2, row_id, ?3, last_number, ?4, ?5 FROM agents WHERE `+fmt.Sprintf(t.Dialect.InList, "row_id", 1),
		sqldb.EncodeInts(rows), row, workspace, loci.ReceiptUnread, m.CreatedAt)
	return err
}

// columns are the columns of a message x in the workspace w from the agent g.
const columns = ` x.id, w.id, g.id, g.name, x.to_agent, x.subject, x.content, x.thread_id, x.reply_to, x.created_at `

// senderJoin joins messages x to their senders.
const senderJoin = ` JOIN agents g ON g.row_id = x.agent `

// scan scans a message and further columns.
func scan(r sqldb.Row, m *loci.Message, more ...any) error {
	err := r.Scan(append([]any{&m.ID, &m.WorkspaceID, &m.From.AgentID, &m.From.Name, &m.To, &m.Subject, &m.Content,
		&m.ThreadID, &m.ReplyTo, &m.CreatedAt}, more...)...)
	m.Broadcast = m.To == ""
	return err
}
