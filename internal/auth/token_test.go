package auth_test

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/auth"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/accountdb"
	"github.com/loci-memory/loci/internal/store/grantdb"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
)

// actor returns the actor of the user's key.
func (h *gateFixture) actor() *identity.Actor {
	return &identity.Actor{UserID: h.user.ID, Email: h.user.Email, CredentialKind: identity.CredentialKey,
		CredentialID: h.key.Key.ID}
}

// token returns the tokens of a new grant of the user, and a team that it reaches.
func (h *gateFixture) token(t *testing.T) (grantdb.Tokens, loci.ID) {
	t.Helper()
	team := storetest.Team(t, h.store, h.actor(), nil)
	return storetest.Token(t, h.store, h.user.ID, team), team
}

func TestGateAdmitsAccessToken(t *testing.T) {
	t.Parallel()
	each(t, gateOptions{}, func(t *testing.T, _ storetest.Database, h *gateFixture) {
		k, team := h.token(t)
		actor, err := h.Admit(t.Context(), metered, &op.Call{Credential: k.Access})
		if err != nil || actor.UserID != h.user.ID || actor.CredentialKind != identity.CredentialToken ||
			!slices.Equal(actor.GrantedWorkspaces, []loci.ID{team}) || actor.GrantSecret != nil {
			t.Errorf("the actor is %+v, %v", actor, err)
		}
		for _, credential := range []string{k.Refresh, identity.NewAccessToken(), k.Access + "0", "loci_oat_"} {
			_, err := admit(h.Gate, metered, credential)
			expect(t, err, loci.CodeInvalidKey)
		}
		_, err = h.Admit(t.Context(), metered, &op.Call{Credential: k.Access,
			CredentialKind: identity.CredentialCookie})
		expect(t, err, loci.CodeInvalidKey)
		h.clock.pass(time.Hour - time.Millisecond)
		_, err = admit(h.Gate, metered, k.Access)
		expect(t, err, "")
		h.clock.pass(time.Millisecond) // it is cached still
		_, err = admit(h.Gate, metered, k.Access)
		expect(t, err, loci.CodeInvalidKey)
	})
}

// A token of the whole account counts as its user, and a file token that it is exchanged for ends with its grant.
func TestGateAdmitsTokenOfWholeAccount(t *testing.T) {
	t.Parallel()
	each(t, gateOptions{}, func(t *testing.T, _ storetest.Database, h *gateFixture) {
		k := storetest.AccountToken(t, h.store, h.user.ID)
		actor := testenv.Must(h.Admit(t.Context(), metered, &op.Call{Credential: k.Access}))(t)
		if actor.UserID != h.user.ID || actor.GrantedWorkspaces != nil || !actor.IsPerson() ||
			actor.CredentialKind != identity.CredentialAccount {
			t.Fatalf("the actor is %+v", actor)
		}
		key := testenv.Must(h.work.CreateKey(t.Context(), actor, loci.CreateKey{Name: "made"}))(t)
		files := auth.NewGate(h.store, auth.Options{Clock: h.clock.now, Log: slog.New(slog.DiscardHandler),
			VerifyFileToken: h.work.VerifyFileToken})
		t.Cleanup(files.Close)
		file := testenv.Must(h.work.ExchangeFileToken(t.Context(), actor, loci.Empty{}))(t).Token
		holder := testenv.Must(files.Admit(t.Context(), service.AttachmentConfirm.Op, &op.Call{Credential: file,
			Transport: op.TransportREST}))(t)
		if holder.CredentialID != actor.CredentialID || holder.GrantedWorkspaces != nil {
			t.Errorf("the file token stands for %+v", holder)
		}
		testenv.Must(h.work.RevokeGrant(t.Context(), h.actor(), loci.RevokeGrant{GrantID: actor.CredentialID}))(t)
		for credential, code := range map[string]loci.Code{k.Access: loci.CodeInvalidKey, key.APIKey: ""} {
			_, err := admit(h.Gate, metered, credential)
			expect(t, err, code)
		}
		_, err := files.Admit(t.Context(), service.AttachmentConfirm.Op, &op.Call{Credential: file,
			Transport: op.TransportREST})
		expect(t, err, loci.CodeInvalidKey)
		_, err = h.work.CreateKey(t.Context(), actor, loci.CreateKey{Name: "late"})
		expect(t, err, loci.CodeRevoked)
	})
}

// A response that is stored for a token opens after a refresh, so the secret belongs to the grant.
func TestGateReturnsSecretOfGrantForIdempotencyKey(t *testing.T) {
	t.Parallel()
	h := sqlite(t, gateOptions{})
	k, _ := h.token(t)
	next := testenv.Must(storetest.Refresh(h.store, k.Refresh, "editor"))(t)
	var secrets []string
	var ids []loci.ID
	for _, access := range []string{k.Access, next.Access} {
		actor := testenv.Must(h.Admit(t.Context(), metered, &op.Call{Credential: access, IdempotencyKey: "one"}))(t)
		secrets, ids = append(secrets, string(actor.GrantSecret)), append(ids, actor.CredentialID)
	}
	if len(secrets[0]) != 32 || secrets[0] != secrets[1] || ids[0] != ids[1] {
		t.Errorf("two tokens of a grant have secrets of %d and %d bytes, of %v", len(secrets[0]), len(secrets[1]), ids)
	}
}

// The server that ends a grant follows at once, and another one within the time of its cache.
func TestGateRefusesTokenOfEndedGrant(t *testing.T) {
	t.Parallel()
	each(t, gateOptions{}, func(t *testing.T, d storetest.Database, h *gateFixture) {
		other := gate(d.Open(t, store.Options{Clock: h.clock.now}), h.clock, gateOptions{})
		t.Cleanup(other.Close)
		ends := map[string]struct {
			end  func(k grantdb.Tokens, team loci.ID) error
			code loci.Code
		}{
			"revoked by the client": {func(k grantdb.Tokens, _ loci.ID) error {
				return h.system(func(x *store.SystemTx) error {
					_, err := x.Grants().RevokeToken(k.Refresh, "editor")
					return err
				})
			}, loci.CodeInvalidKey},
			"revoked by the user": {func(grantdb.Tokens, loci.ID) error {
				list, err := h.work.ListGrants(t.Context(), h.actor(), loci.ListGrants{})
				if err == nil {
					_, err = h.work.RevokeGrant(t.Context(), h.actor(), loci.RevokeGrant{GrantID: list.Grants[0].ID})
				}
				return err
			}, loci.CodeInvalidKey},
			"without a workspace": {func(_ grantdb.Tokens, team loci.ID) error {
				_, err := h.work.DeleteWorkspace(t.Context(), h.actor(), loci.DeleteWorkspace{WorkspaceID: team})
				return err
			}, loci.CodeInvalidKey},
			"of a disabled user": {func(grantdb.Tokens, loci.ID) error {
				_, err := h.work.SetDisabled(t.Context(), loci.Email(h.user.Email), true)
				return err
			}, loci.CodeRevoked},
		}
		for name, c := range ends {
			k, team := h.token(t)
			for _, g := range []*auth.Gate{h.Gate, other} {
				_, err := admit(g, metered, k.Access)
				expect(t, err, "")
			}
			if err := c.end(k, team); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			_, err := admit(h.Gate, metered, k.Access)
			expect(t, err, c.code)
			h.clock.pass(cached)
			_, err = admit(other, metered, k.Access)
			expect(t, err, c.code)
			testenv.Must(h.work.SetDisabled(t.Context(), loci.Email(h.user.Email), false))(t)
		}
		k, _ := h.token(t)
		testenv.NoError(t, h.system(func(x *store.SystemTx) error { return x.Tx.EndSignIns(h.user.ID) }))
		_, err := admit(h.Gate, metered, k.Access)
		expect(t, err, "") // a grant outlives the browser
	})
}

// system runs f in a transaction of the service.
func (h *gateFixture) system(f func(*store.SystemTx) error) error {
	_, err := store.System(context.Background(), h.store, "test", func(x *store.SystemTx) (loci.Empty, error) {
		return loci.Empty{}, f(x)
	})
	return err
}

// Rate and last use count by grant, so a refresh resets neither.
func TestGateCountsByGrant(t *testing.T) {
	t.Parallel()
	h := sqlite(t, gateOptions{Rate: 1, Burst: 2})
	k, _ := h.token(t)
	h.clock.pass(time.Minute)
	for range 2 {
		_, err := admit(h.Gate, metered, k.Access)
		expect(t, err, "")
	}
	next, err := storetest.Refresh(h.store, k.Refresh, "editor")
	if err != nil {
		t.Fatal(err)
	}
	_, err = admit(h.Gate, metered, next.Access)
	expect(t, err, loci.CodeRateLimited)
	testenv.NoError(t, h.Save(t.Context()))
	list, err := h.work.ListGrants(t.Context(), h.actor(), loci.ListGrants{})
	if err != nil || len(list.Grants) != 1 || list.Grants[0].LastUsedAt != loci.TimeOf(h.clock.now()) {
		t.Errorf("the grants are %+v, %v", list.Grants, err)
	}
}

// A password reset proves the address. Before, the grants may be those of a stranger.
func TestPasswordResetEndsGrantsOfUnverifiedAddress(t *testing.T) {
	t.Parallel()
	each(t, gateOptions{}, func(t *testing.T, _ storetest.Database, h *gateFixture) {
		for _, verified := range []bool{true, false} {
			var u loci.User
			testenv.NoError(t, h.system(func(x *store.SystemTx) (err error) {
				u, err = x.AddUser(accountdb.NewUser{Email: loci.Email(identity.NewSecret() + "@example.com"),
					Verified: verified})
				return err
			}))
			team := storetest.Team(t, h.store, &identity.Actor{UserID: u.ID}, nil)
			k := storetest.Token(t, h.store, u.ID, team)
			_, err := admit(h.Gate, metered, k.Access)
			expect(t, err, "")
			testenv.NoError(t, h.system(func(x *store.SystemTx) error {
				_, err := x.ResetPassword(u.ID, "another hash")
				return err
			}))
			want := loci.CodeInvalidKey
			if verified {
				want = ""
			}
			_, err = admit(h.Gate, metered, k.Access)
			expect(t, err, want)
		}
	})
}

func (h *gateFixture) admitAgent(t *testing.T, key string) (*identity.Actor, error) {
	t.Helper()
	return h.Admit(t.Context(), service.MemoryList.Op, &op.Call{Credential: key, ActorHeader: op.ActorAgent})
}

// agents returns the agents in the personal workspace of the user.
func (h *gateFixture) agents(t *testing.T) []loci.Agent {
	t.Helper()
	who := &identity.Actor{UserID: h.user.ID, CredentialKind: identity.CredentialKey, CredentialID: h.key.Key.ID}
	spaces := testenv.Must(h.work.ListWorkspaces(t.Context(), who, loci.ListWorkspaces{}))(t)
	list := testenv.Must(h.work.ListAgents(t.Context(), who, loci.ListAgents{WorkspaceID: spaces.Workspaces[0].ID}))(t)
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
		testenv.Equal(t, testenv.Must(h.Admit(t.Context(), service.MemoryList.Op, &c))(t).AgentID, "", c)
	}
	testenv.Equal(t, testenv.ErrorOf(h.Admit(t.Context(), nil, &op.Call{Credential: h.key.APIKey,
		Transport: op.TransportMCP})), nil)
	testenv.Equal(t, len(h.agents(t)), 0)
}

// A tool that runs creates the agent, and a message that runs none does not.
func TestConnectionOfMCPIsAgentOfItsKey(t *testing.T) {
	t.Parallel()
	h := sqlite(t, gateOptions{})
	c := &op.Call{Credential: h.key.APIKey, Transport: op.TransportMCP}
	tool := testenv.Must(h.Admit(t.Context(), service.MemoryList.Op, c))(t)
	named := testenv.Must(h.admitAgent(t, h.key.APIKey))(t)
	if list := h.agents(t); tool.AgentID == "" || tool.AgentID != named.AgentID || len(list) != 1 {
		t.Errorf("%q and %q of %v", tool.AgentID, named.AgentID, list)
	}
}

// A grant for some workspaces is an agent over MCP alone, and one for the whole account with the header too.
func TestGrantIsAgent(t *testing.T) {
	t.Parallel()
	h := sqlite(t, gateOptions{})
	narrow, _ := h.token(t)
	whole := storetest.AccountToken(t, h.store, h.user.ID)
	seen := map[string]map[loci.ID]bool{narrow.Access: {}, whole.Access: {}}
	for _, x := range []struct {
		call  op.Call
		agent bool
	}{
		{op.Call{Credential: narrow.Access, Transport: op.TransportMCP}, true},
		{op.Call{Credential: narrow.Access, Transport: op.TransportREST}, false},
		{op.Call{Credential: narrow.Access, Transport: op.TransportREST, ActorHeader: op.ActorAgent}, false},
		{op.Call{Credential: whole.Access, Transport: op.TransportREST}, false},
		{op.Call{Credential: whole.Access, Transport: op.TransportREST, ActorHeader: op.ActorAgent}, true},
		{op.Call{Credential: whole.Access, Transport: op.TransportMCP}, true},
		{op.Call{Credential: narrow.Access, Transport: op.TransportMCP}, true},
	} {
		actor, err := h.Admit(t.Context(), service.MemoryList.Op, &x.call)
		if err != nil || (actor.AgentID != "") != x.agent {
			t.Fatalf("%+v: %+v, %v", x.call, actor, err)
		}
		if x.agent {
			seen[x.call.Credential][actor.AgentID] = true
		}
	}
	if len(seen[narrow.Access]) != 1 || len(seen[whole.Access]) != 1 {
		t.Errorf("each grant is one agent, not %v", seen)
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
