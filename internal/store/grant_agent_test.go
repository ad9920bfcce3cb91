package store_test

import (
	"fmt"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/messagedb"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
)

// grantAgent returns the agent of a grant as an actor.
func grantAgent(t *testing.T, s *store.Store, access string) *identity.Actor {
	t.Helper()
	return testenv.Must(store.System(ctx, s, "test", func(x *store.SystemTx) (*identity.Actor, error) {
		c, err := x.Credential(identity.CredentialToken, identity.SecretHash(access))
		if err != nil {
			return nil, err
		}
		id, err := x.AgentOf(c.Kind, c.ID)
		if again, e := x.AgentOf(c.Kind, c.ID); e != nil || again != id {
			t.Errorf("another call has the agent %s, %v, not %s", again, e, id)
		}
		return &identity.Actor{UserID: c.UserID, CredentialKind: c.Kind, CredentialID: c.ID, AgentID: id,
			GrantedWorkspaces: c.Workspaces}, err
	}))(t)
}

// The agent of a grant for some workspaces reaches those alone, and ends with the grant. Its messages stay.
func TestAgentOfGrantReachesItsWorkspacesAndEndsWithIt(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		clock := &fakeClock{}
		s := d.Open(t, store.Options{Clock: clock.time})
		work := newService(s)
		ann, bob := user(t, s, "ann"), user(t, s, "bob")
		crew := team(t, s, ann, map[*identity.Actor]loci.Role{bob: loci.RoleMember})
		other := team(t, s, ann, map[*identity.Actor]loci.Role{bob: loci.RoleMember})
		narrow := grantAgent(t, s, storetest.Token(t, s, ann.UserID, crew).Access)
		whole := grantAgent(t, s, storetest.AccountToken(t, s, ann.UserID).Access)
		from := storetest.Agent(t, s, bob)
		agents := func(in loci.ID) (text string) {
			t.Helper()
			for _, a := range testenv.Must(work.ListAgents(ctx, bob, loci.ListAgents{WorkspaceID: in}))(t).Agents {
				if a.GrantID != "" {
					text += fmt.Sprint(a.GrantID, a.KeyID, a.Name, a.Status, a.WorkspaceIDs, "\n")
				}
			}
			return text
		}
		line := func(a *identity.Actor, in ...loci.ID) string {
			return fmt.Sprint(a.CredentialID, "", "Editor", loci.AgentActive, in, "\n")
		}
		testenv.Equal(t, agents(crew), line(whole, crew, other)+line(narrow, crew))
		testenv.Equal(t, agents(other), line(whole, crew, other))

		here, there := mailbox{t, work, crew}, mailbox{t, work, other}
		here.send(from, nil, "to all of the crew")
		there.send(from, nil, "to all of the others")
		here.send(from, narrow, "to the narrow one")
		sent := here.send(narrow, from, "what it has sent")
		for _, x := range []struct {
			who  *identity.Actor
			want int
		}{{narrow, 2}, {whole, 2}} {
			if got := testenv.Must(work.ListInbox(ctx, x.who, loci.ListInbox{}))(t); len(got.Messages) != x.want {
				t.Errorf("%s has received %+v", x.who.CredentialKind, got.Messages)
			}
		}
		if _, err := work.SendMessage(ctx, from, loci.SendMessage{WorkspaceID: other, ToAgentID: narrow.AgentID,
			Content: "out of reach"}); !loci.Is(err, loci.CodeNotFound) {
			t.Errorf("a message out of the reach of the grant: %v", err)
		}
		if _, err := work.SendMessage(ctx, narrow, loci.SendMessage{WorkspaceID: other, ToAgentID: from.AgentID,
			Content: "out of reach"}); !loci.Is(err, loci.CodeNotFound) {
			t.Errorf("a message from out of the reach of the grant: %v", err)
		}

		states := func() int {
			return len(testenv.Must(s.Messages().AgentStates(ctx, []loci.ID{narrow.AgentID, whole.AgentID}))(t))
		}
		testenv.Equal(t, states(), 2)
		for _, a := range []*identity.Actor{narrow, whole} {
			testenv.Must(work.RevokeGrant(ctx, ann, loci.RevokeGrant{GrantID: a.CredentialID}))(t)
			if _, err := work.SendMessage(ctx, from, loci.SendMessage{WorkspaceID: crew, ToAgentID: a.AgentID,
				Content: "too late"}); !loci.Is(err, loci.CodeNotFound) {
				t.Errorf("a message to the agent of a revoked grant: %v", err)
			}
			if _, err := store.System(ctx, s, "test", func(x *store.SystemTx) (loci.ID, error) {
				return x.AgentOf(a.CredentialKind, a.CredentialID)
			}); !loci.Is(err, loci.CodeRevoked) {
				t.Errorf("an agent of a revoked grant: %v", err)
			}
		}
		testenv.Equal(t, states(), 0)
		testenv.Equal(t, agents(crew)+agents(other), "")
		testenv.NoError(t, messagedb.EraseAgents(ctx, s.DB()))
		left := fmt.Sprint(d.Query(t, `SELECT id FROM agents WHERE key_id IS NULL`))
		testenv.Equal(t, left, fmt.Sprint([]loci.ID{narrow.AgentID})) // whole has sent nothing
		got := testenv.Must(work.ListInbox(ctx, from, loci.ListInbox{}))(t).Messages
		if len(got) != 1 || got[0].ID != sent || got[0].From.AgentID != narrow.AgentID {
			t.Errorf("what the agent of a revoked grant has sent: %+v", got)
		}
	})
}
