package web

import (
	"fmt"
	"html/template"
	"net/url"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/web/style"
)

// A view has the contents of a page.
type view struct {
	Title    string
	Base     string // address of the server
	Start    string // path of the start page, with keys and programs
	Insecure bool   // the connection is not encrypted
	Mail     bool   // the server sends mail
	User     loci.User

	Alert          string            // the message of a refusal
	Code           loci.Code         // of a refusal
	RequestID      string            // of a refused request
	SignInFirst    bool              // the request needs a sign-in
	FieldErrors    map[string]string // messages at fields
	Values         map[string]string // fields of the link or the form, without passwords
	IdempotencyKey string
	Next           string // path of the next page
	Closed         bool   // the form is not shown
	Done           bool   // the form was accepted
	Sent           bool   // the mail that verifies the address was sent again
	Open           bool   // anybody may register
	ByInvitation   bool   // the holder of an invitation or a referral may register
	Account        string // the address of the account that a link belongs to
	NoUsers        bool   // the server has no account yet
	UnknownRef     bool   // the referral code of the link is unknown, and not needed
	Key            string // a new API key
	Invite         *invitation
	Answered       *loci.Invitation // the invitation that was just answered

	Invitations []pending // those to the user that wait for an answer

	Programs   []program // those that use the workspaces of the user
	NoPrograms bool      // their list could not be read
	Ended      bool      // the access of one has just ended

	Client  string       // name of the program for which a person signs in, or that is connected
	Consent *consent     // what the program asks for
	Address template.URL // of the program that takes the answer over
	Message string       // what became of the request
	Advice  string       // what to do about a refusal

	header        // of the console
	Self   string // path of the page of the console
	Data   any    // what a page of the console shows: a struct of its own
	Notice string // what was just done

	Links      []string // fields of the page's link
	formSource string   // to which the server may redirect the forms, or ""
	table      *op.Table
	focus      bool // a field has the focus
}

// Match returns the entity tag for a form that changes a record: the one that the form came with, so that a refusal for
// another reason hides no change by somebody else. After a conflict it is the present one, which the page shows.
func (v *view) Match(present string) string {
	if sent := v.Values[ifMatchField]; sent != "" && v.Code != loci.CodeVersionConflict {
		return sent
	}
	return present
}

// Server returns the host of the server, which distinguishes its pages from those of another one.
func (v *view) Server() string {
	_, host, _ := strings.Cut(v.Base, "://")
	return host
}

// Path returns the path of a page that leads to the next page as this one does.
func (v *view) Path(page string) string {
	if v.Next == "/" {
		return page
	}
	return withQuery(page, url.Values{nextField: {v.Next}})
}

// Icon returns the icon of all pages.
func (*view) Icon() template.URL { return template.URL(style.Icon) }

// An input is a field of a form.
type input struct {
	Name, Type, Label, Autocomplete, Value, Error string
	Required, Focus, ReadOnly                     bool
	MinLength, MaxLength                          int
}

// Input returns a field of an operation for its form. Its bounds are those of the operation.
func (v *view) Input(operation, name, label, autocomplete string) (in input) {
	o := v.table.Op(operation)
	in = input{Name: name, Type: "text", Label: label, Autocomplete: autocomplete, Value: v.Values[name],
		Error: v.FieldErrors[name]}
	for _, f := range o.Fields() {
		if f.Name != name {
			continue
		}
		if in.Required = f.Required; f.Format != "" {
			in.Type = f.Format // email and password are types of both
		}
	}
	if s := o.InputSchema().Properties[name]; s != nil {
		if s.MinLength != nil && *s.MinLength > 1 {
			in.MinLength = *s.MinLength
		}
		if s.MaxLength != nil {
			in.MaxLength = *s.MaxLength
		}
	}
	if in.Focus = !v.focus && (in.Error != "" || len(v.FieldErrors) == 0 && in.Value == "" && in.Required); in.Focus {
		v.focus = true
	}
	return in
}

// Fixed returns the field with a value that the visitor cannot change.
func (in input) Fixed(value string) input {
	in.Value, in.ReadOnly, in.Focus = value, true, false
	return in
}

// Describedby returns the id of the text that describes a field.
func (in input) Describedby() string {
	switch {
	case in.Error != "":
		return in.Name + "-fault"
	case in.Hint() != "":
		return in.Name + "-hint"
	}
	return ""
}

// Hint returns the rule of a new password. A message at the field replaces it.
func (in input) Hint() string {
	if in.Type != "password" || in.MinLength == 0 || in.Error != "" {
		return ""
	}
	return fmt.Sprintf("At least %d characters, and none of the commonest passwords.", in.MinLength)
}
