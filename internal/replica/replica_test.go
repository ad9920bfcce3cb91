package replica_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/replica"
	"github.com/loci-memory/loci/internal/secret/secrettest"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/store/pairdb"
	"github.com/loci-memory/loci/internal/testenv"
)

const (
	here  = pairdb.Here
	there = pairdb.There
)

// newCouple returns a local database and an account.
func newCouple(t *testing.T) *couple {
	t.Helper()
	return newWorld(t).couple()
}

func contents(list []loci.Memory) (texts []string) {
	for _, m := range list {
		texts = append(texts, m.Content)
	}
	return texts
}

func update(c op.Caller, id loci.ID, content string) {
	text := loci.Content(content)
	must(do(c, service.MemoryUpdate, loci.UpdateMemory{MemoryID: id, Content: &text}))
}

func remove(c op.Caller, id loci.ID) {
	must(do(c, service.MemoryDelete, loci.DeleteMemory{MemoryID: id}))
}

func withDelete(o *replica.Options) { o.Delete = true }

func winner(w replica.Winner) func(*replica.Options) {
	return func(o *replica.Options) { o.Winner = w }
}

func TestPushCopiesEveryFieldOldestFirst(t *testing.T) {
	t.Parallel()
	c := newCouple(t)
	position, confidence := int64(3), loci.Confidence(.5)
	first := add(c.callers[here], loci.CreateMemory{Content: "First text.", Title: "A title", Type: loci.TypeDecision,
		Tags: loci.Tags{"b", "a"}, Source: &loci.Source{Name: "wiki", URI: "https://example.com/1", Group: "g",
			Position: &position}})
	evidence, until := loci.Evidence("The minutes."), loci.TimeOf(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC))
	must(do(c.callers[here], service.MemoryVerify, loci.VerifyMemory{MemoryID: first.ID, Evidence: &evidence,
		Confidence: &confidence, ValidUntil: &until}))
	add(c.callers[here], loci.CreateMemory{Content: "Second text."})
	r := c.run(there)
	if !r.OK || r.Created != 2 || len(r.Changes) != 2 || r.Changes[0].LocalID != first.ID || r.Workspace != "Personal" {
		t.Errorf("%+v", r)
	}
	list := all(c.callers[there])
	if got := contents(list); !slices.Equal(got, []string{"Second text.", "First text."}) {
		t.Fatal(got)
	}
	m := list[1]
	if m.Title != "A title" || m.Type != loci.TypeDecision || !slices.Equal(m.Tags, []string{"b", "a"}) ||
		m.Source == nil || m.Source.URI != "https://example.com/1" || *m.Source.Position != 3 ||
		m.Evidence != string(evidence) || *m.Confidence != .5 || m.ValidUntil != until || !m.Reviewed() {
		t.Errorf("%+v", m)
	}
	for _, to := range []pairdb.Place{there, here, there} {
		testenv.Equal(t, counts(c.run(to)), "unchanged 2")
	}
}

func TestEqualMemoriesStayTwo(t *testing.T) {
	t.Parallel()
	c := newCouple(t)
	for range 2 {
		add(c.callers[here], loci.CreateMemory{Content: "The same."})
	}
	c.run(there)
	c.run(here)
	if h, s := all(c.callers[here]), all(c.callers[there]); len(h) != 2 || len(s) != 2 {
		t.Errorf("%d here, %d there", len(h), len(s))
	}
}

func TestAtlasesCorrespondByName(t *testing.T) {
	t.Parallel()
	c := newCouple(t)
	atlas := must(do(c.callers[here], service.AtlasCreate, loci.CreateAtlas{Name: "Website",
		Keywords: loci.Keywords{"css"}, Description: "The site."})).Atlas
	add(c.callers[here], loci.CreateMemory{Content: "In the atlas.", AtlasID: atlas.ID})
	add(c.callers[here], loci.CreateMemory{Content: "In the Inbox, about css.", AtlasID: c.inbox(here)})
	onlyAtlas := func(o *replica.Options) { o.Atlas = "WEBSITE" }
	testenv.Equal(t, counts(c.run(there, onlyAtlas)), "atlases 1, created 1")
	if r := c.run(there); r.Created != 1 || r.Atlases != 0 {
		t.Errorf("%+v", r)
	}
	list := must(do(c.callers[there], service.AtlasList, loci.ListAtlases{})).Atlases
	if len(list) != 2 || list[0].Name != "Website" || !slices.Equal(list[0].Keywords, []string{"css"}) ||
		list[0].Description != "The site." || list[0].MemoryCount != 1 || list[1].MemoryCount != 1 {
		t.Errorf("%+v", list)
	}
	_, err := replica.Run(t.Context(), c.options(there, func(o *replica.Options) { o.Atlas = "Websit" }))
	if !loci.Is(err, loci.CodeNotFound) {
		t.Error(err)
	}
}

// inbox returns the Inbox of a side.
func (c *couple) inbox(place pairdb.Place) loci.ID {
	for _, a := range must(do(c.callers[place], service.AtlasList, loci.ListAtlases{})).Atlases {
		if a.Default {
			return a.ID
		}
	}
	return ""
}

func TestConflictStaysUntilDecided(t *testing.T) {
	t.Parallel()
	for _, w := range []replica.Winner{replica.Mine, replica.Theirs} {
		for _, to := range []pairdb.Place{here, there} {
			c := newCouple(t)
			m := add(c.callers[here], loci.CreateMemory{Content: "Before."})
			c.run(there)
			copied := all(c.callers[there])[0]
			update(c.callers[here], m.ID, "Mine.")
			update(c.callers[there], copied.ID, "Theirs.")
			for range 2 {
				r := c.run(to)
				if r.OK || len(r.Changes) != 0 || len(r.Conflicts) != 1 || r.Conflicts[0].LocalID != m.ID ||
					r.Conflicts[0].RemoteID != copied.ID || r.Conflicts[0].Here != "changed" {
					t.Fatalf("%+v", r)
				}
			}
			r, want := c.run(to, winner(w)), "Mine."
			if w == replica.Theirs {
				want = "Theirs."
			}
			if got := contents(append(all(c.callers[here]), all(c.callers[there])...)); !r.OK || r.Updated != 1 ||
				!slices.Equal(got, []string{want, want}) {
				t.Errorf("%s to %d: %v %+v", w, to, got, r)
			}
		}
	}
}

func TestEqualChangesAreNoConflict(t *testing.T) {
	t.Parallel()
	c := newCouple(t)
	m := add(c.callers[here], loci.CreateMemory{Content: "Before."})
	c.run(there)
	update(c.callers[here], m.ID, "After.")
	update(c.callers[there], all(c.callers[there])[0].ID, "After.")
	testenv.Equal(t, counts(c.run(there)), "unchanged 1")
}

func TestDeletionsTravelOnlyWithDelete(t *testing.T) {
	t.Parallel()
	for _, from := range []pairdb.Place{here, there} {
		c := newCouple(t)
		to := from.Other()
		m := add(c.callers[from], loci.CreateMemory{Content: "Short-lived."})
		c.run(to)
		remove(c.callers[from], m.ID)
		for _, direction := range []pairdb.Place{here, there} {
			r := c.run(direction)
			if !r.OK || len(r.Deletions) != 1 || len(r.Changes) != 0 || len(all(c.callers[to])) != 1 {
				t.Errorf("%+v", r)
			}
		}
		if r := c.run(from, withDelete); r.Deleted != 0 || len(all(c.callers[to])) != 1 {
			t.Errorf("the wrong direction: %+v", r)
		}
		if r := c.run(to, withDelete); r.Deleted != 1 || len(r.Deletions) != 0 || len(all(c.callers[to])) != 0 {
			t.Errorf("%+v", r)
		}
		testenv.Equal(t, counts(c.run(to, withDelete)), "")
	}
}

// A withoutDelete is a server with variant b of the contract.
type withoutDelete struct{ op.Caller }

func (c withoutDelete) Call(ctx context.Context, o *op.Op, call *op.Call, a op.Args) ([]byte, error) {
	if o.Name == service.MemoryDelete.Name {
		return nil, loci.NewError(loci.CodeNotFound)
	}
	return c.Caller.Call(ctx, o, call, a)
}

func TestDeletionIsRefusedByServerWithoutIt(t *testing.T) {
	t.Parallel()
	c := newCouple(t)
	m := add(c.callers[here], loci.CreateMemory{Content: "Kept there."})
	c.run(there)
	remove(c.callers[here], m.ID)
	c.callers[there] = withoutDelete{c.callers[there]}
	for range 2 {
		r := c.run(there, withDelete)
		if r.OK || len(r.Refusals) != 1 || !strings.Contains(r.Refusals[0].Message, "does not delete memories") {
			t.Errorf("%+v", r)
		}
	}
}

// unreachableAfterDelete is a server without the deletion that is away afterwards.
type unreachableAfterDelete struct {
	withoutDelete
	deleted *bool
}

func (c unreachableAfterDelete) Call(ctx context.Context, o *op.Op, call *op.Call, a op.Args) ([]byte, error) {
	if *c.deleted {
		return nil, loci.NewError(loci.CodeUnavailable)
	}
	*c.deleted = o.Name == service.MemoryDelete.Name
	return c.withoutDelete.Call(ctx, o, call, a)
}

func TestUnknownDeletionEndsTheRun(t *testing.T) {
	t.Parallel()
	c := newCouple(t)
	m := add(c.callers[here], loci.CreateMemory{Content: "Kept there."})
	c.run(there)
	remove(c.callers[here], m.ID)
	c.callers[there] = unreachableAfterDelete{withoutDelete{c.callers[there]}, new(bool)}
	r, err := replica.Run(t.Context(), c.options(there, withDelete))
	if !loci.Is(err, loci.CodeUnavailable) || len(r.Refusals) > 0 {
		t.Errorf("%v %+v", err, r)
	}
}

func TestDeletionOfChangedMemoryIsConflict(t *testing.T) {
	t.Parallel()
	c := newCouple(t)
	m := add(c.callers[here], loci.CreateMemory{Content: "Before."})
	c.run(there)
	remove(c.callers[here], m.ID)
	update(c.callers[there], all(c.callers[there])[0].ID, "After.")
	for _, change := range []func(*replica.Options){withDelete, winner(replica.Mine)} {
		r := c.run(there, change)
		if len(r.Conflicts) != 1 || r.Conflicts[0].Here != "deleted" || len(all(c.callers[there])) != 1 {
			t.Errorf("%+v", r)
		}
	}
	r := c.run(here, winner(replica.Theirs))
	if got := contents(all(c.callers[here])); r.Created != 1 || !slices.Equal(got, []string{"After."}) {
		t.Errorf("%v %+v", got, r)
	}
}

func TestStatesTravel(t *testing.T) {
	t.Parallel()
	c := newCouple(t)
	ids := map[string]loci.ID{}
	for _, name := range []string{"a", "b", "c", "archived"} { // a is superseded by b, b by c, and c is archived
		ids[name] = add(c.callers[here], loci.CreateMemory{Content: loci.Content(name)}).ID
	}
	supersede := func(name, by string) {
		must(do(c.callers[here], service.MemorySupersede, loci.SupersedeMemory{MemoryID: ids[name],
			ReplacementMemoryID: ids[by]}))
	}
	archive := func(name string) {
		must(do(c.callers[here], service.MemoryArchive, loci.ArchiveMemory{MemoryID: ids[name]}))
	}
	supersede("a", "b")
	supersede("b", "c")
	archive("c")
	archive("archived")
	testenv.Equal(t, counts(c.run(there)), "created 4")
	check := func(want string) {
		t.Helper()
		var got []string
		names := map[loci.ID]string{"": "-"}
		list := all(c.callers[there])
		for _, m := range list {
			names[m.ID] = m.Content
		}
		for _, m := range slices.Backward(list) {
			got = append(got, fmt.Sprint(m.Content, " ", m.Status, " ", names[m.SupersededBy]))
		}
		testenv.Equal(t, strings.Join(got, ", "), want)
	}
	check("a superseded b, b superseded c, c archived -, archived archived -")
	must(do(c.callers[here], service.MemoryRestore, loci.RestoreMemory{MemoryID: ids["archived"]}))
	remove(c.callers[here], ids["c"])
	must(do(c.callers[here], service.MemoryRestore, loci.RestoreMemory{MemoryID: ids["b"]}))
	testenv.Equal(t, counts(c.run(there, withDelete)), "deleted 1, unchanged 1, updated 2")
	check("a superseded b, b active -, archived active -")
	must(do(c.callers[here], service.MemoryRestore, loci.RestoreMemory{MemoryID: ids["a"]}))
	testenv.Equal(t, counts(c.run(there)), "unchanged 2, updated 1")
	check("a active -, b active -, archived active -")
	testenv.Equal(t, counts(c.run(here, withDelete)), "unchanged 3")
}

func TestMemoryOfInactiveReplacementArrivesArchived(t *testing.T) {
	t.Parallel()
	c := newCouple(t)
	a, b := add(c.callers[here], loci.CreateMemory{Content: "a"}), add(c.callers[here], loci.CreateMemory{Content: "b"})
	c.run(there)
	copyOfB := all(c.callers[there])[0]
	must(do(c.callers[here], service.MemorySupersede, loci.SupersedeMemory{MemoryID: a.ID, ReplacementMemoryID: b.ID}))
	must(do(c.callers[there], service.MemoryArchive, loci.ArchiveMemory{MemoryID: copyOfB.ID}))
	testenv.Equal(t, counts(c.run(there)), "updated 1, waiting 1")
	for _, m := range all(c.callers[there]) {
		testenv.Equal(t, m.Status, loci.MemoryArchived, m)
	}
	for _, to := range []pairdb.Place{here, there, here} {
		if r := c.run(to); !r.OK || r.Updated > 1 {
			t.Errorf("%+v", r)
		}
	}
	testenv.Equal(t, counts(c.run(there)), "unchanged 2")
}

func TestRefusedMemoriesAreListedAndTheRestIsCopied(t *testing.T) {
	t.Parallel()
	c := newCouple(t)
	workspace := must(do(c.callers[here], service.WorkspaceList, loci.ListWorkspaces{})).Workspaces[0]
	allow, key := loci.SecretsAllow, secrettest.RandomPEM(rand.New(rand.NewPCG(1, 2)), "PRIVATE KEY", 8, "\n")
	must(do(c.callers[here], service.WorkspaceUpdate, loci.UpdateWorkspace{WorkspaceID: workspace.ID,
		Settings: &loci.ChangeSettings{Secrets: &allow}}))
	held := add(c.callers[here], loci.CreateMemory{Content: loci.Content("Deploy with\n" + key)})
	add(c.callers[here], loci.CreateMemory{Content: "Harmless."})
	for range 2 {
		r := c.run(there)
		if r.OK || len(r.Refusals) != 1 || r.Refusals[0].LocalID != held.ID ||
			r.Refusals[0].Code != loci.CodeSecretDetected || len(all(c.callers[there])) != 1 {
			t.Errorf("%+v", r)
		}
	}
	update(c.callers[here], held.ID, "deploy with the key of the vault")
	testenv.Equal(t, counts(c.run(there)), "created 1, unchanged 1")
}

func TestDryRunChangesNothing(t *testing.T) {
	t.Parallel()
	c := newCouple(t)
	add(c.callers[here], loci.CreateMemory{Content: "One."})
	r := c.run(there, func(o *replica.Options) { o.DryRun = true })
	if !r.OK || !r.DryRun || r.Created != 1 || len(r.Changes) != 1 || len(all(c.callers[there])) != 0 {
		t.Errorf("%+v", r)
	}
	if pairs := must(c.ledger(c.remote.ID).All(t.Context())); len(pairs) != 0 {
		t.Errorf("%d pairs", len(pairs))
	}
}

func TestTeamMemoriesAreNotPushedToPersonalWorkspace(t *testing.T) {
	t.Parallel()
	c := newCouple(t)
	team := must(do(c.callers[there], service.WorkspaceCreate, loci.CreateWorkspace{Name: "Team"})).Workspace
	add(c.callers[there], loci.CreateMemory{Content: "Ours.", WorkspaceID: team.ID})
	inTeam := func(o *replica.Options) { o.Workspace = "Team" }
	if r := c.run(here, inTeam); r.Created != 1 || r.Workspace != "Team" {
		t.Fatalf("%+v", r)
	}
	if r := c.run(there); r.Created != 0 || len(all(c.callers[there])) != 1 {
		t.Errorf("%+v", r)
	}
	update(c.callers[here], all(c.callers[here])[0].ID, "Ours, changed.")
	testenv.Equal(t, counts(c.run(there)), "")
	if r := c.run(there, inTeam); r.Updated != 1 {
		t.Errorf("%+v", r)
	}
	_, err := replica.Run(t.Context(), c.options(there, func(o *replica.Options) { o.Workspace = "Tea" }))
	if !loci.Is(err, loci.CodeNotFound) || !strings.Contains(err.Error(), `"Team"`) {
		t.Error(err)
	}
}

// TestInterruptedCreationIsFoundWeeksLater kills a push after each of its calls, waits until no stored response of the
// server is left, and lets the copy be changed meanwhile.
func TestInterruptedCreationIsFoundWeeksLater(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for at := 1; ; at++ {
		c := w.couple()
		for i := range 3 {
			add(c.callers[here], loci.CreateMemory{Content: loci.Content(fmt.Sprint("Text ", i%2))})
		}
		f := &fault{at: at, after: true}
		o := c.options(there)
		o.Local, o.Remote = faultyCaller{o.Local, f}, faultyCaller{o.Remote, f}
		o.Ledger = func(account loci.ID) replica.Ledger { return faultyLedger{c.ledger(account), f} }
		if _, err := replica.Run(context.Background(), o); !f.dead {
			if err != nil || at < 10 {
				t.Fatal(at, err)
			}
			return
		}
		w.ticks.Add(int64(7 * 24 * time.Hour / time.Millisecond))
		if copies := all(c.callers[there]); len(copies) > 0 {
			update(c.callers[there], copies[0].ID, "Changed on the server.")
		}
		c.run(here)
		if r := c.run(there); !r.OK || len(all(c.callers[there])) != 3 || len(all(c.callers[here])) != 3 {
			t.Errorf("killed after call %d: %v here, %v there, %+v", at, contents(all(c.callers[here])),
				contents(all(c.callers[there])), r)
		}
	}
}

func TestDeletionsAreConfirmed(t *testing.T) {
	t.Parallel()
	c, refusal := newCouple(t), errors.New("no")
	for range 2 {
		add(c.callers[here], loci.CreateMemory{Content: "Short-lived."})
	}
	c.run(there)
	for _, m := range all(c.callers[here]) {
		remove(c.callers[here], m.ID)
	}
	add(c.callers[here], loci.CreateMemory{Content: "New."})
	asked := 0
	_, err := replica.Run(t.Context(), c.options(there, withDelete, func(o *replica.Options) {
		o.Confirm = func(_ context.Context, n int) error {
			asked = n
			return refusal
		}
	}))
	if !errors.Is(err, refusal) || asked != 2 || len(all(c.callers[there])) != 2 {
		t.Errorf("%v, asked for %d, %v", err, asked, contents(all(c.callers[there])))
	}
}

// A token may lack the personal workspace.
func TestTokenOfOneTeamPushesThere(t *testing.T) {
	t.Parallel()
	c := newCouple(t)
	teams := []loci.ID{}
	for _, name := range []loci.Name{"Red", "Blue"} {
		teams = append(teams, must(do(c.callers[there], service.WorkspaceCreate,
			loci.CreateWorkspace{Name: name})).Workspace.ID)
	}
	narrow := func(granted ...loci.ID) op.Caller {
		return &op.Host{Service: c.w.svc, Log: slog.New(slog.DiscardHandler),
			Admit: func(context.Context, *op.Op, *op.Call) (*identity.Actor, error) {
				return &identity.Actor{UserID: c.remote.ID, CredentialKind: identity.CredentialToken,
					CredentialID: loci.NewID(time.Now()), GrantedWorkspaces: granted,
					Plan: identity.DefaultPlans[loci.PlanSelfHosted]}, nil
			}}
	}
	add(c.callers[here], loci.CreateMemory{Content: "For the team."})
	owner := c.callers[there]
	c.callers[there] = narrow(teams...)
	if _, err := replica.Run(t.Context(), c.options(there)); !loci.Is(err, loci.CodeInvalidQuery) ||
		!strings.Contains(err.Error(), "--workspace") {
		t.Error(err)
	}
	c.callers[there] = narrow(teams[0])
	if r := c.run(there); !r.OK || r.Created != 1 || r.Workspace != "Red" {
		t.Errorf("%+v", r)
	}
	if list := all(owner); len(list) != 1 || list[0].WorkspaceID != teams[0] {
		t.Errorf("%+v", list)
	}
}

func TestMembersAreRefusedWhatTheirRoleLacks(t *testing.T) {
	t.Parallel()
	c := newCouple(t)
	_, leader := c.w.user()
	team := must(do(leader, service.WorkspaceCreate, loci.CreateWorkspace{Name: "Team"})).Workspace
	invited := must(do(leader, service.InvitationCreate, loci.CreateInvitations{WorkspaceID: team.ID,
		Emails: loci.Emails{loci.Email(c.remote.Email)}}))
	must(do(c.callers[there], service.InvitationRespond, loci.RespondInvitation{InvitationID: invited.Invitations[0].ID,
		Accept: true, Confirm: true}))
	theirs := add(leader, loci.CreateMemory{Content: "The leader's.", WorkspaceID: team.ID})
	inTeam := func(o *replica.Options) { o.Workspace = "Team" }
	testenv.Equal(t, counts(c.run(here, inTeam)), "created 1")
	update(c.callers[here], all(c.callers[here])[0].ID, "Changed by a member.")
	atlas := must(do(c.callers[here], service.AtlasCreate, loci.CreateAtlas{Name: "Mine"})).Atlas
	add(c.callers[here], loci.CreateMemory{Content: "In an atlas of my own.", AtlasID: atlas.ID})
	add(c.callers[here], loci.CreateMemory{Content: "In the Inbox.", AtlasID: c.inbox(here)})
	r := c.run(there, inTeam)
	if r.OK || r.Created != 1 || len(r.Refusals) != 2 || r.Refusals[0].Code != loci.CodeForbidden ||
		r.Refusals[1].Code != loci.CodeForbidden {
		t.Errorf("%+v", r)
	}
	if m := must(do(leader, service.MemoryGet, loci.GetMemory{MemoryID: theirs.ID})); m.Content != "The leader's." {
		t.Errorf("%+v", m)
	}
}

// A countingLedger counts the pairs that are saved.
type countingLedger struct {
	replica.Ledger
	saved *int
}

func (l countingLedger) Save(ctx context.Context, pairs ...*pairdb.Pair) error {
	*l.saved += len(pairs)
	return l.Ledger.Save(ctx, pairs...)
}

func TestRunWithoutChangesSavesNoPair(t *testing.T) {
	t.Parallel()
	c := newWorld(t).couple()
	add(c.callers[0], loci.CreateMemory{Content: "one"})
	add(c.callers[0], loci.CreateMemory{Content: "two"})
	saved := 0
	count := func(o *replica.Options) {
		o.Ledger = func(account loci.ID) replica.Ledger { return countingLedger{c.ledger(account), &saved} }
	}
	if c.run(pairdb.There, count); saved == 0 {
		t.Error("the pairs of new memories were not saved")
	}
	saved = 0
	if r := c.run(pairdb.There, count); saved != 0 || r.Unchanged != 2 {
		t.Errorf("%d pairs were saved without a change: %+v", saved, r)
	}
}
