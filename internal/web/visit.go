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
type visit struct {
	view
	h        *handler
	w        http.ResponseWriter
	r        *http.Request
	page     *page
	call     *op.Call
	form     url.Values
	template string
	redirect string // path of another page, or address of a client, which answers instead
	start    time.Time
	refused  loci.Code // what a client was told instead of a code, for the log
}

func (h *handler) newVisit(w http.ResponseWriter, r *http.Request, p *page) *visit {
	c := httpapi.NewCall(w, r, "page", h.TrustedProxies)
	h.AddCookie(r, c)
	if r.Header.Values("Authorization") != nil { // the cookie is the only credential of a page
		c.Credential = ""
	}
	v := &visit{h: h, w: w, r: r, page: p, call: c, template: p.template, start: time.Now()}
	v.view = view{Title: p.title, Base: h.BaseURL(r), Insecure: !h.IsSecure(r), Mail: h.Mail,
		IdempotencyKey: rand.Text(), Next: "/", Values: map[string]string{}, FieldErrors: map[string]string{},
		Links: p.params, table: h.Table}
	return v
}

// identify finds the signed-in user. The user of a request without a valid cookie has no id.
func (v *visit) identify() error {
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
func (v *visit) run(name string, c *op.Call, args op.Args) (any, error) {
	return v.h.Host.Run(v.r.Context(), v.h.Table.Op(name), c, func() (op.Args, error) { return args, nil })
}

// submit reads a form and handles it.
func (v *visit) submit() (err error) {
	v.template = "problem" // until the form is known
	if v.h.Origins.IsForgeable(v.r) {
		return loci.Errorf(loci.CodeForbidden,
			"A page of another site sent this form: open the page here, and try again.")
	}
	if v.form, err = readForm(v.w, v.r); err != nil {
		return err
	}
	v.Next = v.h.ownPath(v.form.Get(nextField))
	if err := v.identify(); err != nil {
		return err
	}
	v.template = v.page.template
	if v.page.submit != nil {
		return v.page.submit(v)
	}
	return v.runForm(v.h.Table.Op(v.page.op))
}

// runForm runs the operation of a form.
func (v *visit) runForm(o *op.Op) error {
	for name := range v.form {
		if !isSecret(o, name) {
			v.Values[name] = v.form.Get(name)
		}
	}
	if v.page.resubmit != nil {
		if handled, err := v.page.resubmit(v); handled || err != nil {
			return err
		}
	}
	if o.Access != op.Public && v.User.ID == "" {
		v.redirect = withQuery("/signin", url.Values{nextField: {v.self()}})
		return nil
	}
	if keys := v.form[idempotencyKeyField]; o.AcceptsIdempotencyKey() {
		v.call.IdempotencyKey, v.call.IdempotencyKeyCount = v.form.Get(idempotencyKeyField), max(1, len(keys))
	}
	out, err := v.run(o.Name, v.call, v.page.formArgs(o, v.form))
	if err != nil {
		return v.refuse(o, err)
	}
	v.call.IdempotencyKey, v.call.IdempotencyKeyCount = "", 0
	v.Done = true
	v.h.SetCookie(v.w, v.r, v.call, out)
	if v.page.read != nil && v.page.formOnly {
		err = v.page.read(v)
	}
	if err == nil && v.page.done != nil {
		err = v.page.done(v, out)
	}
	return err
}

// self returns the path of the page, with the fields of its link, or the start page for a form of another page.
func (v *visit) self() string {
	if v.page.formOnly {
		return "/"
	}
	query := url.Values{}
	for _, name := range v.page.params {
		if value := v.Values[name]; value != "" {
			query.Set(name, value)
		}
	}
	return withQuery(v.page.path, query)
}

// refuse notes at which field a form was refused, and reads what its page shows.
func (v *visit) refuse(o *op.Op, err error) error {
	e := loci.AsError(err)
	switch field := v.page.errorFields[e.Code]; {
	case field != "":
		v.FieldErrors[field] = e.Message
	case e.Code == loci.CodeInvalidQuery || e.Code == loci.CodeSecretDetected:
		for _, f := range o.Fields() {
			if strings.HasPrefix(e.Message, f.Name+" ") {
				v.FieldErrors[f.Name] = sentence(e.Message)
				err = &loci.Error{Code: e.Code, Message: sentence(e.Message), Err: e}
			}
		}
	}
	// The link is used up, or the server does not allow this: the same form would fail again.
	v.Closed = e.Code == loci.CodeNotFound || e.Code == loci.CodeForbidden || e.Code == loci.CodeStateConflict
	if v.page.read != nil {
		if readErr := v.page.read(v); readErr != nil {
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
func (v *visit) respond(err error) {
	v.w.Header().Set("Referrer-Policy", referrerPolicy(v.Insecure))
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
		if v.template == v.page.template && v.page.messages[e.Code] != "" {
			v.Alert = v.page.messages[e.Code]
		}
		if v.template == "problem" && v.Advice == "" {
			v.Title = problemTitle(e.Code)
		}
		httpapi.SetErrorHeaders(v.w.Header(), v.r, e, nil)
	}
	v.logAuthorization(status, err)
	render(v.w, status, v.template, &v.view)
}

// logAuthorization logs and counts a visit of the page for the requests of clients, which runs no operation of its own.
func (v *visit) logAuthorization(status int, err error) {
	if v.page.path == httpapi.AuthorizePath {
		v.h.Host.LogOutcome(v.r.Context(), op.Outcome{Name: "oauth.authorize", Method: v.r.Method, Call: v.call,
			Status: status, Code: v.refused, Err: err, Start: v.start})
	}
}
