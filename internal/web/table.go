package web

import (
	"html/template"
	"io/fs"
	"slices"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/httpapi"
	"github.com/loci-memory/loci/internal/op"
)

// A Page is one line of the table of pages: a route, a template, and the operation that its form runs. The pages of the
// console are private: they need a signed-in user, and show the header.
type Page struct {
	Path     string // a pattern: {memoryId} is a field of the operations
	Template string
	Title    string
	Place    string   // path of the place that the header marks, or ""
	Reads    []string // operations that Read runs, beside account.me and account.status
	Op       string   // name of the operation that its form posts, or ""
	FormOnly bool     // the path accepts the form alone: another page, in the console the one above it, shows it
	MaxForm  int64    // most bytes of its form; 0 is 64 KiB

	Summary string // for the document of the API, which lists the pages of links

	Params      []string             // of its link: each is a field of the operation, or of the page alone
	Fields      map[string]string    // names of the operation's fields for those of the link that differ
	ErrorFields map[loci.Code]string // the fields at which refusals are shown; others name their field themselves

	Messages map[loci.Code]string // messages of refusals for people, in place of those for programs
	Notices  map[string]string    // messages by the name of what was just done, which Back puts into the address

	// Read reads what the page shows, into Data.
	Read func(*Visit) error
	// Args completes the fields of the form. After an error the operation does not run.
	Args func(*Visit, *op.Args) error
	// Submit handles a form that runs no operation.
	Submit func(*Visit) error
	// Resubmit handles a form that was sent before, and reports whether it was.
	Resubmit func(*Visit) (bool, error)
	// Done follows the operation. Without it the page says what comes next.
	Done func(v *Visit, out any) error

	group *template.Template // the templates of a group of the console, with those of its layout
}

// Group returns the pages of one group of the console. Their templates are the HTML files of a folder.
func Group(files fs.FS, pages ...Page) []Page {
	group := template.Must(template.Must(layout.Clone()).ParseFS(files, "*.html"))
	for i := range pages {
		pages[i].group = group
	}
	return pages
}

// matches reports whether a path is one of the page's pattern.
func (p *Page) matches(path string) bool {
	want, got := strings.Split(p.Path, "/"), strings.Split(path, "/")
	return slices.EqualFunc(want, got, func(want, got string) bool {
		return want == got || strings.HasPrefix(want, "{") && got != "" && got != "." && got != ".."
	})
}

// pathFields returns the fields of the page's pattern.
func (p *Page) pathFields() (names []string) {
	for part := range strings.SplitSeq(p.Path, "/") {
		if name, ok := strings.CutPrefix(part, "{"); ok {
			names = append(names, strings.TrimSuffix(name, "}"))
		}
	}
	return names
}

// consolePath is the path of the console. All its pages lie below it.
const consolePath = "/app"

// connectPath is the path of the start page where there is a console.
const connectPath = consolePath + "/connect"

// pages is the table of the pages that every server has. A page is served where the server has its operation.
var pages = []Page{
	{Path: "/", Template: "home", Title: "Loci", Read: readStart},
	{Path: "/key", Template: "home", Title: "Loci", Op: "key.create", FormOnly: true, Read: readStart,
		Done: showKey},
	{Path: "/resend", Template: "home", Title: "Loci", Op: "account.verify", FormOnly: true, Read: readStart,
		Done: showSent},
	{Path: "/revoke", Template: "home", Title: "Loci", Op: "grant.revoke", FormOnly: true, Read: readStart,
		Messages: map[loci.Code]string{loci.CodeNotFound: "This program has no access any more."}, Done: showEnded},
	{Path: "/signout", Template: "problem", Title: "Sign out", Op: "auth.logout", FormOnly: true, Done: redirectNext},

	{Path: consolePath + "/theme", Template: "problem", Title: "Colors", FormOnly: true, Submit: setTheme},

	{Path: "/signin", Template: "signin", Title: "Sign in to Loci", Op: "auth.login", Params: []string{"email"},
		Read: readSignIn, Done: redirectNext},
	{Path: "/register", Template: "register", Title: "Create an account", Op: "auth.register",
		Summary: "Show the form that creates an account.",
		Params:  []string{"ref", "invitation", "id"}, ErrorFields: map[loci.Code]string{loci.CodeConflict: "email"},
		Messages: map[loci.Code]string{loci.CodeForbidden: "This server does not create accounts for everybody."},
		Read:     readRegister, Done: afterRegistration},
	{Path: "/setup", Template: "setup", Title: "Set up Loci", Op: "auth.setup",
		Summary: "Show the form that creates the first user.",
		Params:  []string{"token"}, Read: readSetup, Resubmit: setUpAgain, Done: showFirstKey},

	{Path: "/verify", Template: "verify", Title: "Confirm your address", Op: "auth.verify",
		Summary: "Show the form that confirms an address. It changes nothing.",
		Params:  []string{"token"}, Read: checkVerifyLink},
	{Path: "/forgot", Template: "forgot", Title: "Forgot your password?", Op: "auth.forgot",
		Params: []string{"email"}, Read: requireMail},
	{Path: "/reset", Template: "reset", Title: "Choose a new password", Op: "auth.reset",
		Summary: "Show the form that chooses a new password. It changes nothing.",
		Params:  []string{"token"}, Read: checkResetLink, Done: signedOut},
	{Path: "/invite", Template: "invite", Title: "You are invited to Loci", Op: "invitation.respond",
		Summary: "Show an invitation and the form that answers it.",
		Params:  []string{"id", "token"}, Fields: map[string]string{"id": "invitationId"},
		Read: readInvitation, Done: showAnswer},

	{Path: httpapi.AuthorizePath, Template: "consent", Title: "Connect a program to Loci",
		Summary: "Ask a person about the request of an OAuth client (RFC 6749, section 4.1.1).",
		Params: []string{"response_type", "client_id", "redirect_uri", "code_challenge", "code_challenge_method",
			"state", "scope", "resource"},
		Read: readConsent, Submit: decide},
}
