package service_test

import (
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	. "github.com/loci-memory/loci/internal/conformance"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/testenv"
)

func invite(w *World, emails ...loci.Email) loci.CreateInvitations {
	return loci.CreateInvitations{WorkspaceID: w.Team, Emails: emails}
}

// tokenOf returns the token of an invitation's link.
func tokenOf(t *testing.T, i loci.NewInvitation) loci.InvitationToken {
	t.Helper()
	token, ok := strings.CutPrefix(i.InviteURL, "http://localhost/invite?id="+string(i.ID)+"&token=")
	if !ok {
		t.Fatalf("the link is %q", i.InviteURL)
	}
	return loci.InvitationToken(token)
}

func answerTo(id loci.ID, accept bool) loci.RespondInvitation {
	return loci.RespondInvitation{InvitationID: id, Accept: accept, Confirm: true}
}

func TestInviteSkipsMembersAndDuplicates(t *testing.T) {
	t.Parallel()
	Each(t, Options{}, func(t *testing.T, w *World) {
		out := MustCall(t, w, CallerAdmin, service.InvitationCreate,
			invite(w, "new@example.com", "NEW@example.com", "CID@Example.com", "Eve@Example.com"))
		if len(out.Invitations) != 2 || out.Invitations[0].Email != "new@example.com" ||
			out.Invitations[1].Email != "Eve@Example.com" {
			t.Errorf("invited: %+v", out.Invitations)
		}
		if len(out.Skipped) != 2 || out.Skipped[0] != (loci.SkippedInvitation{Email: "NEW@example.com",
			Reason: loci.SkipAlreadyInvited}) ||
			out.Skipped[1] != (loci.SkippedInvitation{Email: "CID@Example.com", Reason: loci.SkipAlreadyMember}) {
			t.Errorf("skipped: %+v", out.Skipped)
		}
		for _, i := range out.Invitations {
			if i.Status != loci.InvitationPending || i.Role != loci.RoleMember || i.InvitedBy != w.Bob.ID ||
				len(tokenOf(t, i)) != 43 {
				t.Errorf("%+v", i)
			}
		}
		before := len(MustCall(t, w, CallerOwner, service.InvitationList,
			loci.ListInvitations{WorkspaceID: w.Team}).Invitations)
		err := MustFail(t, w, CallerOwner, service.InvitationCreate, invite(w, "good@example.com", "not an address"),
			loci.CodeInvalidQuery)
		testenv.Contains(t, err.Error(), "emails[1] must")
		testenv.Len(t,
			MustCall(t, w, CallerOwner, service.InvitationList, loci.ListInvitations{WorkspaceID: w.Team}).Invitations,
			before, "one malformed address does not refuse them all")
	})
}

func TestInvitationIsAnsweredOnce(t *testing.T) {
	t.Parallel()
	Each(t, Options{}, func(t *testing.T, w *World) {
		id := MustCall(t, w, CallerOwner, service.InvitationCreate,
			invite(w, loci.Email(w.Eve.Email))).Invitations[0].ID
		MustFail(t, w, CallerMember, service.InvitationRespond, answerTo(id, true), loci.CodeNotFound)
		pending := MustCall(t, w, CallerStranger, service.InvitationPending, loci.ListPendingInvitations{}).Invitations
		if len(pending) != 1 || pending[0].ID != id || pending[0].WorkspaceName != "Crew" {
			t.Errorf("pending: %+v", pending)
		}
		MustFail(t, w, CallerStranger, service.WorkspaceGet, loci.GetWorkspace{WorkspaceID: w.Team}, loci.CodeNotFound)
		testenv.Equal(t, MustCall(t, w, CallerStranger, service.InvitationRespond,
			answerTo(id, true)).Invitation.Status, loci.InvitationAccepted)
		if got := MustCall(t, w, CallerStranger, service.WorkspaceGet,
			loci.GetWorkspace{WorkspaceID: w.Team}).Workspace; got.Role != loci.RoleMember || got.MemberCount != 4 {
			t.Errorf("%+v", got)
		}
		for _, accept := range []bool{true, false} {
			MustFail(t, w, CallerStranger, service.InvitationRespond, answerTo(id, accept), loci.CodeStateConflict)
		}
		testenv.Len(t, MustCall(t, w, CallerStranger, service.InvitationPending,
			loci.ListPendingInvitations{}).Invitations, 0, "still pending")
	})
}

func TestInvitationsExpire(t *testing.T) {
	t.Parallel()
	Each(t, Options{}, func(t *testing.T, w *World) {
		usual := MustCall(t, w, CallerOwner, service.InvitationCreate,
			invite(w, loci.Email(w.Eve.Email))).Invitations[0]
		testenv.Equal(t, time.Duration(usual.ExpiresAt-usual.CreatedAt)*time.Microsecond, 7*24*time.Hour, "lives")
		short := invite(w, "short@example.com")
		short.ExpiresInDays = 1
		MustCall(t, w, CallerOwner, service.InvitationCreate, short)
		w.Clock.Advance(7*24*time.Hour - time.Minute)
		again := MustCall(t, w, CallerOwner, service.InvitationCreate,
			invite(w, "short@example.com", loci.Email(w.Eve.Email)))
		if len(again.Invitations) != 1 || len(again.Skipped) != 1 ||
			again.Skipped[0].Reason != loci.SkipAlreadyInvited {
			t.Errorf("after one of them has expired: %+v", again)
		}
		w.Clock.Advance(time.Minute)
		MustFail(t, w, CallerStranger, service.InvitationRespond, answerTo(usual.ID, true), loci.CodeStateConflict)
		testenv.Len(t, MustCall(t, w, CallerStranger, service.InvitationPending,
			loci.ListPendingInvitations{}).Invitations, 0, "pending")
		states := map[loci.InvitationStatus]int{}
		for _, i := range MustCall(t, w, CallerAdmin, service.InvitationList,
			loci.ListInvitations{WorkspaceID: w.Team}).Invitations {
			states[i.Status]++
		}
		if states[loci.InvitationExpired] != 2 || states[loci.InvitationPending] != 1 ||
			states[loci.InvitationAccepted] != 2 {
			t.Errorf("%v", states)
		}
		testenv.Len(t, MustCall(t, w, CallerOwner, service.InvitationCreate,
			invite(w, loci.Email(w.Eve.Email))).Invitations, 1, "after expiry")
	})
}

func TestPersonalWorkspaceRejectsInvitations(t *testing.T) {
	t.Parallel()
	w := New(t, OpenSQLite, Options{})
	for _, x := range MustCall(t, w, CallerStranger, service.WorkspaceList, loci.ListWorkspaces{}).Workspaces {
		in := loci.CreateInvitations{WorkspaceID: x.ID, Emails: loci.Emails{"new@example.com"}}
		MustFail(t, w, CallerStranger, service.InvitationCreate, in, loci.CodeStateConflict)
	}
}
