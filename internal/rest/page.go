package rest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"html/template"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/op"
)

//go:embed page
var pageFiles embed.FS

var (
	pages      = template.Must(template.ParseFS(pageFiles, "page/*.html"))
	pageStyle  = pageText("page/page.css")
	pageScript = pageText("page/page.js")
	// pagePolicy allows a page its own style and script, by their hashes, and forms
	// that this server takes; nothing else.
	pagePolicy = []string{"default-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; img-src data:" +
		"; style-src " + hashOf(pageStyle) + "; script-src " + hashOf(pageScript)}
	typeHTML = []string{"text/html; charset=utf-8"}
	// A page sends its address to no other site. To its own it does: a browser
	// that sends no referrer at all sends forms with the Origin null.
	ownReferrer = []string{"same-origin"}
)

// Pages are what the pages for people need beside the operations.
type Pages interface {
	// CheckSetup returns nil if the token of a setup link makes the first account.
	CheckSetup(ctx context.Context, token string) error
	// ViewInvitation returns an invitation and the name of its inviter to the holder
	// of its token and to the signed-in user whose verified address it is for.
	ViewInvitation(ctx context.Context, userID, id string,
		t loci.InvitationToken) (i loci.Invitation, inviter string, err error)
}

// A view is what a page shows.
type view struct {
	Base  string // address of the server
	Plain bool   // the connection is not encrypted
	User  string // address of the signed-in person, empty for nobody
	Alert string // what went wrong
	Once  string // idempotency key of a form
	Next  string // path to go on to

	Valid              bool // of a setup link
	Token, Email, Name string
	Key                string // a new API key
	Invite             invitation
	Answered           *answered // the invitation that was answered just now, or nil
}

// Style is the one style sheet of all pages.
func (view) Style() template.CSS { return template.CSS(pageStyle) }

// Script is the one script of all pages. They work without it.
func (view) Script() template.JS { return template.JS(pageScript) }

func pageText(name string) string {
	b, err := pageFiles.ReadFile(name)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func hashOf(s string) string {
	sum := sha256.Sum256([]byte(s))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// view returns what every page shows.
func (d *door) view(r *http.Request, who loci.User) view {
	return view{Base: d.base(r), Plain: !d.secure(r), User: who.Email, Once: loci.NewSecret()}
}

// show writes a page. err is what went wrong, or nil.
func (d *door) show(w http.ResponseWriter, name string, v view, err error) {
	status := http.StatusOK
	h := w.Header()
	if err != nil {
		e := loci.AsError(err)
		status, v.Alert = e.Code.Status(), e.Message
		if e.Code == loci.RateLimited && e.Retry > 0 {
			v.Alert = "There were too many attempts. Try again in " + e.Retry.Round(time.Second).String() + "."
		}
		if wait := patience(e, nil); wait > 0 {
			h["Retry-After"] = []string{strconv.FormatInt(wholeSeconds(wait), 10)}
		}
		if status == http.StatusUnauthorized {
			h["Www-Authenticate"] = challenge
		}
	}
	var b bytes.Buffer
	if err := pages.ExecuteTemplate(&b, name, v); err != nil {
		panic(err) // the templates are fixed, and tests render them
	}
	h["Content-Type"] = typeHTML
	h["Content-Security-Policy"] = pagePolicy
	h["Referrer-Policy"] = ownReferrer
	h["X-Frame-Options"] = []string{"DENY"}
	w.WriteHeader(status)
	w.Write(b.Bytes())
}

// perform runs an operation for a page.
func (d *door) perform(r *http.Request, c *op.Call, name string, in any) (any, error) {
	body, err := json.Marshal(in)
	if err != nil {
		return nil, err
	}
	return d.Host.Run(r.Context(), d.Table.Op(name), c, func() (op.Args, error) { return op.Args{JSON: body}, nil })
}

// visitor returns the call of a page's request, and the person who is signed in. A
// page takes no other credential than the cookie: without it the person has no id.
func (d *door) visitor(w http.ResponseWriter, r *http.Request) (c *op.Call, who loci.User, err error) {
	c = d.call(w, r)
	c.Door, c.IdempotencyKey, c.Keys = "page", "", 0
	if c.Kind != loci.CookieCredential {
		c.Proof = ""
		return c, who, nil
	}
	out, err := d.perform(r, c, "account.me", loci.Nothing{})
	if loci.Is(err, loci.InvalidKey) || loci.Is(err, loci.Revoked) {
		c.Proof, c.Kind = "", ""
		return c, who, nil
	}
	if err != nil {
		return c, who, err
	}
	return c, out.(loci.OneUser).User, nil
}

// signIn gives the browser the cookie of a new sign-in, and the call its proof.
func (d *door) signIn(w http.ResponseWriter, r *http.Request, c *op.Call, out any) {
	s := out.(cookied).Cookie()
	http.SetCookie(w, d.cookie(r, s))
	c.Proof, c.Kind = s.Secret, loci.CookieCredential
}

// maxForm is the most bytes that a form of a page has.
const maxForm = 64 << 10

// form returns the fields of the form that a page sent.
func form(w http.ResponseWriter, r *http.Request) (url.Values, error) {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "application/x-www-form-urlencoded" {
		return nil, loci.Fail(loci.UnsupportedMediaType, "This address takes the form of its page.")
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		return nil, loci.Fail(loci.InvalidQuery, "The form could not be read: send it again.")
	}
	for _, values := range r.PostForm {
		for _, v := range values {
			if !utf8.ValidString(v) {
				return nil, loci.Fail(loci.InvalidQuery, "The form holds what is no text.")
			}
		}
	}
	return r.PostForm, nil
}

// submitted returns the form that a page sent, its call, and the person who is signed
// in.
func (d *door) submitted(w http.ResponseWriter, r *http.Request) (f url.Values, c *op.Call, who loci.User, err error) {
	if f, err = form(w, r); err != nil {
		return nil, nil, who, err
	}
	c, who, err = d.visitor(w, r)
	return f, c, who, err
}

// forward leads a browser on to another page.
func forward(w http.ResponseWriter, r *http.Request, path string) {
	http.Redirect(w, r, path, http.StatusSeeOther)
}

// ownPath returns the path of a page to go on to after a sign-in. Any other address
// becomes the start page.
func ownPath(next string) string {
	u, err := url.Parse(next)
	if err != nil || u.Scheme != "" || u.Host != "" || u.Path != "/invite" {
		return "/"
	}
	return "/invite?" + u.Query().Encode()
}
