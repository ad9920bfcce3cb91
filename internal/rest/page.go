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
	"time"
	"unicode/utf8"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/httpapi"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/op"
)

//go:embed page
var pageFiles embed.FS

var (
	pageTemplates = template.Must(template.ParseFS(pageFiles, "page/*.html"))
	pageStyle     = readPageFile("page/page.css")
	pageScript    = readPageFile("page/page.js")
	// pageCSP allows a page its own style and script, by their hashes, and forms that this server takes; nothing else.
	pageCSP = "default-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; img-src data:; " +
		"style-src " + cspHash(pageStyle) + "; script-src " + cspHash(pageScript)
)

// Pages are the requirements of the pages for people beside the operations.
type Pages interface {
	// CheckSetup returns nil if the token of a setup link makes the first account.
	CheckSetup(ctx context.Context, token string) error
	// ViewInvitation returns an invitation and the name of its inviter. It does so for the holder of its token, and for
	// the signed-in user with its verified address.
	ViewInvitation(ctx context.Context, userID, id loci.ID,
		t loci.InvitationToken) (i loci.Invitation, inviter string, err error)
}

// A pageData has the contents of a page.
type pageData struct {
	Base           string // address of the server
	Insecure       bool   // the connection is not encrypted
	User           string // address of the signed-in person, empty without sign-in
	Alert          string // the error message
	IdempotencyKey string // idempotency key of a form
	Next           string // path of the next page

	Valid              bool // of a setup link
	Token, Email, Name string
	Key                string // a new API key
	Invite             invitationData
	Answered           *answered // the invitation that was just accepted or declined, or nil
}

// Style returns the one style sheet of all pages.
func (pageData) Style() template.CSS { return template.CSS(pageStyle) }

// Script returns the one script of all pages. They work without it.
func (pageData) Script() template.JS { return template.JS(pageScript) }

func readPageFile(name string) string {
	b, err := pageFiles.ReadFile(name)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func cspHash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// newPageData returns the common contents of pages.
func (d *handler) newPageData(r *http.Request, user loci.User) pageData {
	return pageData{Base: d.baseURL(r), Insecure: !d.isSecure(r), User: user.Email,
		IdempotencyKey: identity.NewSecret()}
}

// renderPage writes a page. err is the error to show, or nil.
func (d *handler) renderPage(w http.ResponseWriter, r *http.Request, name string, v pageData, err error) {
	status := http.StatusOK
	h := w.Header()
	if err != nil {
		e := loci.AsError(err)
		status, v.Alert = e.Code.Status(), e.Message
		if e.Code == loci.CodeRateLimited && e.RetryAfter > 0 {
			v.Alert = "There were too many attempts. Try again in " + e.RetryAfter.Round(time.Second).String() + "."
		}
		httpapi.SetErrorHeaders(h, r, e, nil)
	}
	var b bytes.Buffer
	if err := pageTemplates.ExecuteTemplate(&b, name, v); err != nil {
		panic(err) // the templates are fixed, and tests render them
	}
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", pageCSP)
	// A page sends no referrer to other sites. To its own it does, because a
	// browser without referrers sends forms with the Origin null.
	h.Set("Referrer-Policy", "same-origin")
	h.Set("X-Frame-Options", "DENY")
	w.WriteHeader(status)
	w.Write(b.Bytes())
}

// runOp runs an operation for a page.
func (d *handler) runOp(r *http.Request, c *op.Call, name string, in any) (any, error) {
	body, err := json.Marshal(in)
	if err != nil {
		return nil, err
	}
	return d.Host.Run(r.Context(), d.Table.Op(name), c, func() (op.Args, error) { return op.Args{JSON: body}, nil })
}

// pageCall returns the call of a page's request, and the signed-in person. A
// page accepts only the cookie as credential: without it the person has no id.
func (d *handler) pageCall(w http.ResponseWriter, r *http.Request) (c *op.Call, user loci.User, err error) {
	c = d.newCall(w, r)
	c.Transport, c.IdempotencyKey, c.IdempotencyKeyCount = "page", "", 0
	if c.CredentialKind != identity.CredentialCookie {
		c.Credential = ""
		return c, user, nil
	}
	out, err := d.runOp(r, c, "account.me", loci.Empty{})
	if loci.Is(err, loci.CodeInvalidKey) || loci.Is(err, loci.CodeRevoked) {
		c.Credential, c.CredentialKind = "", ""
		return c, user, nil
	}
	if err != nil {
		return c, user, err
	}
	return c, out.(loci.OneUser).User, nil
}

// startSession sets the cookie of a new sign-in, and uses it as the call's credential.
func (d *handler) startSession(w http.ResponseWriter, r *http.Request, c *op.Call, out any) {
	s := out.(cookieSetter).Cookie()
	http.SetCookie(w, d.newCookie(r, s))
	c.Credential, c.CredentialKind = s.Secret, identity.CredentialCookie
}

// maxForm is the most bytes that a form of a page has.
const maxForm = 64 << 10

// parseForm returns the fields of the form that a page sent.
func parseForm(w http.ResponseWriter, r *http.Request) (url.Values, error) {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "application/x-www-form-urlencoded" {
		return nil, loci.Errorf(loci.CodeUnsupportedMediaType, "This address accepts only the form of its page.")
	}
	body, err := httpapi.ReadBody(w, r, maxForm)
	if loci.Is(err, loci.CodePayloadTooLarge) {
		return nil, loci.Errorf(loci.CodePayloadTooLarge, "The form is larger than 64 KiB: shorten its fields.")
	}
	fields, parseErr := url.ParseQuery(string(body))
	if err != nil || parseErr != nil {
		return nil, loci.Errorf(loci.CodeInvalidQuery, "The form could not be read: send it again.")
	}
	for _, values := range fields {
		for _, v := range values {
			if !utf8.ValidString(v) {
				return nil, loci.Errorf(loci.CodeInvalidQuery, "The form has a field that is not valid UTF-8.")
			}
		}
	}
	return fields, nil
}

// submitted returns the form that a page sent, its call, and the signed-in person.
func (d *handler) submitted(w http.ResponseWriter, r *http.Request) (f url.Values, c *op.Call, user loci.User,
	err error) {
	if f, err = parseForm(w, r); err != nil {
		return nil, nil, user, err
	}
	c, user, err = d.pageCall(w, r)
	return f, c, user, err
}

// redirect sends a browser to another page.
func redirect(w http.ResponseWriter, r *http.Request, path string) {
	http.Redirect(w, r, path, http.StatusSeeOther)
}

// safeRedirectPath returns the path of the page after a sign-in. Any other address becomes the start page.
func safeRedirectPath(next string) string {
	u, err := url.Parse(next)
	if err != nil || u.Scheme != "" || u.Host != "" || u.Path != "/invite" {
		return "/"
	}
	return "/invite?" + u.Query().Encode()
}
