package rest

import (
	"cmp"
	"net/http"
	"net/url"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/op"
)

// An invitation is what the page of an invitation's link shows.
type invitation struct {
	ID, Token string // of the link
	SignIn    string // path of the sign-in that leads back to the page

	Open      bool   // it waits for an answer, and the visitor may see it
	Closed    string // why it does not
	Workspace string
	Inviter   string
	Email     string
	Admin     bool
	Until     string
	Stranger  bool // somebody else is signed in
}

// An answered invitation is what the start page says of it.
type answered struct {
	Workspace string
	Accepted  bool
}

// closed are titles for invitations that wait for no answer.
var closed = map[loci.InvitationStatus]string{
	loci.Accepted: "This invitation was accepted",
	loci.Declined: "This invitation was declined",
	loci.Withdrew: "This invitation was withdrawn",
	loci.Expired:  "This invitation has expired",
}

func (d *door) invitePage(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	_, who, err := d.visitor(w, r)
	if err != nil {
		d.show(w, "problem.html", d.view(r, who), err)
		return
	}
	d.showInvitation(w, r, who, q, nil)
}

// inviteForm registers an account with the token of an invitation, or answers the
// invitation.
func (d *door) inviteForm(w http.ResponseWriter, r *http.Request) {
	f, c, who, err := d.submitted(w, r)
	switch answer := f.Get("answer"); {
	case err != nil:
		d.show(w, "problem.html", d.view(r, who), err)
	case answer == "register" && who.ID == "":
		d.registerInvited(w, r, c, f)
	case who.ID == "" || answer != "accept" && answer != "decline":
		forward(w, r, invitePath(f))
	default:
		d.answerInvitation(w, r, c, who, f)
	}
}

// registerInvited makes an account for the invited address, and leads back to the
// invitation.
func (d *door) registerInvited(w http.ResponseWriter, r *http.Request, c *op.Call, f url.Values) {
	token := loci.InvitationToken(f.Get("token"))
	i, _, err := d.Pages.ViewInvitation(r.Context(), "", f.Get("id"), token)
	if err == nil {
		var out any
		out, err = d.perform(r, c, "auth.register",
			loci.Register{Email: loci.Email(i.Email), Name: loci.Name(f.Get("name")),
				Password: loci.Password(f.Get("password")), Invitation: token})
		if err == nil {
			d.signIn(w, r, c, out)
			forward(w, r, invitePath(f))
			return
		}
	}
	d.showInvitation(w, r, loci.User{}, f, err)
}

func (d *door) answerInvitation(w http.ResponseWriter, r *http.Request, c *op.Call, who loci.User, f url.Values) {
	accept := f.Get("answer") == "accept"
	out, err := d.perform(r, c, "invitation.respond",
		loci.RespondInvitation{InvitationID: f.Get("id"), Accept: accept, Confirm: true,
			Token: loci.InvitationToken(f.Get("token"))})
	if err != nil {
		d.showInvitation(w, r, who, f, err)
		return
	}
	v := d.view(r, who)
	v.Answered = &answered{Workspace: out.(loci.OneInvitation).Invitation.WorkspaceName, Accepted: accept}
	d.show(w, "home.html", v, nil)
}

// showInvitation shows the invitation of a link. A visitor who neither has its token
// nor its verified address learns nothing of it. err is what went wrong with a form.
func (d *door) showInvitation(w http.ResponseWriter, r *http.Request, who loci.User, link url.Values, err error) {
	v := d.view(r, who)
	v.Name, v.Next = link.Get("name"), invitePath(link)
	v.Invite = invitation{ID: link.Get("id"), Token: link.Get("token"),
		SignIn: "/signin?" + url.Values{"next": {v.Next}}.Encode()}
	i, inviter, hidden := d.Pages.ViewInvitation(r.Context(), who.ID, v.Invite.ID, loci.InvitationToken(v.Invite.Token))
	switch {
	case loci.Is(hidden, loci.NotFound):
		v.Invite.Closed = "There is no invitation here"
		err = loci.Fail(loci.NotFound,
			"The link is not complete, or its invitation was answered or withdrawn: ask for a new one.")
	case hidden != nil:
		d.show(w, "problem.html", v, hidden)
		return
	case i.Status != loci.Pending:
		v.Invite.Closed = cmp.Or(closed[i.Status], "This invitation is closed")
		err = loci.Fail(loci.StateConflict,
			"It cannot be answered any more. If you need one, ask for a new invitation.")
	default:
		v.Email = i.Email
		v.Invite.Open, v.Invite.Workspace, v.Invite.Email, v.Invite.Admin = true, i.WorkspaceName, i.Email,
			i.Role == loci.Admin
		v.Invite.Inviter, v.Invite.Until = cmp.Or(inviter, "Somebody"), i.ExpiresAt.Std().UTC().Format("2 January 2006")
		v.Invite.SignIn += "&" + url.Values{"email": {i.Email}}.Encode()
		v.Invite.Stranger = who.ID != "" && loci.Email(who.Email).Fold() != loci.Email(i.Email).Fold()
	}
	d.show(w, "invite.html", v, err)
}

// invitePath returns the path of an invitation's page.
func invitePath(link url.Values) string {
	return "/invite?" + url.Values{"id": {link.Get("id")}, "token": {link.Get("token")}}.Encode()
}
