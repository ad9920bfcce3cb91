package service_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	. "github.com/loci-memory/loci/internal/conformance"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
)

func TestDeletedAccountIsUnknownAndItsAddressFree(t *testing.T) {
	t.Parallel()
	EachWithDB(t, func(t *testing.T, w *World, d storetest.Database) {
		const email = "walker@example.com"
		b := signInAs(t, w, email, "correct horse", 2)
		key := testenv.Must(do(t, w, b[0], service.KeyCreate, loci.CreateKey{}))(t)
		me := testenv.Must(do(t, w, b[0], service.AccountMe, loci.Empty{}))(t).User
		walker := &Person{User: me, Key: key.APIKey, KeyID: key.Key.ID}
		w.Join(t, w.Team, w.Ann, walker, loci.RoleAdmin)
		w.Invite(t, w.NewTeam(t, w.Fay), w.Fay, walker, loci.RoleMember)
		byKey := &op.Call{Credential: key.APIKey}
		create := func(c *op.Call, in loci.CreateMemory) loci.Memory {
			return testenv.Must(do(t, w, c, service.MemoryCreate, in))(t).Memory.Memory
		}
		shared := create(byKey, loci.CreateMemory{Content: "for the team", WorkspaceID: w.Team})
		for i := range 30 {
			create(b[1], loci.CreateMemory{Content: loci.Content(fmt.Sprint("a private thought of number ", i))})
		}
		_, err := do(t, w, byKey, service.AccountDelete, loci.DeleteAccount{Password: "wrong"})
		Expect(t, "a wrong password", err, loci.CodeForbidden)
		testenv.Must(do(t, w, byKey, service.AccountDelete, loci.DeleteAccount{Password: "correct horse"}))(t)
		for i, c := range append(b, byKey) {
			Expect(t, fmt.Sprint("credential ", i), testenv.ErrorOf(do(t, w, c, service.AccountMe, loci.Empty{})),
				loci.CodeInvalidKey)
		}
		err = signIn(t, w, "", email, "correct horse")
		Expect(t, "a sign-in", err, loci.CodeInvalidKey)
		if got := w.Get(t, shared.ID); got.Content != shared.Content || got.CreatedBy != me.ID {
			t.Errorf("%+v", got)
		}
		testenv.Len(t, membersOf(t, w, CallerOwner, w.Team), 3)
		storetest.CheckHealthy(t, w.Store) // while the memories wait for the job
		testenv.Len(t, d.Query(t, `SELECT id FROM memories WHERE created_by = '`+string(me.ID)+`'`), 31,
			"memories: the deletion itself erased them")
		again := testenv.Must(w.Service.AddUser(t.Context(), email, "Another", "battery staple"))(t)
		k := testenv.Must(w.Service.AddKey(t.Context(), email, ""))(t)
		c := &op.Call{Credential: k.APIKey}
		if list := testenv.Must(do(t, w, c, service.MemoryList, loci.ListMemories{}))(t); len(list.Memories) != 0 ||
			again.ID == me.ID {
			t.Errorf("the new account sees %+v", list)
		}
		testenv.Len(t, testenv.Must(do(t, w, c, service.InvitationPending,
			loci.ListPendingInvitations{}))(t).Invitations, 0, "invitations to the former account")
		w.Erase(t)
		for _, left := range []string{`SELECT id FROM workspaces WHERE name = ''`,
			`SELECT id FROM memories WHERE id <> '` +
				string(shared.ID) + `' AND created_by = '` + string(me.ID) + `'`} {
			testenv.Len(t, d.Query(t, left), 0, "are left")
		}
		storetest.CheckHealthy(t, w.Store)
	})
}

// Anybody may register the address of another person, and delete the account again.
func TestDeletionOfUnverifiedAccountKeepsInvitations(t *testing.T) {
	t.Parallel()
	Each(t, Options{}, func(t *testing.T, w *World) {
		made := MustCall(t, w, CallerOwner, service.InvitationCreate, invite(w, "guest@example.com")).Invitations[0]
		squat := func() { registered(t, w, "GUEST@example.com") }
		squat()
		testenv.Must(w.Service.DeleteUser(t.Context(), "guest@example.com", false))(t)
		squat()
		b := testenv.Must(w.Service.SignIn(t.Context(), &identity.Actor{},
			loci.Login{Email: "guest@example.com", Password: password}))(t)
		testenv.Must(callAs(t, w, b, service.AccountDelete, loci.DeleteAccount{Password: password}))(t)
		in := loci.Register{Email: "guest@example.com", Password: password, Invitation: tokenOf(t, made)}
		guest := testenv.Must(w.Service.Register(t.Context(), &identity.Actor{}, in))(t)
		testenv.Must(callAs(t, w, guest, service.InvitationRespond, answerTo(made.ID, true)))(t)
	})
}

func TestOwnerOfTeamIsNotDeleted(t *testing.T) {
	t.Parallel()
	Each(t, Options{}, func(t *testing.T, w *World) {
		b := signInAs(t, w, "walker@example.com", "correct horse", 1)[0]
		for _, name := range []loci.Name{"Orchard", "Harbour"} {
			testenv.Must(do(t, w, b, service.WorkspaceCreate, loci.CreateWorkspace{Name: name}))(t)
		}
		_, err := do(t, w, b, service.AccountDelete, loci.DeleteAccount{Password: "correct horse"})
		_, byOperator := w.Service.DeleteUser(t.Context(), "walker@example.com", false)
		for _, err := range []error{err, byOperator} {
			if Expect(t, "an owner", err, loci.CodeStateConflict); !strings.Contains(err.Error(), `"Orchard"`) ||
				!strings.Contains(err.Error(), `"Harbour"`) {
				t.Error(err)
			}
		}
		Expect(t, "the account", testenv.ErrorOf(do(t, w, b, service.AccountMe, loci.Empty{})), "")
		Expect(t, "an unknown address", testenv.ErrorOf(w.Service.DeleteUser(t.Context(), "nobody@example.com", false)),
			loci.CodeNotFound)
	})
}

// Deletions of accounts run beside calls on another server that give the same users sign-ins, keys and workspaces.
func TestDeletionBesideOtherCallsLeavesNoOrphan(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		w := New(t, d.Open, Options{})
		other := service.New(service.Options{Store: d.Open(t, store.Options{Clock: w.Clock.Now}), Clock: w.Clock.Now})
		deleted := 0
		for i := range 24 {
			email := loci.Email(fmt.Sprintf("walker%d@example.com", i))
			u := testenv.Must(w.Service.AddUser(t.Context(), email, "Walker", "correct horse"))(t)
			k := testenv.Must(w.Service.AddKey(t.Context(), email, ""))(t)
			p := &Person{User: u, KeyID: k.Key.ID}
			team := w.NewTeam(t, w.Ann)
			w.Join(t, team, w.Ann, p, loci.RoleMember)
			invitation := w.Invite(t, w.NewTeam(t, w.Ann), w.Ann, p, loci.RoleMember)
			actor := p.Actor
			calls := []func() error{
				func() error {
					_, err := w.Service.DeleteUser(t.Context(), email, false)
					return err
				},
				func() error {
					_, err := other.SignIn(t.Context(), &identity.Actor{}, loci.Login{Email: email,
						Password: "correct horse"})
					return err
				},
				func() error {
					_, err := other.RespondInvitation(t.Context(), actor(), loci.RespondInvitation{
						InvitationID: invitation, Accept: true, Confirm: true})
					return err
				},
				func() error {
					_, err := other.CreateMemory(t.Context(), actor(), loci.CreateMemory{Content: "a last thought"})
					return err
				},
				func() error {
					_, err := other.CreateKey(t.Context(), actor(), loci.CreateKey{})
					return err
				},
			}
			switch i % 3 {
			case 0:
				calls = append(calls, func() error {
					_, err := other.TransferWorkspace(t.Context(), w.Ann.Actor(),
						loci.TransferWorkspace{WorkspaceID: team, UserID: u.ID})
					return err
				})
			case 1:
				calls = append(calls, func() error {
					_, err := other.CreateWorkspace(t.Context(), actor(), loci.CreateWorkspace{Name: "Late"})
					return err
				})
			}
			errs := storetest.RunConcurrently(len(calls), func(n int) error { return calls[n]() })
			if errs[0] == nil {
				deleted++
			} else {
				Expect(t, "a deletion beside a new team", errs[0], loci.CodeStateConflict)
			}
			for n, err := range errs[1:] {
				if err != nil && !loci.Is(err, loci.CodeNotFound) && !loci.Is(err, loci.CodeInvalidKey) &&
					!loci.Is(err, loci.CodeRevoked) {
					t.Errorf("round %d, call %d: %v", i, n+1, err)
				}
			}
			if errs[0] == nil && signIn(t, w, "", email, "correct horse") == nil {
				t.Error("a deleted user signs in")
			}
		}
		for _, q := range []string{
			`SELECT w.id FROM workspaces w WHERE w.name <> '' AND (SELECT count(*) FROM members m
				WHERE m.workspace = w.row_id AND m.role = 'owner') <> 1`,
			`SELECT m.user_id FROM members m LEFT JOIN users u ON u.id = m.user_id WHERE u.id IS NULL`,
			`SELECT w.id FROM workspaces w WHERE w.name = '' AND w.personal_of IS NOT NULL`,
		} {
			testenv.Len(t, d.Query(t, q), 0, q)
		}
		if deleted < 8 {
			t.Errorf("%d users were deleted", deleted)
		}
		w.Erase(t)
		storetest.CheckHealthy(t, w.Store)
	})
}
