package messagedb

import (
	"fmt"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/page"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store/internal/scope"
)

// A Sent is a message that the actor's agent sent. Its number orders those of the agent.
type Sent struct {
	loci.OutboxMessage
	Number int64
}

func scanSent(r sqldb.Row) (x Sent, err error) {
	x.Receipts = []loci.SentReceipt{}
	return x, scan(r, &x.Message, &x.Number)
}

// Outbox returns a page of the messages that the actor's agent sent, newest first: those of a workspace, or all without
// an id. The time of a page's key is a number.
func Outbox(h scope.Holder, workspaceID loci.ID, p page.Request) (list page.List[Sent], err error) {
	t := scope.Of(h)
	if workspaceID != "" {
		if _, err := t.WorkspaceRecord(workspaceID); err != nil {
			return list, err
		}
	}
	found, err := scope.QueryPage(p, t.Query, `SELECT`+columns+`, x.row_id FROM messages x`+senderJoin+
		t.MembershipJoin("x.workspace")+`WHERE x.agent = (SELECT o.row_id FROM agents o WHERE o.id = ?2) AND `+
		inWorkspace("x", workspaceID, "?3")+`x.row_id < ?4 AND ?5 = '' ORDER BY x.row_id DESC LIMIT ?6`, scanSent,
		t.Actor.AgentID, workspaceID)
	if err != nil || len(found.Items) == 0 {
		return found, err
	}
	list, err = addReceipts(t, found.Items, p)
	list.HasMore = list.HasMore || found.HasMore
	return list, err
}

// addReceipts returns as many messages with their receipts as a page has room for. It reads no receipts of others: a
// broadcast has as many as a workspace has agents.
func addReceipts(t *scope.Scope, sent []Sent, p page.Request) (page.List[Sent], error) {
	list, done := page.NewList[Sent](p), 0
	rows := make([]int64, len(sent))
	for i, x := range sent {
		rows[i] = x.Number
	}
	addAbove := func(row int64) error { // the messages whose receipts were all read
		for ; done < len(sent) && sent[done].Number > row; done++ {
			if err := scope.AddTo(&list, sent[done]); err != nil {
				return err
			}
		}
		return nil
	}
	err := t.Conn.Query(`SELECT r.message, o.id, o.name, r.status FROM receipts r JOIN agents o ON o.row_id = r.agent
		WHERE `+fmt.Sprintf(t.Conn.Dialect.InList, "r.message", 1)+` ORDER BY r.message DESC, r.agent DESC`,
		[]any{sqldb.EncodeInts(rows)}, func(r sqldb.Row) error {
			var row int64
			var x loci.SentReceipt
			if err := r.Scan(&row, &x.AgentID, &x.Name, &x.Status); err != nil {
				return err
			}
			if err := addAbove(row); err != nil {
				return err
			}
			sent[done].Receipts = append(sent[done].Receipts, x)
			return nil
		})
	if err == nil && !list.HasMore {
		_ = addAbove(0) // no room for the rest is no error
	}
	return list, err
}
