package rest

import (
	"cmp"
	"net/http"
	"net/url"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/op"
)

// An invitationData has the contents of an invitation's page.
type invitationData struct {
	ID, Token string // of the link
	SignIn    string // path of the sign-in that returns to the page

	Open            bool   // it is pending, and the visitor may see it
	Closed          string // the reason why it is not open
	Workspace       string
	Inviter         string
	Email           string
	Admin           bool
	Until           string
	SignedInAsOther bool // another user is signed in
}

// An answered invitation is shown on the start page.
type answered struct {
	Workspace string
	Accepted  bool
}

// closedTitles are the titles of invitations that are not pending.
var closedTitles = map[loci.InvitationStatus]string{
	loci.InvitationAccepted: "This invitation was accepted",
	loci.InvitationDeclined: "This invitation was declined",
	loci.InvitationRevoked:  "This invitation was withdrawn",
	loci.InvitationExpired:  "This invitation has expired",
}

func (d *handler) invitePage(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	_, user, err := d.pageCall(w, r)
	if err != nil {
		d.renderPage(w, r, "problem.html", d.newPageData(r, user), err)
		return
	}
	d.renderInvitation(w, r, user, q, nil)
}

// inviteForm registers an account with the token of an invitation, or accepts or declines the invitation.
func (d *handler) inviteForm(w http.ResponseWriter, r *http.Request) {
	f, c, user, err := d.submitted(w, r)
	switch answer := f.Get("answer"); {
	case err != nil:
		d.renderPage(w, r, "problem.html", d.newPageData(r, user), err)
	case answer == "register" && user.ID == "":
		d.registerInvited(w, r, c, f)
	case user.ID == "" || answer != "accept" && answer != "decline":
		redirect(w, r, invitePath(f))
	default:
		d.answerInvitation(w, r, c, user, f)
	}
}

// registerInvited makes an account for the invited address, and returns to the invitation.
func (d *handler) registerInvited(w http.ResponseWriter, r *http.Request, c *op.Call, f url.Values) {
	token := loci.InvitationToken(f.Get("token"))
	i, _, err := d.Pages.ViewInvitation(r.Context(), "", loci.ID(f.Get("id")), token)
	if err == nil {
		var out any
		out, err = d.runOp(r, c, "auth.register",
			loci.Register{Email: loci.Email(i.Email), Name: loci.Name(f.Get("name")),
				Password: loci.Password(f.Get("password")), Invitation: token})
		if err == nil {
			d.startSession(w, r, c, out)
			redirect(w, r, invitePath(f))
			return
		}
	}
	d.renderInvitation(w, r, loci.User{}, f, err)
}

func (d *handler) answerInvitation(w http.ResponseWriter, r *http.Request, c *op.Call, user loci.User, f url.Values) {
	accept := f.Get("answer") == "accept"
	out, err := d.runOp(r, c, "invitation.respond",
		loci.RespondInvitation{InvitationID: loci.ID(f.Get("id")), Accept: accept, Confirm: true,
			Token: loci.InvitationToken(f.Get("token"))})
	if err != nil {
		d.renderInvitation(w, r, user, f, err)
		return
	}
	v := d.newPageData(r, user)
	v.Answered = &answered{Workspace: out.(loci.OneInvitation).Invitation.WorkspaceName, Accepted: accept}
	d.renderPage(w, r, "home.html", v, nil)
}

// renderInvitation shows the invitation of a link. A visitor without its token and without its verified address learns
// nothing about it. err is the error of a form.
func (d *handler) renderInvitation(w http.ResponseWriter, r *http.Request, user loci.User, link url.Values, err error) {
	v := d.newPageData(r, user)
	v.Name, v.Next = link.Get("name"), invitePath(link)
	v.Invite = invitationData{ID: link.Get("id"), Token: link.Get("token"),
		SignIn: "/signin?" + url.Values{"next": {v.Next}}.Encode()}
	i, inviter, viewErr := d.Pages.ViewInvitation(r.Context(), user.ID, loci.ID(v.Invite.ID),
		loci.InvitationToken(v.Invite.Token))
	switch {
	case loci.Is(viewErr, loci.CodeNotFound):
		v.Invite.Closed = "This link has no invitation"
		err = loci.Errorf(loci.CodeNotFound,
			"The link is not complete, or its invitation was answered or withdrawn: ask for a new one.")
	case viewErr != nil:
		d.renderPage(w, r, "problem.html", v, viewErr)
		return
	case i.Status != loci.InvitationPending:
		v.Invite.Closed = cmp.Or(closedTitles[i.Status], "This invitation is closed")
		if _, err = loci.InvitationStates.Apply(i.Status, "accepted"); i.Status == loci.InvitationAccepted {
			// Its token is void: only the person who accepted it sees it.
			err = loci.Errorf(loci.CodeStateConflict, "You are a member of its workspace already.")
		}
	default:
		v.Email = i.Email
		v.Invite.Open, v.Invite.Workspace, v.Invite.Email, v.Invite.Admin = true, i.WorkspaceName, i.Email,
			i.Role == loci.RoleAdmin
		v.Invite.Inviter, v.Invite.Until = cmp.Or(inviter, "Somebody"), i.ExpiresAt.Std().UTC().Format("2 January 2006")
		v.Invite.SignIn += "&" + url.Values{"email": {i.Email}}.Encode()
		v.Invite.SignedInAsOther = user.ID != "" && loci.Email(user.Email).Fold() != loci.Email(i.Email).Fold()
	}
	d.renderPage(w, r, "invite.html", v, err)
}

// invitePath returns the path of an invitation's page.
func invitePath(link url.Values) string {
	return "/invite?" + url.Values{"id": {link.Get("id")}, "token": {link.Get("token")}}.Encode()
}
