package web

import (
	"crypto/rand"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/httpapi"
	"github.com/loci-memory/loci/internal/op"
)

// A visit is one request for a page, or one form.
type Visit struct {
	view
	h        *handler
	w        http.ResponseWriter
	r        *http.Request
	page     *Page
	call     *op.Call
	Form     url.Values // the fields of a form, or nil
	template string
	redirect string // path of another page, or address of a client, which answers instead
	start    time.Time
	refused  loci.Code // what a client was told instead of a code, for the log
}

func (h *handler) newVisit(w http.ResponseWriter, r *http.Request, p *Page) *Visit {
	c := httpapi.NewCall(w, r, "page", h.TrustedProxies)
	h.AddCookie(r, c)
	if r.Header.Values("Authorization") != nil { // the cookie is the only credential of a page
		c.Credential = ""
	}
	v := &Visit{h: h, w: w, r: r, page: p, call: c, template: p.Template, start: time.Now()}
	v.view = view{Title: p.Title, Base: h.BaseURL(r), Start: h.start(), Insecure: !h.IsSecure(r), Mail: h.Mail,
		IdempotencyKey: rand.Text(), Next: "/", Values: map[string]string{}, FieldErrors: map[string]string{},
		Links: p.Params, table: h.Table}
	return v
}

// identify finds the signed-in user. The user of a request without a valid cookie has no id.
func (v *Visit) identify() error {
	if v.call.Credential == "" {
		return nil
	}
	out, err := v.run("account.me", v.call, op.Args{})
	if loci.Is(err, loci.CodeInvalidKey) || loci.Is(err, loci.CodeRevoked) {
		v.call.Credential, v.call.CredentialKind = "", ""
		return nil
	}
	if err == nil {
		v.User = out.(loci.OneUser).User
	}
	return err
}

// run runs an operation.
func (v *Visit) run(name string, c *op.Call, args op.Args) (any, error) {
	return v.h.Host.Run(v.r.Context(), v.h.Table.Op(name), c, func() (op.Args, error) { return args, nil })
}

// submit reads a form and handles it.
func (v *Visit) submit() (err error) {
	v.template = "problem" // until the form is known
	if v.h.Origins.IsForgeable(v.r) {
		return loci.Errorf(loci.CodeForbidden,
			"A page of another site sent this form: open the page here, and try again.")
	}
	if err := v.identify(); err != nil { // first, so that a form of a stranger is not read
		return err
	}
	if v.User.ID == "" && v.page.isPrivate() {
		v.signInFirst(v.self())
		return nil
	}
	if v.Form, err = readForm(v.w, v.r, v.page.MaxForm); err != nil {
		return err
	}
	v.Next = v.h.ownPath(v.Form.Get(nextField))
	v.template = v.page.Template
	if v.page.Submit != nil {
		if v.page.group != nil {
			v.keepTyped(nil)
		}
		return v.page.Submit(v)
	}
	return v.runForm(v.h.Table.Op(v.page.Op))
}

// runForm runs the operation of a form.
func (v *Visit) runForm(o *op.Op) error {
	v.keepTyped(o)
	if v.page.Resubmit != nil {
		if handled, err := v.page.Resubmit(v); handled || err != nil {
			return err
		}
	}
	if o.Access != op.Public && v.User.ID == "" {
		v.signInFirst(v.self())
		return nil
	}
	args := v.page.formArgs(o, v.Form)
	for _, name := range v.page.pathFields() {
		args.Params = append(args.Params, op.Param{Name: name, Value: v.PathValue(name)})
	}
	if v.page.Args != nil {
		if err := v.page.Args(v, &args); err != nil {
			return v.refuse(o, err)
		}
	}
	if keys := v.Form[idempotencyKeyField]; o.AcceptsIdempotencyKey() {
		v.call.IdempotencyKey, v.call.IdempotencyKeyCount = v.Form.Get(idempotencyKeyField), len(keys)
	}
	v.call.IfMatch = v.Form.Get(ifMatchField)
	out, err := v.run(o.Name, v.call, args)
	v.call.IdempotencyKey, v.call.IdempotencyKeyCount, v.call.IfMatch = "", 0, ""
	if err != nil {
		return v.refuse(o, err)
	}
	v.call.Continuation = true // what the page reads belongs to its form, which has counted
	v.Done = true
	v.h.SetCookie(v.w, v.r, v.call, out)
	if v.page.Done != nil {
		err = v.page.Done(v, out)
	}
	if err == nil && v.redirect == "" && v.page.Read != nil && v.page.FormOnly {
		err = v.page.Read(v)
	}
	return err
}

// keepTyped keeps the fields of a form for the page that shows them again, without passwords.
func (v *Visit) keepTyped(o *op.Op) {
	for name := range v.Form {
		if o == nil || !isSecret(o, name) {
			v.Values[name] = v.Form.Get(name)
		}
	}
}

// signInFirst sends the browser to the sign-in, and from there to a page.
func (v *Visit) signInFirst(next string) {
	v.redirect = withQuery("/signin", url.Values{nextField: {next}})
}

// self returns the path of the page, with the fields of its link. For a form it is that of the page above it in the
// console, and elsewhere the start page.
func (v *Visit) self() string {
	path := v.page.Path
	switch {
	case v.page.isPrivate():
		return v.Link()
	case v.page.FormOnly:
		return "/"
	}
	return v.LinkTo(path, v.page.Params)
}

// refuse notes at which field a form was refused, and reads what its page shows.
func (v *Visit) refuse(o *op.Op, err error) error {
	e := loci.AsError(err)
	switch field := v.page.ErrorFields[e.Code]; {
	case field != "":
		v.FieldErrors[field] = e.Message
	case e.Code == loci.CodeInvalidQuery || e.Code == loci.CodeSecretDetected:
		for _, f := range o.Fields() {
			if strings.HasPrefix(e.Message, f.Name+" ") || strings.HasPrefix(e.Message, f.Name+"[") {
				v.FieldErrors[f.Name] = sentence(e.Message)
				err = &loci.Error{Code: e.Code, Message: sentence(e.Message), Err: e}
			}
		}
	}
	// The link is used up, or the server does not allow this: the same form would fail again.
	v.Closed = e.Code == loci.CodeNotFound || e.Code == loci.CodeForbidden || e.Code == loci.CodeStateConflict
	if v.page.Read != nil {
		if readErr := v.page.Read(v); readErr != nil {
			return readErr
		}
	}
	return err
}

// sentence returns the message of an operation as a sentence: it begins with the name of a field.
func sentence(message string) string {
	first, size := utf8.DecodeRuneInString(message)
	return string(unicode.ToUpper(first)) + strings.TrimSuffix(message[size:], ".") + "."
}

// respond writes the page, or sends the browser to another one.
func (v *Visit) respond(err error) {
	v.w.Header().Set("Referrer-Policy", referrerPolicy(v.Insecure))
	if v.page.isPrivate() || v.page.Template == "home" { // those on the way to a client keep their opener
		v.w.Header().Set("Cross-Origin-Opener-Policy", "same-origin")
	}
	if err == nil && v.redirect != "" {
		v.logAuthorization(http.StatusSeeOther, nil)
		http.Redirect(v.w, v.r, v.redirect, http.StatusSeeOther)
		return
	}
	status := http.StatusOK
	if err != nil {
		e := loci.AsError(err)
		status = e.Code.Status()
		v.explain(e, v.call.RequestID)
		if v.template == v.page.Template && v.page.Messages[e.Code] != "" {
			v.Alert = v.page.Messages[e.Code]
		}
		if v.page.group != nil && v.Data == nil {
			v.template = "problem"
		}
		if v.template == "problem" && v.Advice == "" {
			v.Title = problemTitle(e.Code)
		}
		httpapi.SetErrorHeaders(v.w.Header(), v.r, e, nil)
	}
	v.logAuthorization(status, err)
	set := templates
	if v.page.group != nil {
		set = v.page.group
		v.readHeader()
	}
	render(v.w, status, set, v.template, &v.view)
}

// logAuthorization logs and counts a visit of the page for the requests of clients, which runs no operation of its own.
func (v *Visit) logAuthorization(status int, err error) {
	if v.page.Path == httpapi.AuthorizePath {
		v.h.Host.LogOutcome(v.r.Context(), op.Outcome{Name: "oauth.authorize", Method: v.r.Method, Call: v.call,
			Status: status, Code: v.refused, Err: err, Start: v.start})
	}
}
