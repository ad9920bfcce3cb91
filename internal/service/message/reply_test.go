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

// A reply without a workspace is in that of the message, if the agent sent or received it.
func TestReplyIsInTheWorkspaceOfItsMessage(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		st := d.Open(t, store.Options{})
		s := service.New(service.Options{Store: st, Clock: (&Clock{}).Now})
		ann, bob := storetest.User(t, st, "ann"), storetest.User(t, st, "bob")
		crew := storetest.Team(t, st, ann, map[*identity.Actor]loci.Role{bob: loci.RoleMember})
		hers, his, other := storetest.Agent(t, st, ann), storetest.Agent(t, st, bob), storetest.Agent(t, st, bob)
		first := testenv.Must(s.SendMessage(t.Context(), hers, loci.SendMessage{WorkspaceID: crew,
			ToAgentID: his.AgentID, Content: "first"}))(t).Message
		out := testenv.Must(s.SendMessage(t.Context(), his, loci.SendMessage{ReplyTo: first.ID,
			ToAgentID: hers.AgentID, Content: "reply"}))(t)
		if out.Message.WorkspaceID != crew || out.Message.ThreadID != first.ID {
			t.Errorf("the reply is %+v", out.Message)
		}
		alone := testenv.Must(s.SendMessage(t.Context(), his, loci.SendMessage{ReplyTo: first.ID, Content: "alone"}))(t)
		if alone.Message.To != hers.AgentID || alone.Message.ThreadID != first.ID || len(alone.Recipients) != 1 {
			t.Errorf("a reply without a recipient is %+v", alone)
		}
		for what, in := range map[string]loci.SendMessage{"to oneself": {ReplyTo: first.ID, Content: "x"},
			"to nobody": {Content: "x"}, "to all and one": {ToAgentID: his.AgentID, Broadcast: true, Content: "x"},
			"to all and one as a reply": {ToAgentID: his.AgentID, Broadcast: true, ReplyTo: first.ID, Content: "x"}} {
			Expect(t, what, testenv.ErrorOf(s.SendMessage(t.Context(), hers, in)), loci.CodeInvalidQuery)
		}
		Expect(t, "a reply to a message of another agent", testenv.ErrorOf(s.SendMessage(t.Context(), other,
			loci.SendMessage{ReplyTo: first.ID, ToAgentID: hers.AgentID, Content: "not received"})), loci.CodeNotFound)
		_, err := s.SendMessage(t.Context(), hers, loci.SendMessage{ToAgentID: his.AgentID, Content: "no workspace"})
		if Expect(t, "a message of the personal workspace", err, loci.CodeNotFound); !strings.Contains(err.Error(),
			"name the workspace") {
			t.Errorf("the error is %v", err)
		}
	})
}
