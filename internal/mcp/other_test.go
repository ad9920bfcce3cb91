package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/testenv"
)

// A mailService has an inbox without messages, and an outbox of broadcasts to many agents.
type mailService struct{ sent, recipients int }

func (mailService) Inbox(context.Context, *identity.Actor, loci.ListInbox) (loci.Inbox, error) {
	return loci.Inbox{Messages: []loci.InboxMessage{}}, nil
}

// Sent returns a page whose cursor is the number of the next message.
func (s mailService) Sent(_ context.Context, _ *identity.Actor, in loci.ListSent) (out loci.Outbox, err error) {
	at := 0
	_, _ = fmt.Sscan(string(in.Cursor), &at)
	for range in.Limit.OrDefault() {
		if at == s.sent {
			return out, nil
		}
		m := loci.OutboxMessage{Message: loci.Message{ID: loci.ID(fmt.Sprint(at))}}
		for range s.recipients {
			m.Receipts = append(m.Receipts, loci.SentReceipt{Name: "an agent of the crew", Status: loci.ReceiptUnread})
		}
		out.Messages = append(out.Messages, m)
		at++
	}
	if at < s.sent {
		out.NextCursor = fmt.Sprint(at)
	}
	return out, nil
}

// newServer returns a server with the tool of the inbox.
func (s mailService) newServer() *Server {
	table := &op.Table{}
	op.Add(table, "agent.inbox", "GET /inbox", "List.", op.Account, op.ToolFull, mailService.Inbox)
	op.Add(table, "agent.sent", "GET /sent", "List.", op.Account, op.NoTool, mailService.Sent)
	return New(Options{Table: table, Caller: &op.Host{Service: s, Log: slog.New(slog.DiscardHandler),
		Admit: func(context.Context, *op.Op, *op.Call) (*identity.Actor, error) { return &identity.Actor{}, nil }}})
}

func (s mailService) call(t *testing.T, args string) (out struct {
	Messages []struct {
		ID        string
		Receipts  []loci.SentReceipt
		Truncated bool
	}
	NextCursor, Message string
}) {
	t.Helper()
	d := s.newServer()
	raw, _ := d.callTool(t.Context(), d.tools[op.FullTools]["agent_inbox"], &op.Call{}, []byte(args))
	if err := json.Unmarshal(raw, &out); err != nil || len(raw) > maxResult {
		t.Fatalf("%s: %v, %d bytes", args, err, len(raw))
	}
	return out
}

func TestInboxToolListsSentMessages(t *testing.T) {
	t.Parallel()
	s := mailService{sent: 3, recipients: 2}
	if n := len(s.newServer().tools[op.FullTools]); n != 1 {
		t.Errorf("%d tools", n)
	}
	for args, want := range map[string]int{
		`{"sent":true}`: 3, `{"sent":" True "}`: 3, `{"sent":true,"status":"","workspace_id":null}`: 3,
		`{"sent":true,"limit":"2"}`: 2, `{"sent":true,"limit":1000}`: 3,
		`{"sent":false,"status":"unread"}`: 0, `{"sent":null}`: 0, `{"sent":""}`: 0, `{}`: 0, `null`: 0, ``: 0,
	} {
		out := s.call(t, args)
		testenv.Equal(t, len(out.Messages), want, args, out.Message)
		testenv.Equal(t, out.Message, "", args)
	}
	for _, args := range []string{`{"sent":1}`, `{"sent":"maybe"}`, `{"sent":[true]}`, `{"sent":true,"sent":false}`,
		`{"sent":true,"status":"unread"}`, `{"sent":true,"colour":"red"}`, `{"sent":true`} {
		if s.call(t, args).Message == "" {
			t.Errorf("%s is no error", args)
		}
	}
	testenv.Equal(t, s.call(t, `{"sent":"true","status":"unread"}`).Message,
		"status does not apply where sent is true: leave it out", "status of sent messages")
}

// A list ends with no message lost, even where the receipts of one have no room.
func TestInboxToolCutsReceipts(t *testing.T) {
	t.Parallel()
	s := mailService{sent: 3, recipients: 1000}
	seen := ""
	for args := `{"sent":true}`; args != ""; {
		out := s.call(t, args)
		for _, m := range out.Messages {
			seen += m.ID + " "
			if len(m.Receipts) < 5 || !m.Truncated {
				t.Errorf("message %s has %d receipts, truncated: %v", m.ID, len(m.Receipts), m.Truncated)
			}
		}
		if args = ""; out.NextCursor != "" {
			args = `{"sent":true,"cursor":"` + out.NextCursor + `"}`
		}
	}
	testenv.Equal(t, seen, "0 1 2 ", "the tool lists")
}
