package conformance_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/conformance"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/store/grantdb"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
)

// callAs calls an operation with a credential.
func callAs(t *testing.T, w *conformance.World, o *op.Op, credential string, in args) (answer string, err error) {
	t.Helper()
	return sendAs(t, w, o, &op.Call{Credential: credential, Address: "192.0.2.1"}, in)
}

func sendAs(t *testing.T, w *conformance.World, o *op.Op, c *op.Call, in args) (answer string, err error) {
	t.Helper()
	raw, err := w.Host.Call(t.Context(), o, c, op.Args{JSON: testenv.Must(json.Marshal(in))(t)})
	return string(raw), err
}

func tokens(t *testing.T, w *conformance.World, p *conformance.Person, workspaces ...loci.ID) grantdb.Tokens {
	t.Helper()
	return storetest.Token(t, w.Store, p.ID, workspaces...)
}

func personalOf(t *testing.T, w *conformance.World, p *conformance.Person) loci.ID {
	t.Helper()
	list := testenv.Must(w.Service.ListWorkspaces(t.Context(), p.Actor(), loci.ListWorkspaces{}))(t)
	for _, x := range list.Workspaces {
		if x.Kind == loci.WorkspacePersonal {
			return x.ID
		}
	}
	t.Fatal("no personal workspace")
	return ""
}

func TestTokenCreatesInItsOnlyWorkspace(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		w := conformance.New(t, d.Open, conformance.Options{})
		other, personal := w.NewTeam(t, w.Ann), personalOf(t, w, w.Ann)
		for name, c := range map[string]struct {
			by      *conformance.Person
			granted []loci.ID
			want    loci.ID
			code    loci.Code // of atlas.create
		}{
			"one team":              {w.Ann, []loci.ID{w.Team}, w.Team, ""},
			"one team of a member":  {w.Cid, []loci.ID{w.Team}, w.Team, loci.CodeForbidden},
			"the personal one":      {w.Ann, []loci.ID{personal}, personal, ""},
			"a team and personal":   {w.Ann, []loci.ID{w.Team, personal, other}, personal, ""},
			"two teams":             {w.Ann, []loci.ID{w.Team, other}, "", loci.CodeInvalidQuery},
			"two teams, one is not": {w.Bob, []loci.ID{w.Team, w.SharedTeam(t, w.Fay)}, "", loci.CodeInvalidQuery},
		} {
			token := tokens(t, w, c.by, c.granted...).Access
			made, err := callAs(t, w, service.MemoryCreate.Op, token, args{"content": "The harbour closes at nine."})
			if c.want == "" &&
				(!loci.Is(err, loci.CodeInvalidQuery) || !strings.Contains(err.Error(), "workspaceId")) ||
				c.want != "" && !strings.Contains(made, `"workspaceId":"`+string(c.want)+`"`) {
				t.Errorf("%s: memory.create: %s, %v", name, made, err)
			}
			made, err = callAs(t, w, service.AtlasCreate.Op, token, args{"name": "Harbours"})
			if c.code != "" && !loci.Is(err, c.code) ||
				c.code == "" && !strings.Contains(made, `"workspaceId":"`+string(c.want)+`"`) {
				t.Errorf("%s: atlas.create: %s, %v", name, made, err)
			}
			if _, err = callAs(t, w, service.MemoryCreate.Op, token, args{"content": "It opens at six.",
				"workspaceId": c.granted[0]}); err != nil {
				t.Errorf("%s: in a named workspace: %v", name, err)
			}
		}
		if _, err := callAs(t, w, service.MemoryCreate.Op, tokens(t, w, w.Ann, w.Team).Access, args{"content": "x",
			"workspaceId": other}); !loci.Is(err, loci.CodeNotFound) {
			t.Errorf("in a workspace that was not granted: %v", err)
		}
	})
}

// Texts of places that the token does not reach.
const (
	hiddenName = "Quagga house"
	hiddenText = "The okapi sleeps in stable seven."
)

// hide gives ann a workspace with an atlas and a memory, and an invitation to another one. It returns their ids.
func hide(t *testing.T, w *conformance.World) (hidden []string) {
	t.Helper()
	ctx, ann := t.Context(), w.Ann.Actor()
	made := testenv.Must(w.Service.CreateWorkspace(ctx, ann, loci.CreateWorkspace{Name: hiddenName}))(t)
	team := made.Workspace.ID
	atlas := testenv.Must(w.Service.CreateAtlas(ctx, ann, loci.CreateAtlas{Name: hiddenName,
		WorkspaceID: team}))(t).Atlas.ID
	memory := w.Memory(t, atlas, hiddenText)
	guests := testenv.Must(w.Service.CreateInvitations(ctx, ann, loci.CreateInvitations{WorkspaceID: team,
		Emails: loci.Emails{"guest@example.com"}}))(t).Invitations[0].ID
	club := testenv.Must(w.Service.CreateWorkspace(ctx, w.Fay.Actor(),
		loci.CreateWorkspace{Name: hiddenName}))(t).Workspace.ID
	invitation := w.Invite(t, club, w.Fay, w.Ann, loci.RoleMember)
	for _, id := range []loci.ID{team, atlas, memory, guests, club, invitation, personalOf(t, w, w.Ann)} {
		hidden = append(hidden, string(id))
	}
	return append(hidden, hiddenName, "okapi")
}

// Every read is called with the arguments of its fixture, and with those of all places. The key of the same person
// finds what the token does not.
func TestTokenLearnsNothingOfOtherWorkspaces(t *testing.T) {
	t.Parallel()
	w := conformance.New(t, conformance.OpenSQLite, conformance.Options{})
	w.Memory(t, w.Atlas(t, "Harbours"), "The harbour closes at nine.")
	hidden := hide(t, w)
	token := tokens(t, w, w.Ann, w.Team).Access
	calls, seen := 0, map[string]bool{}
	for _, o := range service.Ops.Ops {
		if !o.ReadOnly || o.Access != op.Account {
			continue
		}
		in := fixtureOf(t, o.Name).args(testScene{w, t})
		wide := mergeArgs(in, nil)
		for _, name := range []string{"workspace_id", "atlas_id", "limit"} {
			delete(wide, name)
		}
		if o.Name == service.MemorySearch.Name {
			wide = args{"query": "where does the okapi sleep", "mode": "keyword"}
		}
		for _, in := range []args{in, wide} {
			answer, err := callAs(t, w, o, token, in)
			calls++
			for _, text := range hidden {
				if strings.Contains(withoutQuery(answer), text) || err != nil && strings.Contains(err.Error(), text) {
					t.Errorf("%s tells a token of %q: %s, %v", o.Name, text, answer, err)
				}
			}
			whole, _ := callAs(t, w, o, w.Ann.Key, in)
			for _, text := range hidden {
				seen[text] = seen[text] || strings.Contains(whole, text)
			}
		}
	}
	if calls < 20 {
		t.Errorf("only %d calls were made", calls)
	}
	for _, text := range hidden {
		if !seen[text] && text != hidden[3] { // the list of sent invitations names the team
			t.Errorf("a key does not see %q either", text)
		}
	}
}

// withoutQuery removes the query, which an answer may repeat.
func withoutQuery(answer string) string {
	return strings.ReplaceAll(answer, "where does the okapi sleep", "")
}

// The status of a token is that of a person who has nothing but the granted workspaces.
func TestStatusOfTokenCountsItsWorkspaces(t *testing.T) {
	t.Parallel()
	w := conformance.New(t, conformance.OpenSQLite, conformance.Options{})
	w.Memory(t, w.Atlas(t, "Harbours"), "The harbour closes at nine.")
	token := tokens(t, w, w.Ann, w.Team).Access
	before := testenv.Must(callAs(t, w, service.AccountStatus.Op, token, args{}))(t)
	hide(t, w)
	after := testenv.Must(callAs(t, w, service.AccountStatus.Op, token, args{}))(t)
	if before != after || !strings.Contains(after, `"totals":{"workspaces":1,"atlases":1,"memories":1}`) {
		t.Errorf("the status was %s and is %s", before, after)
	}
}

// The storage of the owner covers workspaces that a token does not reach.
func TestTokenOverQuotaLearnsNoFigures(t *testing.T) {
	t.Parallel()
	w := conformance.New(t, conformance.OpenSQLite, conformance.Options{
		Plan: identity.Plan{Name: loci.PlanFree, Operations: loci.Unlimited, Storage: 100, Teams: 100, Atlases: 100}})
	w.Memory(t, w.Atlas(t, "Harbours"), strings.Repeat("x", 90))
	in := args{"content": strings.Repeat("y", 50), "workspaceId": w.Team}
	for credential, figures := range map[string]bool{w.Ann.Key: true, tokens(t, w, w.Ann, w.Team).Access: false} {
		_, err := callAs(t, w, service.MemoryCreate.Op, credential, in)
		if !loci.Is(err, loci.CodeQuotaExceeded) || strings.ContainsAny(err.Error(), "0123456789") != figures {
			t.Errorf("the error is %v", err)
		}
	}
}

func TestStoredResponseOpensAfterRefreshOfToken(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		w := conformance.New(t, d.Open, conformance.Options{})
		k := tokens(t, w, w.Ann, w.Team)
		next := testenv.Must(storetest.Refresh(w.Store, k.Refresh, "editor"))(t)
		send := func(credential string) (string, bool) {
			c := &op.Call{Credential: credential, IdempotencyKey: "once"}
			answer := testenv.Must(sendAs(t, w, service.MemoryCreate.Op, c, args{"content": "Once."}))(t)
			return answer, c.Replayed
		}
		first, _ := send(k.Access)
		if again, replayed := send(next.Access); again != first || !replayed {
			t.Errorf("the repeated call answers %s, not %s", again, first)
		}
		if other, replayed := send(tokens(t, w, w.Ann, w.Team).Access); other == first || replayed {
			t.Error("another grant gets the stored response")
		}
	})
}
