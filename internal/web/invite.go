package web

import (
	"cmp"
	"net/url"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/op"
)

// An invitation has the contents of its page.
type invitation struct {
	Workspace, Inviter, Email, Until string
	Admin                            bool
	SignIn, Register                 string // paths of the pages that return to this one; Register only if allowed
	SignedInAsOther                  bool   // another user is signed in
}

// A pending invitation waits for the answer of the user, as the start page shows it.
type pending struct{ Workspace, Until, Path string }

// readPending reads the invitations to the user. Without them the start page is shown too.
func (v *Visit) readPending() {
	out, err := v.run("invitation.pending", v.call, op.Args{Params: []op.Param{{Name: "limit", Value: "100"}}})
	if err != nil {
		return
	}
	for _, i := range out.(loci.Invitations).Invitations {
		v.Invitations = append(v.Invitations, pending{Workspace: i.WorkspaceName, Until: day(i.ExpiresAt),
			Path: withQuery("/invite", url.Values{"id": {string(i.ID)}})})
	}
}

func day(t loci.Time) string { return t.Std().UTC().Format("2 January 2006") }

// closedTitles are the titles of invitations that are not pending.
var closedTitles = map[loci.InvitationStatus]string{
	loci.InvitationAccepted: "This invitation was accepted",
	loci.InvitationDeclined: "This invitation was declined",
	loci.InvitationRevoked:  "This invitation was withdrawn",
	loci.InvitationExpired:  "This invitation has expired",
}

// readInvitation shows the invitation of a link. A visitor without its token and without its verified address learns
// nothing about it.
func readInvitation(v *Visit) error {
	v.Next = v.self()
	err := v.viewInvitation(loci.InvitationToken(v.Values["token"]))
	if err != nil && loci.AsError(err).Code.Status() >= 500 {
		v.template = "problem"
	}
	return err
}

// viewInvitation reads the invitation with the id of the link. An invitation that is not pending is an error.
func (v *Visit) viewInvitation(token loci.InvitationToken) error {
	id := v.Values["id"]
	v.Closed = true
	v.Invite = &invitation{SignIn: withQuery("/signin", url.Values{nextField: {v.Next}})}
	i, inviter, err := v.h.Service.ViewInvitation(v.r.Context(), v.User.ID, loci.ID(id), token)
	switch {
	case loci.Is(err, loci.CodeNotFound):
		v.Title = "This link has no invitation"
		return loci.Errorf(loci.CodeNotFound,
			"The link is not complete, or its invitation was answered or withdrawn: ask for a new one.")
	case err != nil:
		return err
	case i.Status == loci.InvitationAccepted: // its token is void: only the person who accepted it sees it
		v.Title = closedTitles[i.Status]
		return loci.Errorf(loci.CodeStateConflict, "You are a member of its workspace already.")
	case i.Status != loci.InvitationPending:
		v.Title = cmp.Or(closedTitles[i.Status], "This invitation is closed")
		_, err := loci.InvitationStates.Apply(i.Status, "accepted")
		return err
	}
	v.Closed = false
	v.Invite = &invitation{
		Workspace: i.WorkspaceName, Inviter: cmp.Or(inviter, "Somebody"), Email: i.Email,
		Until: day(i.ExpiresAt), Admin: i.Role == loci.RoleAdmin,
		SignIn:          withQuery("/signin", url.Values{nextField: {v.Next}, "email": {i.Email}}),
		SignedInAsOther: v.User.ID != "" && loci.Email(v.User.Email).Fold() != loci.Email(i.Email).Fold(),
	}
	if v.mayRegister(token) {
		v.Invite.Register = withQuery("/register", url.Values{"id": {id}, "invitation": {string(token)}})
	}
	return nil
}

// showAnswer shows the answered invitation on the start page.
func showAnswer(v *Visit, out any) error {
	i := out.(loci.OneInvitation).Invitation
	v.template, v.Title, v.Answered = "home", "Loci", &i
	v.User.EmailVerified = true // by the response
	return readStart(v)
}
