package service_test

import (
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/proof"
	"github.com/loci-memory/loci/internal/service"
)

func invite(w *proof.World, emails ...loci.Email) loci.CreateInvitations {
	return loci.CreateInvitations{WorkspaceID: w.Crew, Emails: emails}
}

// tokenOf returns the token of an invitation's link.
func tokenOf(t *testing.T, i loci.NewInvitation) loci.InvitationToken {
	t.Helper()
	token, ok := strings.CutPrefix(i.InviteURL, "http://localhost/invite?id="+i.ID+"&token=")
	if !ok {
		t.Fatalf("the link is %q", i.InviteURL)
	}
	return loci.InvitationToken(token)
}

func answerTo(id string, accept bool) loci.RespondInvitation {
	return loci.RespondInvitation{InvitationID: id, Accept: accept, Confirm: true}
}

func TestWhoNeedsNoInvitationIsSkipped(t *testing.T) {
	t.Parallel()
	each(t, proof.Options{}, func(t *testing.T, w *proof.World) {
		out := do(t, w, proof.Admin, service.InvitationCreate, invite(w, "new@example.com", "NEW@example.com", "CID@Example.com", "Eve@Example.com"))
		if len(out.Invitations) != 2 || out.Invitations[0].Email != "new@example.com" || out.Invitations[1].Email != "Eve@Example.com" {
			t.Errorf("invited: %+v", out.Invitations)
		}
		if len(out.Skipped) != 2 || out.Skipped[0] != (loci.SkippedInvitation{Email: "NEW@example.com", Reason: loci.AlreadyInvited}) ||
			out.Skipped[1] != (loci.SkippedInvitation{Email: "CID@Example.com", Reason: loci.AlreadyMember}) {
			t.Errorf("skipped: %+v", out.Skipped)
		}
		for _, i := range out.Invitations {
			if i.Status != loci.Pending || i.Role != loci.Member || i.InvitedBy != w.Bob.ID ||
				len(tokenOf(t, i)) != 43 {
				t.Errorf("%+v", i)
			}
		}
		before := len(do(t, w, proof.Owner, service.InvitationList, loci.ListInvitations{WorkspaceID: w.Crew}).Invitations)
		refused(t, w, proof.Owner, service.InvitationCreate, invite(w, "good@example.com", "not an address"), loci.InvalidQuery)
		if after := len(do(t, w, proof.Owner, service.InvitationList, loci.ListInvitations{WorkspaceID: w.Crew}).Invitations); after != before {
			t.Error("one malformed address does not refuse them all")
		}
	})
}

func TestAnInvitationIsAnsweredOnce(t *testing.T) {
	t.Parallel()
	each(t, proof.Options{}, func(t *testing.T, w *proof.World) {
		id := do(t, w, proof.Owner, service.InvitationCreate, invite(w, loci.Email(w.Eve.Email))).Invitations[0].ID
		refused(t, w, proof.Member, service.InvitationRespond, answerTo(id, true), loci.NotFound)
		pending := do(t, w, proof.Stranger, service.InvitationPending, loci.ListPendingInvitations{}).Invitations
		if len(pending) != 1 || pending[0].ID != id || pending[0].WorkspaceName != "Crew" {
			t.Errorf("pending: %+v", pending)
		}
		refused(t, w, proof.Stranger, service.WorkspaceGet, loci.GetWorkspace{WorkspaceID: w.Crew}, loci.NotFound)
		if i := do(t, w, proof.Stranger, service.InvitationRespond, answerTo(id, true)).Invitation; i.Status != loci.Accepted {
			t.Errorf("%+v", i)
		}
		if got := do(t, w, proof.Stranger, service.WorkspaceGet, loci.GetWorkspace{WorkspaceID: w.Crew}).Workspace; got.Role != loci.Member || got.MemberCount != 4 {
			t.Errorf("%+v", got)
		}
		for _, accept := range []bool{true, false} {
			refused(t, w, proof.Stranger, service.InvitationRespond, answerTo(id, accept), loci.StateConflict)
		}
		if left := do(t, w, proof.Stranger, service.InvitationPending, loci.ListPendingInvitations{}).Invitations; len(left) != 0 {
			t.Errorf("still pending: %+v", left)
		}
	})
}

func TestWhoDeclinedMayBeInvitedAgain(t *testing.T) {
	t.Parallel()
	w := world(t, proof.Options{})
	for range 2 {
		out := do(t, w, proof.Owner, service.InvitationCreate, invite(w, loci.Email(w.Eve.Email)))
		if len(out.Invitations) != 1 {
			t.Fatalf("%+v", out)
		}
		if i := do(t, w, proof.Stranger, service.InvitationRespond, answerTo(out.Invitations[0].ID, false)).Invitation; i.Status != loci.Declined {
			t.Errorf("%+v", i)
		}
		refused(t, w, proof.Stranger, service.WorkspaceGet, loci.GetWorkspace{WorkspaceID: w.Crew}, loci.NotFound)
	}
}

func TestInvitationsExpire(t *testing.T) {
	t.Parallel()
	each(t, proof.Options{}, func(t *testing.T, w *proof.World) {
		usual := do(t, w, proof.Owner, service.InvitationCreate, invite(w, loci.Email(w.Eve.Email))).Invitations[0]
		if d := time.Duration(usual.ExpiresAt-usual.CreatedAt) * time.Microsecond; d != 7*24*time.Hour {
			t.Errorf("lives %v", d)
		}
		short := invite(w, "short@example.com")
		short.ExpiresInDays = 1
		do(t, w, proof.Owner, service.InvitationCreate, short)
		w.Clock.Pass(7*24*time.Hour - time.Minute)
		again := do(t, w, proof.Owner, service.InvitationCreate, invite(w, "short@example.com", loci.Email(w.Eve.Email)))
		if len(again.Invitations) != 1 || len(again.Skipped) != 1 || again.Skipped[0].Reason != loci.AlreadyInvited {
			t.Errorf("after one of them has expired: %+v", again)
		}
		w.Clock.Pass(time.Minute)
		refused(t, w, proof.Stranger, service.InvitationRespond, answerTo(usual.ID, true), loci.StateConflict)
		if left := do(t, w, proof.Stranger, service.InvitationPending, loci.ListPendingInvitations{}).Invitations; len(left) != 0 {
			t.Errorf("pending: %+v", left)
		}
		states := map[loci.InvitationStatus]int{}
		for _, i := range do(t, w, proof.Admin, service.InvitationList, loci.ListInvitations{WorkspaceID: w.Crew}).Invitations {
			states[i.Status]++
		}
		if states[loci.Expired] != 2 || states[loci.Pending] != 1 || states[loci.Accepted] != 2 {
			t.Errorf("%v", states)
		}
		if out := do(t, w, proof.Owner, service.InvitationCreate, invite(w, loci.Email(w.Eve.Email))); len(out.Invitations) != 1 {
			t.Errorf("after expiry: %+v", out)
		}
	})
}

func TestOnlyTheOwnerInvitesAsAdmin(t *testing.T) {
	t.Parallel()
	w := world(t, proof.Options{})
	in := invite(w, loci.Email(w.Eve.Email))
	in.Role = "admin"
	refused(t, w, proof.Admin, service.InvitationCreate, in, loci.Forbidden)
	id := do(t, w, proof.Owner, service.InvitationCreate, in).Invitations[0].ID
	do(t, w, proof.Stranger, service.InvitationRespond, answerTo(id, true))
	if got := do(t, w, proof.Stranger, service.WorkspaceGet, loci.GetWorkspace{WorkspaceID: w.Crew}).Workspace.Role; got != loci.Admin {
		t.Errorf("joined as %s", got)
	}
}

func TestAPersonalWorkspaceTakesNobodyIn(t *testing.T) {
	t.Parallel()
	w := world(t, proof.Options{})
	for _, x := range do(t, w, proof.Stranger, service.WorkspaceList, loci.ListWorkspaces{}).Workspaces {
		in := loci.CreateInvitations{WorkspaceID: x.ID, Emails: loci.Emails{"new@example.com"}}
		refused(t, w, proof.Stranger, service.InvitationCreate, in, loci.StateConflict)
	}
}
