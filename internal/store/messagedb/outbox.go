package messagedb

import (
	"fmt"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/page"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store/accountdb"
	"github.com/loci-memory/loci/internal/store/internal/scope"
)

// A Sent is a message that an agent sent, or one that it received with its own receipt. Its number orders them.
type Sent struct {
	loci.OutboxMessage
	Number int64
}

func scanSent(r sqldb.Row) (x Sent, err error) { return x, scan(r, &x.Message, &x.Number) }

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
	if err != nil {
		return found, err
	}
	return addReceipts(t, found, p)
}

// OfAgent returns a page of the messages that an agent of the actor sent or received in the workspaces in scope, newest
// first. It merges the beginnings of two index ranges; what the agent wrote to itself is sent. The time of a page's key
// is a number.
func OfAgent(h scope.Holder, agentID loci.ID, p page.Request) (list page.List[Sent], err error) {
	t, row := scope.Of(h), int64(0)
	its := loci.SentReceipt{AgentID: agentID}
	err = t.QueryRow(`SELECT g.row_id, g.name FROM agents g WHERE g.id = ?2 AND g.user_id = ?1 AND`+accountdb.LiveAgent,
		[]any{agentID}, &row, &its.Name)
	if err != nil {
		return list, sqldb.MapNoRows(err)
	}
	part := func(agent, rowID, status, from string) string {
		return `SELECT * FROM (SELECT ` + rowID + ` AS row_id, ` + status + ` AS status FROM ` + from +
			t.MembershipJoin("x.workspace") + `WHERE ` + agent + ` = ?2 AND ` + rowID + ` < ?3
			ORDER BY ` + rowID + ` DESC LIMIT ?5) AS part`
	}
	found, err := scope.QueryPage(p, t.Query, `SELECT`+columns+`, own.row_id, own.status FROM (`+
		part("x.agent", "x.row_id", "''", `messages x`)+` UNION ALL `+
		part("r.agent", "r.message", "r.status", `receipts r JOIN messages x ON x.row_id = r.message AND x.agent <> r.agent`)+
		`) AS own JOIN messages x ON x.row_id = own.row_id AND ?4 = ''`+senderJoin+t.MembershipJoin("x.workspace")+
		`ORDER BY own.row_id DESC LIMIT ?5`, func(r sqldb.Row) (x Sent, err error) {
		receipt := its
		if err = scan(r, &x.Message, &x.Number, &receipt.Status); receipt.Status != "" {
			x.Receipts = []loci.SentReceipt{receipt}
		}
		return x, err
	}, row)
	if err != nil {
		return found, err
	}
	return addReceipts(t, found, p)
}

// addReceipts returns as many of the messages with their receipts as a page has room for. It reads no receipts of
// others: a broadcast has as many as a workspace has agents. A message that has a receipt gets no more.
func addReceipts(t *scope.Scope, found page.List[Sent], p page.Request) (page.List[Sent], error) {
	sent := found.Items
	list, done := page.NewList[Sent](p), 0
	rows := []int64{}
	for i, x := range sent {
		if x.Receipts == nil {
			rows, sent[i].Receipts = append(rows, x.Number), []loci.SentReceipt{}
		}
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
	list.HasMore = list.HasMore || found.HasMore
	return list, err
}
