package web

import (
	"errors"
	"net/url"
	"slices"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/httpapi"
)

// Fields of the form that answers the request of a client, beside httpapi.RequestField.
const (
	reachField      = "reach"      // workspaces or account
	workspacesField = "workspaces" // one for each ticked workspace
	decisionField   = "decision"   // allow or deny
)

// A consent has the contents of the page that asks a person about the request of a client.
type consent struct {
	Client     string // its name, as it says of itself
	Host       string // that publishes the client's description, or ""
	Target     string // host and port that get the answer
	Scheme     string // of the links that the client opens on the device, or ""
	Local      bool   // the client listens on the device
	Account    bool   // the client asks for everything that the person may do
	Reach      string // the choice between that and some workspaces, or ""
	Bound      string // the request, for the form
	Workspaces []choice
	Cut        bool // there are more workspaces
}

// readConsent checks the request of a client, and asks the person who is signed in. Others sign in first.
func readConsent(v *Visit) error {
	request, _, err := v.h.Authorizer.Authorize(v.r.Context(), v.r.URL.RawQuery, v.call.Address)
	if e, ok := errors.AsType[*httpapi.RedirectError](err); ok {
		v.redirect, v.refused = e.Location, loci.CodeInvalidQuery
		return nil
	}
	if err != nil {
		return v.startAgain(err)
	}
	v.Next = withQuery(httpapi.AuthorizePath, url.Values{httpapi.RequestField: {request}})
	if v.User.ID == "" {
		v.redirect = v.Path("/signin")
		return nil
	}
	bound, a, err := v.h.Authorizer.Bind(request, v.call.CredentialID)
	if err != nil {
		return v.startAgain(err)
	}
	if err := v.ask(bound, a); err != nil {
		return err
	}
	if only := v.Consent.Workspaces; len(only) == 1 {
		only[0].Ticked = true
	}
	return nil
}

// startAgain shows why the request of a client has no page: only the client can make another one.
func (v *Visit) startAgain(err error) error {
	v.template = "problem"
	switch e := loci.AsError(err); {
	case e.Code == loci.CodeRateLimited: // the alert says when to try again
		v.Title, v.Advice = "The program cannot be connected yet", e.Message
	case e.Code.Status() < 500:
		v.Title = "The program cannot be connected"
		v.Advice = "Nothing was connected, and you may close this window. To connect the program, start again there."
	}
	return err
}

// ask fills the page that asks about a request.
func (v *Visit) ask(bound string, a httpapi.Authorization) (err error) {
	v.Consent = &consent{Client: plainName(a.ClientName), Host: a.ClientHost, Target: a.RedirectHost,
		Account: a.Account, Bound: bound}
	if u, err := url.Parse(a.RedirectURI); err == nil && u.Scheme != "http" && u.Scheme != "https" {
		v.Consent.Scheme = u.Scheme + ":"
	} else if err == nil {
		v.Consent.Local = httpapi.IsLoopback(u.Host)
	}
	v.formSource = formSource(a.RedirectURI)
	if v.Consent.Workspaces, v.Consent.Cut, err = v.listWorkspaces(); err != nil {
		v.template = "problem"
	}
	return err
}

// decide answers the request of a client as the person decided.
func decide(v *Visit) error {
	if v.User.ID == "" {
		v.redirect = v.Path("/signin")
		return nil
	}
	if err := checkAnswer(v.Form); err != nil {
		return v.startAgain(err)
	}
	bound, signIn := v.Form.Get(httpapi.RequestField), v.call.CredentialID
	a, err := v.h.Authorizer.Open(bound, signIn)
	if err != nil {
		return v.startAgain(err)
	}
	if v.Form.Get(decisionField) == "deny" {
		v.refused = "access_denied"
		location, err := v.h.Authorizer.Deny(bound, signIn)
		return v.leave(a, location, err, "You denied the access.")
	}
	if err := v.ask(bound, a); err != nil {
		return err
	}
	reach, field, err := v.Consent.choose(v.Form)
	if err != nil {
		v.FieldErrors[field] = loci.AsError(err).Message
		return err
	}
	location, err := v.h.Authorizer.Approve(v.r.Context(), bound, signIn, v.User.ID, reach)
	if loci.Is(err, loci.CodeInvalidQuery) { // the request was open above, so the choice is at fault
		v.FieldErrors[workspacesField] = loci.AsError(err).Message
		return err
	}
	return v.leave(a, location, err, "You allowed the access.")
}

// checkAnswer refuses a form that its page did not send.
func checkAnswer(form url.Values) error {
	for name, values := range form {
		known := slices.Contains([]string{httpapi.RequestField, decisionField, nextField, reachField,
			workspacesField}, name)
		if !known || name != workspacesField && len(values) > 1 {
			return loci.Errorf(loci.CodeInvalidQuery, "The form has a field that its page does not have.")
		}
	}
	if decision := form.Get(decisionField); decision != "allow" && decision != "deny" {
		return loci.Errorf(loci.CodeInvalidQuery, "The form says neither Allow nor Deny.")
	}
	return nil
}
