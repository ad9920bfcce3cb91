// Package conformance tests the whole service in a small world. It has a few people, a team and their credentials on a
// real store, behind the real gate. It is for tests only. Its own tests cover the whole operation table and all
// transports, and print the documents that follow from the table.
package conformance

import (
	"cmp"
	"context"
	"io"
	"log/slog"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/auth"
	"github.com/loci-memory/loci/internal/blob"
	"github.com/loci-memory/loci/internal/filetoken"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/mail"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
	"github.com/loci-memory/loci/internal/vector"
)

// A Clock is the machine's clock, and can be advanced.
type Clock struct{ offset atomic.Int64 }

// Now returns the time.
func (c *Clock) Now() time.Time { return time.Now().Add(time.Duration(c.offset.Load())) }

// Advance advances the clock by d.
func (c *Clock) Advance(d time.Duration) { c.offset.Add(int64(d)) }

// A Person has an account and an API key.
type Person struct {
	loci.User
	Key   string
	KeyID loci.ID
}

// Actor returns the person as the actor of a call with the key.
func (p *Person) Actor() *identity.Actor {
	return &identity.Actor{UserID: p.ID, Email: p.Email, CredentialKind: identity.CredentialKey, CredentialID: p.KeyID,
		Plan: identity.DefaultPlans[loci.PlanSelfHosted]}
}

// A World has a team workspace: ann owns it, bob is an admin, cid a member. Eve
// has no access to it. Fay has another team and invites others.
type World struct {
	Clock   *Clock
	Store   *store.Store
	Service *service.Service
	Gate    *auth.Gate
	Host    *op.Host

	Ann, Bob, Cid, Eve, Fay *Person
	Team                    loci.ID // id of the workspace
	revoked                 string  // a key of ann
	granted                 []loci.ID
	token                   string // of ann, for the granted workspaces: the team workspace and those like it
	elsewhere               string // of ann, for another workspace
	account                 string // of ann, for the whole account
	actors                  map[string]identity.Actor
}

// Options of a World; the zero value has no limits.
type Options struct {
	Plan         identity.Plan // the zero plan means no limits
	SignInLimit  int
	Registration service.Registration // empty means open
	Embedder     vector.Embedder
	// how long a search or a create waits for the embedder; 0 means a minute, for busy machines
	EmbedTimeout time.Duration
	SendMail     func(context.Context, mail.Message) error // nil: the server sends no mail
	Bucket       blob.Bucket                               // of the files; nil is a folder of the test
}

// NewEmpty returns a world without people.
func NewEmpty(t testing.TB, open func(t testing.TB, o store.Options) *store.Store, o Options) *World {
	t.Helper()
	plans := storetest.OnePlan(o.Plan)
	if o.Plan.Name == "" { // no plan has limits, so that people can have several
		plans = identity.Plans{Limits: map[loci.PlanName]identity.Plan{}}
		for _, name := range []loci.PlanName{loci.PlanFree, loci.PlanPro} {
			plan := identity.DefaultPlans[loci.PlanSelfHosted]
			plan.Name = name
			plans.Limits[name] = plan
		}
	}
	w := &World{Clock: &Clock{}, actors: map[string]identity.Actor{}}
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	w.Store = open(t, store.Options{Clock: w.Clock.Now, Embedder: o.Embedder, Plans: plans})
	w.Gate = auth.NewGate(w.Store, auth.Options{FreeOperation: service.AccountStatus.Name,
		Clock: w.Clock.Now, Log: log,
		VerifyFileToken: func(ctx context.Context, token string) (filetoken.Holder, error) {
			return w.Service.VerifyFileToken(ctx, token)
		}})
	bucket := o.Bucket
	if bucket == nil {
		bucket = testenv.Must(blob.OpenFolder(t.TempDir()))(t)
	}
	t.Cleanup(w.Gate.Close)
	w.Service = service.New(service.Options{Store: w.Store, Clock: w.Clock.Now,
		Registration: cmp.Or(o.Registration, service.RegistrationOpen),
		SignInLimit:  o.SignInLimit, PublicURL: "http://localhost", UsedOperations: w.Gate.Used, Embedder: o.Embedder,
		EmbedTimeout: cmp.Or(o.EmbedTimeout, time.Minute), SimilarTimeout: cmp.Or(o.EmbedTimeout, time.Minute),
		SendMail: o.SendMail, Bucket: bucket})
	w.Host = &op.Host{Service: w.Service, Log: log, Admit: w.admit}
	return w
}

// admit wraps the gate's Admit, and maps the credentials of the world's own callers.
func (w *World) admit(ctx context.Context, o *op.Op, c *op.Call) (*identity.Actor, error) {
	if caller, ok := w.actors[c.Credential]; ok && (o == nil || o.Access != op.Public) {
		return &caller, nil
	}
	return w.Gate.Admit(ctx, o, c)
}

// OpenSQLite opens a database in a folder of the test.
func OpenSQLite(t testing.TB, o store.Options) *store.Store {
	t.Helper()
	s := testenv.Must(store.OpenSQLite(context.Background(), storetest.NewDir(t), o))(t)
	t.Cleanup(func() { s.Close() })
	return s
}

// New returns a world with its people.
func New(t testing.TB, open func(t testing.TB, o store.Options) *store.Store, o Options) *World {
	t.Helper()
	w := NewEmpty(t, open, o)
	w.Ann, w.Bob, w.Cid, w.Eve, w.Fay = w.Person(t, "ann"), w.Person(t, "bob"), w.Person(t, "cid"), w.Person(t, "eve"),
		w.Person(t, "fay")
	w.Team = w.NewTeam(t, w.Ann)
	w.Join(t, w.Team, w.Ann, w.Bob, loci.RoleAdmin)
	w.Join(t, w.Team, w.Ann, w.Cid, loci.RoleMember)

	k := testenv.Must(w.Service.AddKey(t.Context(), loci.Email(w.Ann.Email), "lost"))(t)
	testenv.Must(w.Service.RevokeKey(t.Context(), w.Ann.Actor(), loci.RevokeKey{KeyID: k.Key.ID}))(t)
	w.revoked = k.APIKey
	w.grant(t, w.Team)
	w.elsewhere = storetest.Token(t, w.Store, w.Ann.ID, w.NewTeam(t, w.Ann)).Access
	w.account = storetest.AccountToken(t, w.Store, w.Ann.ID).Access
	device := w.Ann.Actor()
	device.CredentialKind, device.CredentialID = identity.CredentialLocal, w.Ann.ID
	w.actors[localDevice] = *device
	return w
}

// Person makes an account without a password, and a key.
func (w *World) Person(t testing.TB, name string) *Person {
	t.Helper()
	email := loci.Email(name + "@example.com")
	u := testenv.Must(w.Service.AddUser(t.Context(), email, loci.Name(name), ""))(t)
	k := testenv.Must(w.Service.AddKey(t.Context(), email, ""))(t)
	return &Person{u, k.APIKey, k.Key.ID}
}

// NewTeam makes a workspace of an owner.
func (w *World) NewTeam(t testing.TB, owner *Person) loci.ID {
	t.Helper()
	return testenv.Must(w.Service.CreateWorkspace(t.Context(), owner.Actor(),
		loci.CreateWorkspace{Name: "Crew"}))(t).Workspace.ID
}

// Invite invites p into a workspace of an owner, whose address it verifies, and returns the invitation's id.
func (w *World) Invite(t testing.TB, workspace loci.ID, owner, p *Person, role loci.Role) loci.ID {
	t.Helper()
	w.verify(t, owner)
	in := loci.CreateInvitations{WorkspaceID: workspace, Emails: loci.Emails{loci.Email(p.Email)},
		Role: loci.InvitedRole(role)}
	return testenv.Must(w.Service.CreateInvitations(t.Context(), owner.Actor(), in))(t).Invitations[0].ID
}

// Join adds p to a workspace of an owner.
func (w *World) Join(t testing.TB, workspace loci.ID, owner, p *Person, role loci.Role) {
	t.Helper()
	id := w.Invite(t, workspace, owner, p, role)
	w.verify(t, p)
	testenv.Must(w.Service.RespondInvitation(t.Context(), p.Actor(),
		loci.RespondInvitation{InvitationID: id, Accept: true, Confirm: true}))(t)
}

// verify verifies the address of a person.
func (w *World) verify(t testing.TB, p *Person) {
	t.Helper()
	testenv.Must(store.System(t.Context(), w.Store, "test", func(x *store.SystemTx) (loci.Empty, error) {
		return loci.Empty{}, x.MarkVerified(p.ID)
	}))(t)
}

// SharedTeam makes another team workspace of an owner, in which the other callers have the roles of the team workspace.
// A former owner is a member.
func (w *World) SharedTeam(t testing.TB, owner *Person) loci.ID {
	t.Helper()
	id := w.NewTeam(t, owner)
	for _, p := range []*Person{w.Ann, w.Bob, w.Cid} {
		if p == owner {
			continue
		}
		role := loci.RoleMember
		if p == w.Bob {
			role = loci.RoleAdmin
		}
		w.Join(t, id, owner, p, role)
	}
	w.grant(t, id)
	return id
}

// grant makes a token that reaches one more workspace.
func (w *World) grant(t testing.TB, id loci.ID) {
	t.Helper()
	// A copy, because the worlds of parallel tests are copies with the same list. Ann has left some workspaces.
	w.granted = slices.DeleteFunc(append(slices.Clone(w.granted), id), func(id loci.ID) bool {
		_, err := w.Service.GetWorkspace(t.Context(), w.Ann.Actor(), loci.GetWorkspace{WorkspaceID: id})
		return err != nil
	})
	w.token = storetest.Token(t, w.Store, w.Ann.ID, w.granted...).Access
}

// Atlas makes an atlas of the team workspace.
func (w *World) Atlas(t testing.TB, name string) loci.ID {
	t.Helper()
	return testenv.Must(w.Service.CreateAtlas(t.Context(), w.Ann.Actor(),
		loci.CreateAtlas{Name: loci.Name(name), WorkspaceID: w.Team}))(t).Atlas.ID
}

// Memory stores a memory of ann in an atlas of the team workspace.
func (w *World) Memory(t testing.TB, atlas loci.ID, content string, tags ...loci.Tag) loci.ID {
	t.Helper()
	return testenv.Must(w.Service.CreateMemory(t.Context(), w.Ann.Actor(),
		loci.CreateMemory{Content: loci.Content(content), AtlasID: atlas, Tags: tags}))(t).Memory.ID
}

// WaitForEmbeddings waits until no memory waits for its vectors.
func (w *World) WaitForEmbeddings(t testing.TB) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(2 * time.Millisecond) {
		b, err := store.SystemRead(context.Background(), w.Store, "test", (*store.SystemTx).EmbeddingQueue)
		if err != nil || time.Now().After(end) {
			t.Fatalf("still waiting: %+v, %v", b, err)
		}
		if b.Pending == 0 {
			return
		}
	}
}
