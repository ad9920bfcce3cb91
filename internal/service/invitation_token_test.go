package service_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	. "github.com/loci-memory/loci/internal/conformance"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
)

// callAs calls an operation with the cookie of a sign-in.
func callAs[In, Out any](t *testing.T, w *World, s loci.SignedIn, o op.TypedOp[In, Out], in In) (Out, error) {
	t.Helper()
	return op.Do(t.Context(), w.Host, &op.Call{Credential: s.Cookie().Secret,
		CredentialKind: identity.CredentialCookie}, o,
		in)
}

// registered registers an account on an open server.
func registered(t *testing.T, w *World, e loci.Email) loci.SignedIn {
	t.Helper()
	return testenv.Must(w.Service.Register(t.Context(), &identity.Actor{},
		loci.Register{Email: e, Password: password}))(t)
}

func tokenHashes(t *testing.T, d storetest.Database) []string {
	t.Helper()
	return d.Query(t, `SELECT invitation FROM tokens WHERE invitation IS NOT NULL`)
}

func TestInvitationIsHiddenFromUnverifiedAddress(t *testing.T) {
	t.Parallel()
	EachWithDB(t, func(t *testing.T, w *World, d storetest.Database) {
		squatter := registered(t, w, "CEO@corp.example")
		both := invite(w, "ceo@corp.example", "other@corp.example")
		made := MustCall(t, w, CallerOwner, service.InvitationCreate, both).Invitations
		pending := func() int {
			out := testenv.Must(callAs(t, w, squatter, service.InvitationPending, loci.ListPendingInvitations{}))(t)
			return len(out.Invitations)
		}
		testenv.Equal(t, pending(), 0, "an unverified address sees an invitation")
		answer := func(token loci.InvitationToken) error {
			in := answerTo(made[0].ID, true)
			in.Token = token
			_, err := callAs(t, w, squatter, service.InvitationRespond, in)
			return err
		}
		for _, wrong := range []loci.InvitationToken{"", "guess", tokenOf(t, made[1])} {
			Expect(t, fmt.Sprint("with the token ", wrong), answer(wrong), loci.CodeNotFound)
		}
		if me, _ := callAs(t, w, squatter, service.AccountMe, loci.Empty{}); me.User.EmailVerified {
			t.Error("a wrong token verifies")
		}
		testenv.NoError(t, answer(tokenOf(t, made[0])))
		me, _ := callAs(t, w, squatter, service.AccountMe, loci.Empty{})
		if u := me.User; !u.EmailVerified || u.UpdatedAt == u.CreatedAt {
			t.Errorf("after the token: %+v", u)
		}
		got, err := callAs(t, w, squatter, service.WorkspaceGet, loci.GetWorkspace{WorkspaceID: w.Team})
		if err != nil || got.Workspace.Role != loci.RoleMember {
			t.Errorf("%+v, %v", got, err)
		}
		Expect(t, "a second answer", answer(tokenOf(t, made[0])), loci.CodeStateConflict)
		testenv.EqualSlices(t, tokenHashes(t, d), []string{string(made[1].ID)}, "tokens that live")
		// The address is verified now: the next invitation needs no token.
		w.Invite(t, w.NewTeam(t, w.Fay), w.Fay, &Person{User: squatter.User}, loci.RoleMember)
		testenv.Equal(t, pending(), 1, "a verified address sees no invitation")
	})
}

func TestInvitationTokenEndsWithItsInvitation(t *testing.T) {
	t.Parallel()
	w := New(t, OpenSQLite, Options{})
	guest := registered(t, w, "guest@example.com")
	respond := func(i loci.NewInvitation, accept bool) error {
		in := answerTo(i.ID, accept)
		in.Token = tokenOf(t, i)
		_, err := callAs(t, w, guest, service.InvitationRespond, in)
		return err
	}
	old := MustCall(t, w, CallerOwner, service.InvitationCreate, invite(w, "guest@example.com")).Invitations[0]
	w.Clock.Advance(7 * 24 * time.Hour)
	Expect(t, "the token of an expired invitation", respond(old, true), loci.CodeNotFound)
	fresh := MustCall(t, w, CallerOwner, service.InvitationCreate, invite(w, "guest@example.com")).Invitations[0]
	Expect(t, "to decline", respond(fresh, false), "")
	again := loci.Register{Email: "guest@example.com", Password: password, Invitation: tokenOf(t, fresh)}
	MustFail(t, w, CallerNobody, service.AuthRegister, again, loci.CodeNotFound)
}

func TestRegistrationAcceptsInvitation(t *testing.T) {
	t.Parallel()
	Each(t, Options{Registration: service.RegistrationInvited}, func(t *testing.T, w *World) {
		both := invite(w, "Guest@example.com", "other@example.com")
		made := MustCall(t, w, CallerOwner, service.InvitationCreate, both).Invitations
		in := loci.Register{Email: "guest@example.com", Password: password}
		MustFail(t, w, CallerNobody, service.AuthRegister, in, loci.CodeForbidden)
		withRef := in
		withRef.Ref = "a-friend"
		MustFail(t, w, CallerNobody, service.AuthRegister, withRef, loci.CodeForbidden)
		for _, wrong := range []loci.InvitationToken{"guess", tokenOf(t, made[1])} {
			in.Invitation = wrong
			MustFail(t, w, CallerNobody, service.AuthRegister, in, loci.CodeNotFound)
		}
		in.Invitation = tokenOf(t, made[0])
		guest := testenv.Must(w.Service.Register(t.Context(), &identity.Actor{}, in))(t)
		if !guest.User.EmailVerified || guest.User.Email != "guest@example.com" {
			t.Errorf("%+v", guest.User)
		}
		MustFail(t, w, CallerNobody, service.AuthRegister, in, loci.CodeConflict)
		Expect(t, "registration answers the invitation", testenv.ErrorOf(callAs(t, w, guest, service.WorkspaceGet,
			loci.GetWorkspace{WorkspaceID: w.Team})), loci.CodeNotFound)
		waiting, err := callAs(t, w, guest, service.InvitationPending, loci.ListPendingInvitations{})
		if err != nil || len(waiting.Invitations) != 1 || waiting.Invitations[0].ID != made[0].ID {
			t.Fatalf("%+v, %v", waiting, err)
		}
		testenv.Must(callAs(t, w, guest, service.InvitationRespond, answerTo(made[0].ID, true)))(t)
	})
}

func TestClosedRegistrationRejectsInvitation(t *testing.T) {
	t.Parallel()
	w := New(t, OpenSQLite, Options{Registration: service.RegistrationClosed})
	made := MustCall(t, w, CallerOwner, service.InvitationCreate, invite(w, "guest@example.com")).Invitations[0]
	in := loci.Register{Email: "guest@example.com", Password: password, Invitation: tokenOf(t, made)}
	MustFail(t, w, CallerNobody, service.AuthRegister, in, loci.CodeForbidden)
}

func TestOperatorVerifiesAddresses(t *testing.T) {
	t.Parallel()
	w := NewEmpty(t, OpenSQLite, Options{})
	first := MustCall(t, w, CallerNobody, service.AuthSetup, setUp(w.Service.NewSetupToken()))
	made := testenv.Must(w.Service.AddUser(t.Context(), "made@example.com", "", ""))(t)
	if !first.User.EmailVerified || !made.EmailVerified {
		t.Errorf("%+v, %+v", first.User, made)
	}
	if stranger := registered(t, w, "stranger@example.com"); stranger.User.EmailVerified {
		t.Errorf("%+v", stranger.User)
	}
}

// A stored response holds the links: it is returned for one credential only.
func TestRepeatedInvitationShowsItsLinkToOneCredential(t *testing.T) {
	t.Parallel()
	w := New(t, OpenSQLite, Options{})
	in := invite(w, "guest@example.com")
	first, _, err := CallWithKey(t, w, CallerOwner, "invite", service.InvitationCreate, in)
	if err != nil {
		t.Fatal(err)
	}
	second, replayed, err := CallWithKey(t, w, CallerOwner, "invite", service.InvitationCreate, in)
	if err != nil || !replayed || tokenOf(t, second.Invitations[0]) != tokenOf(t, first.Invitations[0]) {
		t.Errorf("replayed %v, %v, %+v", replayed, err, second)
	}
	other, replayed, err := CallWithKey(t, w, CallerAdmin, "invite", service.InvitationCreate, in)
	if err != nil || replayed || len(other.Invitations) != 0 || len(other.Skipped) != 1 {
		t.Errorf("another admin: replayed %v, %v, %+v", replayed, err, other)
	}
	if _, _, err := CallWithKey(t, w, CallerMember, "invite", service.InvitationCreate, in); !loci.Is(err,
		loci.CodeForbidden) {
		t.Errorf("a member: %v", err)
	}
}

func TestInvitationPageNeedsTokenOrVerifiedAddress(t *testing.T) {
	t.Parallel()
	EachWithDB(t, func(t *testing.T, w *World, d storetest.Database) {
		made := MustCall(t, w, CallerOwner, service.InvitationCreate,
			invite(w, "ceo@corp.example", loci.Email(w.Eve.Email))).Invitations
		squatter := registered(t, w, "CEO@corp.example")
		for _, c := range []struct {
			name, user string
			invitation int
			token      loci.InvitationToken
			sees       bool
		}{
			{"the holder of the token", "", 0, tokenOf(t, made[0]), true},
			{"anybody", "", 0, "", false},
			{"a guess", "", 0, "guess", false},
			{"the token of another invitation", "", 0, tokenOf(t, made[1]), false},
			{"an address that is not verified", string(squatter.User.ID), 0, "", false},
			{"another user", string(w.Eve.ID), 0, "", false},
			{"a verified address", string(w.Eve.ID), 1, "", true},
		} {
			i, inviter, err := w.Service.ViewInvitation(t.Context(), loci.ID(c.user), made[c.invitation].ID, c.token)
			if seen := err == nil; seen != c.sees || !seen && !loci.Is(err, loci.CodeNotFound) || seen &&
				(i.ID != made[c.invitation].ID || i.Status != loci.InvitationPending || i.WorkspaceName != "Crew" ||
					inviter != "ann") {
				t.Errorf("%s: %+v %q %v", c.name, i, inviter, err)
			}
		}
		for _, id := range []loci.ID{"", "x", "\x00"} {
			_, _, err := w.Service.ViewInvitation(t.Context(), w.Eve.ID, id, tokenOf(t, made[0]))
			Expect(t, fmt.Sprintf("the id %q", id), err, loci.CodeNotFound)
		}
		w.Clock.Advance(8 * 24 * time.Hour)
		if i, _, err := w.Service.ViewInvitation(t.Context(), "", made[0].ID, tokenOf(t, made[0])); err != nil ||
			i.Status != loci.InvitationExpired {
			t.Errorf("expired: %+v %v", i, err)
		}
	})
}
