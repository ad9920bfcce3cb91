package auth_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
)

func (h *gateFixture) admitAgent(t *testing.T, key string) (*identity.Actor, error) {
	t.Helper()
	return h.Admit(t.Context(), service.MemoryList.Op, &op.Call{Credential: key, ActorHeader: op.ActorAgent})
}

// agents returns the agents in the personal workspace of the user.
func (h *gateFixture) agents(t *testing.T) []loci.Agent {
	t.Helper()
	who := &identity.Actor{UserID: h.user.ID, CredentialKind: identity.CredentialKey, CredentialID: h.key.Key.ID}
	spaces := testenv.Must(h.work.ListWorkspaces(t.Context(), who, loci.ListWorkspaces{}))(t)
	list, err := h.work.ListAgents(t.Context(), who, loci.ListAgents{WorkspaceID: spaces.Workspaces[0].ID})
	if err != nil {
		t.Fatal(err)
	}
	return list.Agents
}

func TestFirstCallsOfAgentCreateOne(t *testing.T) {
	t.Parallel()
	each(t, gateOptions{}, func(t *testing.T, _ storetest.Database, h *gateFixture) {
		var mu sync.Mutex
		ids := map[loci.ID]bool{}
		for _, err := range storetest.RunConcurrently(12, func(int) error {
			actor, err := h.admitAgent(t, h.key.APIKey)
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				ids[actor.AgentID] = true
			}
			return err
		}) {
			if err != nil {
				t.Fatal(err)
			}
		}
		list := h.agents(t)
		if len(ids) != 1 || len(list) != 1 || !ids[list[0].ID] || list[0].KeyID != h.key.Key.ID ||
			list[0].OwnerUserID != h.user.ID || list[0].Status != loci.AgentActive {
			t.Fatalf("%v, listed: %+v", ids, list)
		}
		h.clock.pass(2 * time.Minute)
		testenv.Must(h.admitAgent(t, h.key.APIKey))(t)
		testenv.NoError(t, h.Save(t.Context()))
		testenv.Equal(t, h.agents(t)[0].LastSeenAt, loci.TimeOf(h.clock.now()), "last seen at", h.clock.now())
	})
}

func TestAgentIsCreatedByValidHeaderOnly(t *testing.T) {
	t.Parallel()
	h := sqlite(t, gateOptions{})
	for _, c := range []op.Call{{ActorHeader: ""}, {ActorHeader: "other"}, {ActorHeader: op.ActorAgent,
		AgentIDSent: true}} {
		c.Credential = h.key.APIKey
		if actor, err := h.Admit(t.Context(), service.MemoryList.Op, &c); err != nil || actor.AgentID != "" {
			t.Errorf("%+v: %+v, %v", c, actor, err)
		}
	}
	if list := h.agents(t); len(list) != 0 {
		t.Errorf("%+v", list)
	}
}

func TestAgentIsBoundToItsKeyAndRevokedWithIt(t *testing.T) {
	t.Parallel()
	h := sqlite(t, gateOptions{})
	other := testenv.Must(h.work.AddKey(t.Context(), "ada@example.com", "second"))(t)
	var ids []loci.ID
	for _, key := range []string{h.key.APIKey, other.APIKey, h.key.APIKey, other.APIKey} {
		h.clock.pass(time.Hour)
		actor := testenv.Must(h.admitAgent(t, key))(t)
		ids = append(ids, actor.AgentID)
	}
	if ids[0] == ids[1] || !slices.Equal(ids[:2], ids[2:]) {
		t.Errorf("agents of two keys in turns: %v", ids)
	}
	who := &identity.Actor{UserID: h.user.ID, CredentialKind: identity.CredentialKey, CredentialID: h.key.Key.ID}
	testenv.Must(h.work.RevokeKey(t.Context(), who, loci.RevokeKey{KeyID: other.Key.ID}))(t)
	if _, err := h.admitAgent(t, other.APIKey); !loci.Is(err, loci.CodeRevoked) {
		t.Errorf("the agent of a revoked key: %v", err)
	}
	for _, a := range h.agents(t) {
		testenv.Equal(t, (a.Status == loci.AgentRevoked), (a.KeyID == other.Key.ID), a)
	}
}
