package web

import (
	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/httpapi"
)

// A page is one line of the table of pages: a route, a template, and the operation that its form runs.
type page struct {
	path     string
	template string
	title    string
	op       string // name of the operation that its form posts, or ""
	formOnly bool   // the path accepts the form alone: another page shows it

	summary string // for the document of the API, which lists the pages of links

	params      []string             // of its link: each is a field of the operation, or of the page alone
	fields      map[string]string    // names of the operation's fields for those of the link that differ
	errorFields map[loci.Code]string // the fields at which refusals are shown; others name their field themselves

	messages map[loci.Code]string // messages of refusals for people, in place of those for programs

	// read reads what the page shows.
	read func(*visit) error
	// submit handles a form that runs no operation.
	submit func(*visit) error
	// resubmit handles a form that was sent before, and reports whether it was.
	resubmit func(*visit) (bool, error)
	// done follows the operation. Without it the page says what comes next.
	done func(v *visit, out any) error
}

// pages is the table. A page is served where the server has its operation.
var pages = []page{
	{path: "/", template: "home", title: "Loci", read: readStart},
	{path: "/key", template: "home", title: "Loci", op: "key.create", formOnly: true, read: readStart,
		done: showKey},
	{path: "/resend", template: "home", title: "Loci", op: "account.verify", formOnly: true, read: readStart,
		done: showSent},
	{path: "/revoke", template: "home", title: "Loci", op: "grant.revoke", formOnly: true, read: readStart,
		messages: map[loci.Code]string{loci.CodeNotFound: "This program has no access any more."}, done: showEnded},
	{path: "/signout", template: "problem", title: "Sign out", op: "auth.logout", formOnly: true, done: redirectNext},

	{path: "/signin", template: "signin", title: "Sign in to Loci", op: "auth.login", params: []string{"email"},
		read: readSignIn, done: redirectNext},
	{path: "/register", template: "register", title: "Create an account", op: "auth.register",
		summary: "Show the form that creates an account.",
		params:  []string{"ref", "invitation", "id"}, errorFields: map[loci.Code]string{loci.CodeConflict: "email"},
		messages: map[loci.Code]string{loci.CodeForbidden: "This server does not create accounts for everybody."},
		read:     readRegister, done: afterRegistration},
	{path: "/setup", template: "setup", title: "Set up Loci", op: "auth.setup",
		summary: "Show the form that creates the first user.",
		params:  []string{"token"}, read: readSetup, resubmit: setUpAgain, done: showFirstKey},

	{path: "/verify", template: "verify", title: "Confirm your address", op: "auth.verify",
		summary: "Show the form that confirms an address. It changes nothing.",
		params:  []string{"token"}, read: checkVerifyLink},
	{path: "/forgot", template: "forgot", title: "Forgot your password?", op: "auth.forgot",
		params: []string{"email"}, read: requireMail},
	{path: "/reset", template: "reset", title: "Choose a new password", op: "auth.reset",
		summary: "Show the form that chooses a new password. It changes nothing.",
		params:  []string{"token"}, read: checkResetLink, done: signedOut},
	{path: "/invite", template: "invite", title: "You are invited to Loci", op: "invitation.respond",
		summary: "Show an invitation and the form that answers it.",
		params:  []string{"id", "token"}, fields: map[string]string{"id": "invitationId"},
		read: readInvitation, done: showAnswer},

	{path: httpapi.AuthorizePath, template: "consent", title: "Connect a program to Loci",
		summary: "Ask a person about the request of an OAuth client (RFC 6749, section 4.1.1).",
		params: []string{"response_type", "client_id", "redirect_uri", "code_challenge", "code_challenge_method",
			"state", "scope", "resource"},
		read: readConsent, submit: decide},
}
