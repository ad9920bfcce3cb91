package message_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	. "github.com/loci-memory/loci/internal/conformance"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
)

// outbox lists what an agent sent, in pages of two, as "text: receipts".
func outbox(t *testing.T, s *service.Service, agent *identity.Actor, workspaceID loci.ID) string {
	t.Helper()
	return texts(t, func(p loci.Paging) ([]loci.OutboxMessage, loci.Page, error) {
		out, err := s.ListSent(t.Context(), agent, loci.ListSent{WorkspaceID: workspaceID, Paging: p})
		return out.Messages, out.Page, err
	})
}

// ofAgent lists what an agent sent or received in the same form, for a person.
func ofAgent(t *testing.T, s *service.Service, person, agent *identity.Actor) string {
	t.Helper()
	return texts(t, func(p loci.Paging) ([]loci.OutboxMessage, loci.Page, error) {
		out, err := s.ListAgentMessages(t.Context(), person, loci.ListAgentMessages{AgentID: agent.AgentID, Paging: p})
		return out.Messages, out.Page, err
	})
}

func texts(t *testing.T, read func(loci.Paging) ([]loci.OutboxMessage, loci.Page, error)) string {
	t.Helper()
	var list []string
	for m, err := range loci.AllItems(loci.Paging{Limit: 2}, read) {
		testenv.NoError(t, err)
		text := m.Content + ":"
		for _, r := range m.Receipts {
			text += fmt.Sprint(" ", r.Name, " ", r.Status)
		}
		list = append(list, text)
	}
	return strings.Join(list, ", ")
}

func TestOutboxListsOwnMessagesWithReceipts(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		st := d.Open(t, store.Options{})
		s := service.New(service.Options{Store: st, Clock: (&Clock{}).Now})
		ann, bob := storetest.User(t, st, "ann"), storetest.User(t, st, "bob")
		members := map[*identity.Actor]loci.Role{bob: loci.RoleMember}
		crew, club := storetest.Team(t, st, ann, members), storetest.Team(t, st, ann, members)
		hers, his := storetest.Agent(t, st, ann), storetest.Agent(t, st, bob)
		send := func(from *identity.Actor, workspaceID loci.ID, to *identity.Actor, text loci.MessageText) loci.ID {
			t.Helper()
			in := loci.SendMessage{WorkspaceID: workspaceID, Content: text, Broadcast: to == nil}
			if to != nil {
				in.ToAgentID = to.AgentID
			}
			return testenv.Must(s.SendMessage(t.Context(), from, in))(t).Message.ID
		}
		send(hers, "", nil, "to nobody")
		read := send(hers, crew, his, "read")
		send(his, crew, hers, "from him")
		done := send(hers, club, nil, "done")
		send(hers, club, his, "new")
		testenv.Must(s.AcknowledgeMessage(t.Context(), his, loci.GetMessage{MessageID: read}))(t)
		testenv.Must(s.CloseMessage(t.Context(), his, loci.GetMessage{MessageID: done}))(t)

		testenv.Equal(t, outbox(t, s, hers, ""), "new: laptop unread, done: laptop closed, read: laptop acknowledged, "+
			"to nobody:", "she sent")
		testenv.Equal(t, outbox(t, s, hers, club), "new: laptop unread, done: laptop closed",
			"she sent in one workspace")
		testenv.Equal(t, outbox(t, s, his, ""), "from him: laptop unread", "he sent")
		narrow := *hers
		narrow.GrantedWorkspaces = []loci.ID{crew}
		testenv.Equal(t, outbox(t, s, &narrow, ""), "read: laptop acknowledged", "a token for one workspace sees")

		send(hers, crew, hers, "to herself")
		third := storetest.Agent(t, st, ann)
		send(his, crew, nil, "to both")
		for range 2 { // and reads nothing for the agents
			testenv.Equal(t, ofAgent(t, s, ann, hers), "to both: laptop unread, to herself: laptop unread, "+
				"new: laptop unread, done: laptop closed, from him: laptop unread, read: laptop acknowledged, "+
				"to nobody:", "her agent sent or received")
		}
		testenv.Equal(t, ofAgent(t, s, ann, third), "to both: laptop unread", "her other agent received")
		testenv.Equal(t, ofAgent(t, s, bob, his), "to both: laptop unread laptop unread, new: laptop unread, "+
			"done: laptop closed, from him: laptop unread, read: laptop acknowledged", "his agent sent or received")
		_, err := s.ListAgentMessages(t.Context(), bob, loci.ListAgentMessages{AgentID: hers.AgentID})
		Expect(t, "the messages of an agent of another person", err, loci.CodeNotFound)

		testenv.Must(s.RemoveMember(t.Context(), ann, loci.RemoveMember{WorkspaceID: crew, UserID: bob.UserID,
			Confirm: true}))(t)
		testenv.Equal(t, outbox(t, s, his, ""), "", "the departed sent")
		testenv.Equal(t, ofAgent(t, s, bob, his), "new: laptop unread, done: laptop closed",
			"the departed sent or received where he is a member")
		_, err = s.ListSent(t.Context(), his, loci.ListSent{WorkspaceID: crew})
		Expect(t, "the outbox of the workspace", err, loci.CodeNotFound)
		_, err = s.ListSent(t.Context(), &narrow, loci.ListSent{WorkspaceID: club})
		Expect(t, "a workspace beside those of the token", err, loci.CodeNotFound)
		testenv.Must(s.RevokeKey(t.Context(), bob, loci.RevokeKey{KeyID: his.CredentialID}))(t)
		testenv.Equal(t, ofAgent(t, s, bob, his), "new: laptop unread, done: laptop closed", "a revoked agent had")
		d.Exec(t, `UPDATE agents SET key_id = NULL`) // as when a grant ends
		_, err = s.ListAgentMessages(t.Context(), bob, loci.ListAgentMessages{AgentID: his.AgentID})
		Expect(t, "the messages of an agent that has ended", err, loci.CodeNotFound)
	})
}

// A page of broadcasts is bounded by its bytes, receipts included, and loses neither a message nor a receipt.
func TestPagesOfOutboxAreBoundedWithReceipts(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		st := d.Open(t, store.Options{})
		s := service.New(service.Options{Store: st, Clock: (&Clock{}).Now})
		ann, bob := storetest.User(t, st, "ann"), storetest.User(t, st, "bob")
		crew := storetest.Team(t, st, ann, map[*identity.Actor]loci.Role{bob: loci.RoleMember})
		from := storetest.Agent(t, st, ann)
		const recipients, messages = 300, 90
		storetest.Agents(t, st, bob, recipients)
		for range messages {
			testenv.Must(s.SendMessage(t.Context(), from, loci.SendMessage{WorkspaceID: crew, Broadcast: true,
				Content: "to all"}))(t)
		}
		seen, pages := map[loci.ID]bool{}, 0
		for in := (loci.ListSent{Paging: loci.Paging{Limit: 100}}); ; pages++ {
			page := testenv.Must(s.ListSent(t.Context(), from, in))(t)
			for _, m := range page.Messages {
				if seen[m.ID] = true; len(m.Receipts) != recipients {
					t.Errorf("%s has %d receipts", m.ID, len(m.Receipts))
				}
			}
			if in.Cursor = loci.Cursor(page.NextCursor); in.Cursor == "" {
				break
			}
		}
		if len(seen) != messages || pages == 0 {
			t.Errorf("%d messages on %d pages before the last", len(seen), pages)
		}
	})
}
