package store_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/page"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/messagedb"
	"github.com/loci-memory/loci/internal/store/storetest"
)

// messageQueries are the reads of an agent, the beginning of a send, and those of the dispatcher.
func messageQueries(crew, message loci.ID, agent *identity.Actor) map[string]func(*store.Tx) error {
	out := map[string]func(*store.Tx) error{
		"last number": func(tx *store.Tx) error { _, err := messagedb.LastNumber(tx); return err },
		"number":      func(tx *store.Tx) error { _, err := messagedb.NumberOf(tx, message); return err },
		"move": func(tx *store.Tx) error {
			_, err := messagedb.MoveReceipt(tx, message, "acknowledged")
			return err
		},
		"send": func(tx *store.Tx) error {
			room, err := messagedb.OpenMailroom(tx, crew, "")
			if err == nil {
				_, err = room.Parent(message)
			}
			if err == nil {
				_, err = room.Recipients(agent.AgentID)
			}
			return err
		},
	}
	out["reply"] = func(tx *store.Tx) error { _, err := messagedb.OpenMailroom(tx, "", message); return err }
	for _, workspace := range []loci.ID{"", crew} {
		for _, status := range []loci.ReceiptStatus{"", loci.ReceiptUnread, loci.ReceiptClosed} {
			for _, after := range []loci.Time{0, 900} {
				out[fmt.Sprintf("inbox %q %q %d", workspace, status, after)] = func(tx *store.Tx) error {
					p := page.Request{Limit: 5}
					if after > 0 {
						p.After = page.Key{At: after}
					}
					_, err := messagedb.Inbox(tx, workspace, status, p)
					return err
				}
			}
		}
		for _, unread := range []bool{false, true} {
			out[fmt.Sprintf("stream %q %v", workspace, unread)] = func(tx *store.Tx) error {
				_, err := messagedb.ListRange(tx, messagedb.Range{After: 900, Through: 1000, Unread: unread, Limit: 5,
					WorkspaceID: workspace})
				return err
			}
		}
	}
	return out
}

// fillMessages gives an agent of bob 1,000 messages and more in three workspaces, the newer half of which is open.
func fillMessages(t *testing.T, d storetest.Database, s *store.Store) (crew loci.ID, agent, from *identity.Actor,
	message loci.ID) {
	t.Helper()
	ann, bob := user(t, s, "ann"), user(t, s, "bob")
	members := map[*identity.Actor]loci.Role{bob: loci.RoleMember}
	agents := storetest.Agents(t, s, bob, 50)
	from = storetest.Agent(t, s, ann)
	agent = agents[0]
	for range 3 {
		crew = team(t, s, ann, members)
		message = mailbox{t, newService(s), crew}.send(from, nil, "to all")
	}
	each := 400
	if d.Address != "" { // with few rows every plan is a good one
		each = 20_000
	}
	d.Exec(t, fmt.Sprintf(`WITH RECURSIVE n (value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM n WHERE value < %d)
		INSERT INTO messages (id, workspace, agent, to_agent, subject, content, thread_id, reply_to, created_at)
		SELECT x.id || '-' || n.value, x.workspace, x.agent, '', '', 'many', x.thread_id, '', x.created_at + n.value
		FROM n CROSS JOIN messages x`, each))
	d.Exec(t, `INSERT INTO receipts (message, agent, workspace, number, status, updated_at) SELECT x.row_id, r.agent, x.workspace,
		r.number + x.row_id, CASE WHEN x.row_id % 3 < 2 THEN 'closed' ELSE 'unread' END, 1
		FROM messages x JOIN receipts r ON x.row_id % 50 = r.agent % 50 WHERE x.content = 'many' AND r.number = 3`)
	if d.Address != "" {
		d.Exec(t, `ANALYZE `+strings.Join(tables, ", "))
	}
	return crew, agent, from, message
}

func TestReadsOfMessagesUseIndexes(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{})
		crew, agent, from, message := fillMessages(t, d, s)
		var sent []store.Statement
		store.TraceStatements(s, func(st store.Statement) { sent = append(sent, st) })
		check := func(name string, f func() error) {
			t.Helper()
			if sent = nil; f() != nil {
				t.Errorf("%s: %v", name, f())
			}
			reads := 0
			for _, st := range append([]store.Statement(nil), sent...) {
				if strings.HasPrefix(strings.TrimSpace(st.Text), "SELECT") {
					checkPlan(t, s, name, st)
					reads++
				}
			}
			if reads == 0 {
				t.Errorf("%s reads nothing", name)
			}
		}
		for name, f := range messageQueries(crew, message, agent) {
			check(name, func() error {
				_, err := store.Write(ctx, s, agent, func(tx *store.Tx) (loci.Empty, error) {
					return loci.Empty{}, f(tx)
				})
				return err
			})
		}
		for _, workspace := range []loci.ID{"", crew} {
			for _, after := range []loci.Time{0, 900} {
				check(fmt.Sprintf("outbox %q %d", workspace, after), func() error {
					p := page.Request{Limit: 5}
					if after > 0 {
						p.After = page.Key{At: after}
					}
					list, err := store.Read(ctx, s, from, func(tx *store.Tx) (page.List[messagedb.Sent], error) {
						return messagedb.Outbox(tx, workspace, p)
					})
					if err == nil && len(list.Items) != 5 {
						err = fmt.Errorf("%d messages", len(list.Items))
					}
					return err
				})
			}
		}
		for _, owned := range []*identity.Actor{from, agent} {
			check("messages of an agent", func() error {
				list, err := store.Read(ctx, s, owned, func(tx *store.Tx) (page.List[messagedb.Sent], error) {
					return messagedb.OfAgent(tx, owned.AgentID, page.Request{Limit: 5})
				})
				if err == nil && len(list.Items) != 5 {
					err = fmt.Errorf("%d messages", len(list.Items))
				}
				return err
			})
		}
		ids := []loci.ID{agent.AgentID}
		check("agents that listen", func() error { _, err := s.Messages().AgentStates(ctx, ids); return err })
		check("deliveries", func() error {
			_, err := s.Messages().Deliveries(ctx, []messagedb.Position{{AgentID: agent.AgentID, Number: 900}}, 5)
			return err
		})
		check("messages", func() error { _, err := s.Messages().Messages(ctx, []loci.ID{message}); return err })
		check("sweep", func() error { return messagedb.DeleteClosed(ctx, s.DB()) })
	})
}
