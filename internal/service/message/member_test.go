package message_test

import (
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

// contents lists the texts in the inbox of an agent.
func contents(t *testing.T, s *service.Service, agent *identity.Actor) string {
	t.Helper()
	var list []string
	for _, m := range testenv.Must(s.ListInbox(t.Context(), agent, loci.ListInbox{}))(t).Messages {
		list = append(list, m.Content)
	}
	return strings.Join(list, ", ")
}

// A member who left reaches nothing of the workspace, and hears nothing more. Earlier messages stay.
func TestAgentOfDepartedMemberReachesNothing(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		st := d.Open(t, store.Options{})
		s := service.New(service.Options{Store: st, Clock: (&Clock{}).Now})
		ann, bob := storetest.User(t, st, "ann"), storetest.User(t, st, "bob")
		crew := storetest.Team(t, st, ann, map[*identity.Actor]loci.Role{bob: loci.RoleMember})
		hers, his := storetest.Agent(t, st, ann), storetest.Agent(t, st, bob)
		send := func(from *identity.Actor, in loci.SendMessage) (loci.SentMessage, error) {
			in.WorkspaceID = crew
			return s.SendMessage(t.Context(), from, in)
		}
		got := testenv.Must(send(hers, loci.SendMessage{ToAgentID: his.AgentID, Content: "before"}))(t).Message.ID
		sent := testenv.Must(send(his, loci.SendMessage{Broadcast: true, Content: "from him"}))(t).Message.ID
		personal := testenv.Must(s.SendMessage(t.Context(), his, loci.SendMessage{ToAgentID: his.AgentID,
			Content: "personal"}))(t).Message.ID
		testenv.Must(s.RemoveMember(t.Context(), ann, loci.RemoveMember{WorkspaceID: crew, UserID: bob.UserID,
			Confirm: true}))(t)

		_, err := send(hers, loci.SendMessage{ToAgentID: his.AgentID, Content: "meanwhile"})
		Expect(t, "a message to the departed", err, loci.CodeNotFound)
		if out := testenv.Must(send(hers, loci.SendMessage{Broadcast: true, Content: "meanwhile"}))(t); len(
			out.Recipients)+len(out.Skipped) != 0 {
			t.Errorf("a broadcast reached %+v", out)
		}
		_, err = send(his, loci.SendMessage{Broadcast: true, Content: "again"})
		Expect(t, "a message of the departed", err, loci.CodeNotFound)
		_, err = s.ListInbox(t.Context(), his, loci.ListInbox{WorkspaceID: crew})
		Expect(t, "the inbox of the workspace", err, loci.CodeNotFound)
		for name, call := range map[string]func(id loci.ID) error{
			"acknowledge": func(id loci.ID) error {
				_, err := s.AcknowledgeMessage(t.Context(), his, loci.GetMessage{MessageID: id})
				return err
			},
			"close": func(id loci.ID) error {
				_, err := s.CloseMessage(t.Context(), his, loci.GetMessage{MessageID: id})
				return err
			},
			"reply": func(id loci.ID) error {
				_, err := s.SendMessage(t.Context(), his, loci.SendMessage{ToAgentID: his.AgentID, Content: "x",
					ReplyTo: id})
				return err
			},
		} {
			for _, id := range []loci.ID{got, sent} {
				Expect(t, name, call(id), loci.CodeNotFound)
			}
		}
		testenv.Equal(t, contents(t, s, his), "personal", "the departed reads")
		testenv.Equal(t, contents(t, s, hers), "from him", "the workspace reads")
		storetest.Join(t, st, ann, crew, bob, loci.RoleMember)
		testenv.Equal(t, contents(t, s, his), "personal, before", "the one who came back reads")
		testenv.Must(s.CloseMessage(t.Context(), his, loci.GetMessage{MessageID: personal}))(t)
		storetest.CheckHealthy(t, st)
	})
}
