package messagedb

import (
	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/page"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store/internal/scope"
)

// receivedJoin joins the receipts r of the actor's agent ?2 to the messages x in scope.
func receivedJoin(t *scope.Scope) string {
	return ` receipts r JOIN messages x ON x.row_id = r.message
		AND r.agent = (SELECT o.row_id FROM agents o WHERE o.id = ?2)` + // known to the planner before the first row
		senderJoin + t.MembershipJoin("x.workspace")
}

// inWorkspace is the condition of receipts r or messages x of a workspace, or of all without an id.
func inWorkspace(table string, workspaceID loci.ID, arg string) string {
	if workspaceID == "" {
		return ` ` + arg + ` = '' AND `
	}
	return ` ` + table + `.workspace = (SELECT p.row_id FROM workspaces p WHERE p.id = ` + arg + `) AND `
}

const receiptColumns = `, r.number, r.status, r.updated_at `

// A Received is a message that the actor's agent has received. Its number orders those of the agent.
type Received struct {
	loci.InboxMessage
	Number int64
}

func scanReceived(r sqldb.Row) (x Received, err error) {
	err = scan(r, &x.Message, &x.Number, &x.Receipt.Status, &x.Receipt.UpdatedAt)
	x.Receipt.MessageID = x.ID
	return x, err
}

// Inbox returns a page of the messages that the actor's agent has received, newest first: those of a workspace, or all
// without an id; those in a state, or all that are not closed. The time of a page's key is a number.
func Inbox(h scope.Holder, workspaceID loci.ID, status loci.ReceiptStatus,
	p page.Request) (list page.List[Received], err error) {
	t := scope.Of(h)
	if workspaceID != "" {
		if _, err := t.WorkspaceRecord(workspaceID); err != nil {
			return list, err
		}
	}
	which := `r.status <> 'closed' AND (?4 = '' OR r.status = ?4)` // by an index of open receipts
	if status == loci.ReceiptClosed {
		which = `r.status = 'closed' AND ?4 <> ''`
	}
	return scope.QueryPage(p, t.Query, `SELECT`+columns+receiptColumns+`FROM`+receivedJoin(t)+
		`WHERE `+inWorkspace("r", workspaceID, "?3")+which+` AND r.number < ?5 AND ?6 = '' ORDER BY r.number DESC LIMIT ?7`,
		scanReceived, t.Actor.AgentID, workspaceID, status)
}

// MoveReceipt applies a move to the receipt of the actor's agent for a message.
func MoveReceipt(h scope.Holder, id loci.ID, move string) (out loci.Receipt, err error) {
	t := scope.Of(h)
	var row int64
	err = t.QueryRow(`SELECT r.row_id, r.status, r.updated_at FROM`+receivedJoin(t)+`WHERE x.id = ?3`+
		t.Conn.LockClause("NO KEY UPDATE", "r"), []any{t.Actor.AgentID, id}, &row, &out.Status, &out.UpdatedAt)
	if err != nil {
		return out, sqldb.MapNoRows(err)
	}
	t.LinkResponse(id)
	if err := t.CheckIdempotency(); err != nil {
		return out, err
	}
	status, err := loci.ReceiptStates.Apply(out.Status, move)
	if out.MessageID = id; err != nil || status == out.Status {
		return out, err
	}
	out.Status, out.UpdatedAt = status, t.Conn.Now
	_, err = t.Exec(`UPDATE receipts SET status = ?2, updated_at = ?3 WHERE row_id = ?1`, row, status, out.UpdatedAt)
	return out, err
}

// LastNumber returns the number of the newest message of the actor's agent. All smaller ones are committed.
func LastNumber(h scope.Holder) (number int64, err error) {
	t := scope.Of(h)
	err = t.QueryRow(`SELECT last_number FROM agents WHERE id = ?2 AND user_id = ?1`, []any{t.Actor.AgentID}, &number)
	return number, sqldb.MapNoRows(err)
}

// NumberOf returns the number of a message that the actor's agent has received, or NotFound.
func NumberOf(h scope.Holder, id loci.ID) (number int64, err error) {
	t := scope.Of(h)
	return number, sqldb.MapNoRows(t.QueryRow(`SELECT r.number FROM`+receivedJoin(t)+`WHERE x.id = ?3`,
		[]any{t.Actor.AgentID, id}, &number))
}

// A Range selects messages of the actor's agent by their numbers, oldest first.
type Range struct {
	After, Through int64
	Unread         bool    // those alone that are unread
	WorkspaceID    loci.ID // those of a workspace alone
	Limit          int
}

// ListRange returns the first messages of a range.
func ListRange(h scope.Holder, x Range) (list page.List[Received], err error) {
	t := scope.Of(h)
	which := ``
	if x.Unread {
		which = `r.status <> 'closed' AND r.status = 'unread' AND `
	}
	list = page.NewList[Received](page.Request{Limit: x.Limit})
	err = t.Query(`SELECT`+columns+receiptColumns+`FROM`+receivedJoin(t)+`WHERE `+which+
		inWorkspace("r", x.WorkspaceID, "?5")+`r.number > ?3 AND r.number <= ?4 ORDER BY r.number LIMIT ?6`,
		[]any{t.Actor.AgentID, x.After, x.Through, x.WorkspaceID, x.Limit + 1}, func(r sqldb.Row) error {
			m, err := scanReceived(r)
			if err != nil {
				return err
			}
			return scope.AddTo(&list, m)
		})
	return list, err
}
