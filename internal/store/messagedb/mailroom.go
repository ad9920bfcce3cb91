package messagedb

import (
	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store/internal/scope"
)

// A Mailroom is the handle of a workspace in which the actor's agent sends a message. Its row is kept until the commit.
type Mailroom struct {
	in        *scope.Scope
	workspace *scope.Workspace
	counted   int // open messages of recipients
}

// OpenMailroom returns the handle of a workspace for messages. Without an id it is that of a message that a reply
// names, or else the default one.
//
// Senders wait for each other before they lock rows. On PostgreSQL a change of the workspace waits for each sender that
// holds a lock, and new ones would pass it.
func OpenMailroom(h scope.Holder, id, replyTo loci.ID) (*Mailroom, error) {
	t := scope.Of(h)
	which, args, err := `WHERE e.id = ?2`, []any{id}, error(nil)
	switch {
	case id != "":
	case replyTo != "":
		which, args = `JOIN messages x ON x.workspace = e.row_id WHERE x.id = ?2`, []any{replyTo}
	default:
		which, args, err = t.DefaultCondition()
	}
	if err == nil {
		err = t.QueryRow(`SELECT w.id FROM workspaces e`+t.MembershipJoin("e.row_id")+which, args, &id)
	}
	if err == nil {
		err = lockSenders(t.Conn, id)
	}
	if err != nil {
		return nil, sqldb.MapNoRows(err)
	}
	w, err := t.OpenWorkspace(loci.RoleMember, scope.ToChange, "KEY SHARE", `WHERE e.id = ?2`, id)
	if err != nil {
		return nil, err
	}
	return &Mailroom{in: t, workspace: w}, nil
}

// Secrets returns the policy of the workspace for credentials.
func (w *Mailroom) Secrets() (policy loci.SecretsPolicy, err error) {
	return policy, w.in.Conn.QueryRow(`SELECT secrets FROM workspaces WHERE row_id = ?1`,
		[]any{w.workspace.RowID()}, []any{&policy})
}

// Recipients locks the agents that a message of the actor's agent may go to: the one with an id, or without it all
// active ones.
func (w *Mailroom) Recipients(only loci.ID) ([]Recipient, error) {
	list, err := recipients(w.in.Conn, w.workspace.RowID(), w.in.Actor.AgentID, only)
	if err == nil && only != "" && len(list) == 0 {
		err = loci.NewError(loci.CodeNotFound)
	}
	return list, err
}

// maxCounted is the number of open messages that one transaction counts: others wait for it.
const maxCounted = 200_000

// Full reports whether the inbox of a recipient is full. After many open messages it counts no more: an inbox that may
// be full is full then.
func (w *Mailroom) Full(x Recipient) (bool, error) {
	if !x.mayBeFull() {
		return false, nil
	}
	if w.counted >= maxCounted {
		return true, nil
	}
	n, err := x.countOpen(w.in.Conn, w.workspace.RowID())
	w.counted += n
	return n >= loci.MaxOpenMessages, err
}

// Parent returns the message that a message of the workspace replies to: one that the actor's agent sent or received.
func (w *Mailroom) Parent(id loci.ID) (m loci.Message, err error) {
	err = scan(w.in.Row(`SELECT`+columns+`FROM messages x`+senderJoin+
		w.in.MembershipJoin("x.workspace")+`WHERE x.id = ?2 AND (g.id = ?3 OR EXISTS (SELECT 1 FROM receipts r
		JOIN agents o ON o.row_id = r.agent WHERE r.message = x.row_id AND o.id = ?3))`, id, w.in.Actor.AgentID), &m)
	if err == nil && m.WorkspaceID != w.workspace.ID() {
		err = loci.Errorf(loci.CodeInvalidQuery, "replyTo must name a message of the same workspace")
	}
	return m, sqldb.MapNoRows(err)
}

// Add stores a message of the actor's agent for recipients.
func (w *Mailroom) Add(m loci.Message, recipients []Recipient) (loci.Message, error) {
	m.ID, m.CreatedAt = loci.NewID(w.in.Conn.Now.Std()), w.in.Conn.Now
	m.WorkspaceID, m.From.AgentID = w.workspace.ID(), w.in.Actor.AgentID
	if m.ThreadID == "" {
		m.ThreadID = m.ID
	}
	if err := insert(w.in.Conn, w.workspace.RowID(), m, recipients); err != nil {
		return m, err
	}
	w.in.LinkResponse(m.ID)
	ids := make([]loci.ID, len(recipients))
	for i, x := range recipients {
		ids[i] = x.ID
	}
	w.in.Conn.OnCommit(func() { w.in.Messages.Publish(ids) })
	return m, w.in.Conn.QueryRow(`SELECT g.name FROM agents g WHERE g.id = ?1`, []any{w.in.Actor.AgentID},
		[]any{&m.From.Name})
}
