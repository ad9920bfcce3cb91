package store

import (
	"context"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/page"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store/messagedb"
)

// SubscribeMessages calls f with the ids of the agents that a later message of this process has reached, after its
// commit.
func (s *Store) SubscribeMessages(f func(agents []loci.ID)) {
	s.subscriptions.Lock()
	defer s.subscriptions.Unlock()
	s.messageSubscribers = append(s.messageSubscribers, f)
}

func (s *Store) publishMessage(agents []loci.ID) {
	s.subscriptions.RLock()
	defer s.subscriptions.RUnlock()
	for _, f := range s.messageSubscribers {
		f(agents)
	}
}

// A Mailroom is the handle of a workspace in which the actor's agent sends a message. Its row is kept until the commit.
type Mailroom struct {
	Workspace
	counted int // open messages of recipients
}

// Mailroom returns the handle of a workspace for messages. Without an id it is that of a message that a reply names, or
// else the default one.
//
// Senders wait for each other before they lock rows. On PostgreSQL a change of the workspace waits for each sender that
// holds a lock, and new ones would pass it.
func (t *Tx) Mailroom(id, replyTo loci.ID) (*Mailroom, error) {
	which, args, err := `WHERE e.id = ?2`, []any{id}, error(nil)
	switch {
	case id != "":
	case replyTo != "":
		which, args = `JOIN messages x ON x.workspace = e.row_id WHERE x.id = ?2`, []any{replyTo}
	default:
		which, args, err = t.defaultWorkspace()
	}
	if err == nil {
		err = t.queryRow(`SELECT w.id FROM workspaces e`+t.membershipJoin("e.row_id")+which, args, &id)
	}
	if err == nil {
		err = messagedb.LockSenders(t.conn, id)
	}
	if err != nil {
		return nil, sqldb.MapNoRows(err)
	}
	w, err := t.openWorkspace(loci.RoleMember, ToChange, "KEY SHARE", `WHERE e.id = ?2`, id)
	if err != nil {
		return nil, err
	}
	return &Mailroom{Workspace: *w}, nil
}

// Secrets returns the policy of the workspace for credentials.
func (w *Mailroom) Secrets() (policy loci.SecretsPolicy, err error) {
	return policy, w.t.conn.QueryRow(`SELECT secrets FROM workspaces WHERE row_id = ?1`, []any{w.rowID}, []any{&policy})
}

// Recipients locks the agents that a message of the actor's agent may go to: the one with an id, or without it all
// active ones.
func (w *Mailroom) Recipients(only loci.ID) ([]messagedb.Recipient, error) {
	list, err := messagedb.Recipients(w.t.conn, w.rowID, w.t.actor.AgentID, only)
	if err == nil && only != "" && len(list) == 0 {
		err = loci.NewError(loci.CodeNotFound)
	}
	return list, err
}

// maxCounted is the number of open messages that one transaction counts: others wait for it.
const maxCounted = 200_000

// Full reports whether the inbox of a recipient is full. After many open messages it counts no more: an inbox that may
// be full is full then.
func (w *Mailroom) Full(x messagedb.Recipient) (bool, error) {
	if !x.MayBeFull() {
		return false, nil
	}
	if w.counted >= maxCounted {
		return true, nil
	}
	n, err := x.CountOpen(w.t.conn, w.rowID)
	w.counted += n
	return n >= loci.MaxOpenMessages, err
}

// Parent returns the message that a message of the workspace replies to: one that the actor's agent sent or received.
func (w *Mailroom) Parent(id loci.ID) (m loci.Message, err error) {
	err = messagedb.Scan(w.t.row(`SELECT`+messagedb.Columns+`FROM messages x`+messagedb.SenderJoin+
		w.t.membershipJoin("x.workspace")+`WHERE x.id = ?2 AND (g.id = ?3 OR EXISTS (SELECT 1 FROM receipts r
		JOIN agents o ON o.row_id = r.agent WHERE r.message = x.row_id AND o.id = ?3))`, id, w.t.actor.AgentID), &m)
	if err == nil && m.WorkspaceID != w.id {
		err = loci.Errorf(loci.CodeInvalidQuery, "replyTo must name a message of the same workspace")
	}
	return m, sqldb.MapNoRows(err)
}

// Add stores a message of the actor's agent for recipients.
func (w *Mailroom) Add(m loci.Message, recipients []messagedb.Recipient) (loci.Message, error) {
	m.ID, m.CreatedAt = loci.NewID(w.t.conn.Now.Std()), w.t.conn.Now
	m.WorkspaceID, m.From.AgentID = w.id, w.t.actor.AgentID
	if m.ThreadID == "" {
		m.ThreadID = m.ID
	}
	if err := messagedb.Add(w.t.conn, w.rowID, m, recipients); err != nil {
		return m, err
	}
	w.t.LinkResponse(m.ID)
	ids := make([]loci.ID, len(recipients))
	for i, x := range recipients {
		ids[i] = x.ID
	}
	w.t.conn.OnCommit(func() { w.t.store.publishMessage(ids) })
	return m, w.t.conn.QueryRow(`SELECT g.name FROM agents g WHERE g.id = ?1`, []any{w.t.actor.AgentID},
		[]any{&m.From.Name})
}

// receivedJoin joins the receipts r of the actor's agent ?2 to the messages x in scope.
func (t *Tx) receivedJoin() string {
	return ` receipts r JOIN messages x ON x.row_id = r.message
		AND r.agent = (SELECT o.row_id FROM agents o WHERE o.id = ?2)` + // known to the planner before the first row
		messagedb.SenderJoin + t.membershipJoin("x.workspace")
}

// receivedIn is the condition of receipts r of messages of a workspace, or of all without an id.
func receivedIn(workspaceID loci.ID, arg string) string {
	if workspaceID == "" {
		return ` ` + arg + ` = '' AND `
	}
	return ` r.workspace = (SELECT p.row_id FROM workspaces p WHERE p.id = ` + arg + `) AND `
}

const receiptColumns = `, r.number, r.status, r.updated_at `

// A Received is a message that the actor's agent has received. Its number orders those of the agent.
type Received struct {
	loci.InboxMessage
	Number int64
}

func scanReceived(r sqldb.Row) (x Received, err error) {
	err = messagedb.Scan(r, &x.Message, &x.Number, &x.Receipt.Status, &x.Receipt.UpdatedAt)
	x.Receipt.MessageID = x.ID
	return x, err
}

// Inbox returns a page of the messages that the actor's agent has received, newest first: those of a workspace, or all
// without an id; those in a state, or all that are not closed. The time of a page's key is a number.
func (t *Tx) Inbox(workspaceID loci.ID, status loci.ReceiptStatus,
	p page.Request) (list page.List[Received], err error) {
	if workspaceID != "" {
		if _, err := t.WorkspaceRecord(workspaceID); err != nil {
			return list, err
		}
	}
	which := `r.status <> 'closed' AND (?4 = '' OR r.status = ?4)` // by an index of open receipts
	if status == loci.ReceiptClosed {
		which = `r.status = 'closed' AND ?4 <> ''`
	}
	return queryPage(p, t.query, `SELECT`+messagedb.Columns+receiptColumns+`FROM`+t.receivedJoin()+
		`WHERE `+receivedIn(workspaceID, "?3")+which+` AND r.number < ?5 AND ?6 = '' ORDER BY r.number DESC LIMIT ?7`,
		scanReceived, t.actor.AgentID, workspaceID, status)
}

// MoveReceipt applies a move to the receipt of the actor's agent for a message.
func (t *Tx) MoveReceipt(id loci.ID, move string) (out loci.Receipt, err error) {
	var row int64
	err = t.queryRow(`SELECT r.row_id, r.status, r.updated_at FROM`+t.receivedJoin()+`WHERE x.id = ?3`+
		t.conn.LockClause("NO KEY UPDATE", "r"), []any{t.actor.AgentID, id}, &row, &out.Status, &out.UpdatedAt)
	if err != nil {
		return out, sqldb.MapNoRows(err)
	}
	t.LinkResponse(id)
	if err := t.checkIdempotency(); err != nil {
		return out, err
	}
	status, err := loci.ReceiptStates.Apply(out.Status, move)
	if out.MessageID = id; err != nil || status == out.Status {
		return out, err
	}
	out.Status, out.UpdatedAt = status, t.conn.Now
	_, err = t.exec(`UPDATE receipts SET status = ?2, updated_at = ?3 WHERE row_id = ?1`, row, status, out.UpdatedAt)
	return out, err
}

// LastNumber returns the number of the newest message of the actor's agent. All smaller ones are committed.
func (t *Tx) LastNumber() (number int64, err error) {
	err = t.queryRow(`SELECT last_number FROM agents WHERE id = ?2 AND user_id = ?1`, []any{t.actor.AgentID}, &number)
	return number, sqldb.MapNoRows(err)
}

// NumberOf returns the number of a message that the actor's agent has received, or NotFound.
func (t *Tx) NumberOf(id loci.ID) (number int64, err error) {
	return number, sqldb.MapNoRows(t.queryRow(`SELECT r.number FROM`+t.receivedJoin()+`WHERE x.id = ?3`,
		[]any{t.actor.AgentID, id}, &number))
}

// A ReceivedRange selects messages of the actor's agent by their numbers, oldest first.
type ReceivedRange struct {
	After, Through int64
	Unread         bool    // those alone that are unread
	WorkspaceID    loci.ID // those of a workspace alone
	Limit          int
}

// Received returns the first messages of a range.
func (t *Tx) Received(x ReceivedRange) (list page.List[Received], err error) {
	which := ``
	if x.Unread {
		which = `r.status <> 'closed' AND r.status = 'unread' AND `
	}
	list = page.NewList[Received](page.Request{Limit: x.Limit})
	err = t.query(`SELECT`+messagedb.Columns+receiptColumns+`FROM`+t.receivedJoin()+`WHERE `+which+
		receivedIn(x.WorkspaceID, "?5")+`r.number > ?3 AND r.number <= ?4 ORDER BY r.number LIMIT ?6`,
		[]any{t.actor.AgentID, x.After, x.Through, x.WorkspaceID, x.Limit + 1}, func(r sqldb.Row) error {
			m, err := scanReceived(r)
			if err != nil {
				return err
			}
			return addTo(&list, m)
		})
	return list, err
}

// DeleteClosedMessages deletes messages that all recipients have closed 90 days ago, and what is left of the agents of
// deleted users.
func (s *Store) DeleteClosedMessages(ctx context.Context) error {
	if err := messagedb.DeleteClosed(ctx, s.db); err != nil {
		return err
	}
	return messagedb.EraseAgents(ctx, s.db)
}
