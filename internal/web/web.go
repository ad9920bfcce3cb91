// Package web is the transport of pages for people. A page is one line of a table; its form runs one operation, or
// answers the request of an OAuth client. Pages work without scripts.
package web

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"html/template"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/httpapi"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/web/style"
)

// Options are the settings of the transport.
type Options struct {
	Table   *op.Table
	Host    *op.Host
	Service Service
	// Authorizer checks and answers requests of OAuth clients. Without it there is no page for them.
	Authorizer httpapi.Authorizer
	httpapi.Site
	Mail bool // the server sends mail
}

// A Service has the requirements of the pages beside the operations.
type Service interface {
	// CheckSetup returns nil if the token of a setup link makes the first account.
	CheckSetup(ctx context.Context, token string) error
	// CheckVerifyLink and CheckResetLink return the address of the account if the token of the link of a mail can be
	// used. They do not use it.
	CheckVerifyLink(ctx context.Context, token string) (loci.Email, error)
	CheckResetLink(ctx context.Context, token string) (loci.Email, error)
	// CheckRegistration returns nil if the policy of the server allows a registration with these links.
	CheckRegistration(ctx context.Context, ref loci.ReferralCode, invitation loci.InvitationToken) error
	// CheckReferral returns NotFound for a referral code that is no user's. The attempts of an address are bounded.
	CheckReferral(ctx context.Context, code loci.ReferralCode, address string) error
	// HasUsers reports whether the server has an account.
	HasUsers(ctx context.Context) (bool, error)
	// ViewInvitation returns an invitation and the name of its inviter. It does so for the holder of its token, and for
	// the signed-in user with its verified address.
	ViewInvitation(ctx context.Context, userID, id loci.ID,
		t loci.InvitationToken) (i loci.Invitation, inviter string, err error)
}

//go:embed page
var files embed.FS

var (
	templates = template.Must(template.ParseFS(files, "page/*.html"))
	script    = readFile("page/page.js")

	scriptHash = hash(script)
	// stylePath changes with the style sheet, so that browsers keep each for good.
	stylePath = "/page.css?v=" + url.QueryEscape(hash(style.Sheet)[:12])
)

// policy returns the Content-Security-Policy of a page. It allows the style sheet of the server, the page's own script
// by the hash, and forms that this server takes, or that it redirects to another source.
func policy(formSource string) string {
	return "default-src 'none'; base-uri 'none'; form-action " + strings.TrimSpace("'self' "+formSource) +
		"; frame-ancestors 'none'; img-src data:; style-src 'self'; script-src 'sha256-" + scriptHash + "'"
}

func readFile(name string) string {
	b, err := files.ReadFile(name)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func hash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return base64.StdEncoding.EncodeToString(sum[:])
}

type handler struct {
	Options
	setUpWith atomic.Pointer[[32]byte] // hash of the token that made the first account
}

// Routes returns the routes of the pages.
func Routes(o Options) []httpapi.Route {
	h := &handler{Options: o}
	routes := []httpapi.Route{{Pattern: "GET /page.css", Handler: http.HandlerFunc(serveStyle),
		Reason: "It is the style sheet of the pages."}}
	for i := range pages {
		p := &pages[i]
		if !h.serves(p) {
			continue
		}
		pattern := p.path
		if pattern == "/" {
			pattern = "/{$}"
		}
		if !p.formOnly {
			routes = append(routes, httpapi.Route{Pattern: "GET " + pattern, Handler: h.showPage(p),
				Reason: "It is a page for people.", Describe: p.describe()})
		}
		if p.op != "" || p.submit != nil {
			routes = append(routes, httpapi.Route{Pattern: "POST " + pattern, Handler: h.submitForm(p),
				Reason: "It is the form of a page."})
		}
	}
	for i := range routes {
		routes[i].CORS = httpapi.CORSNone
	}
	return routes
}

// serves reports whether the server has what a page needs: its operation, or the authorization of clients.
func (h *handler) serves(p *page) bool {
	return (p.op == "" || h.Table.Op(p.op) != nil) && (p.path != httpapi.AuthorizePath || h.Authorizer != nil)
}

// describe returns the OpenAPI operation object of a page to which a link leads.
func (p *page) describe() map[string]any {
	if p.summary == "" {
		return nil
	}
	var parameters []map[string]any
	for _, name := range p.params {
		parameters = append(parameters, map[string]any{"in": "query", "name": name,
			"description": "From the link of the page", "schema": map[string]any{"type": "string"}})
	}
	response := func(description string) map[string]any {
		return map[string]any{"description": description,
			"content": map[string]any{"text/html": map[string]any{"schema": map[string]any{"type": "string"}}}}
	}
	return map[string]any{
		"operationId": "page." + p.template,
		"summary":     p.summary,
		"parameters":  parameters,
		"responses": map[string]any{"200": response("A page for people"), "4XX": response("A page that says why"),
			"303": map[string]any{"description": "Another page goes on, or the client gets an answer"}},
	}
}

func serveStyle(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/css; charset=utf-8")
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	_, _ = w.Write([]byte(style.Sheet)) // a client that has left reads nothing
}

// acceptsHTML reports whether a client can show a page. A program that accepts other types alone cannot.
func acceptsHTML(r *http.Request) bool {
	accept := strings.Join(r.Header.Values("Accept"), ",")
	return accept == "" || strings.Contains(accept, "text/html") || strings.Contains(accept, "*/*")
}

// showPage returns the handler that shows a page. It changes nothing: the scanner of a mailbox follows links too.
func (h *handler) showPage(p *page) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if p.path == "/" && !acceptsHTML(r) {
			httpapi.WriteError(w, r, nil, httpapi.ErrNoRoute())
			return
		}
		v := h.newVisit(w, r, p)
		query := r.URL.Query()
		v.Next = h.ownPath(query.Get("next"))
		for _, name := range p.params {
			v.Values[name] = strings.ReplaceAll(strings.ToValidUTF8(query.Get(name), ""), "\x00", "")
		}
		err := v.identify()
		if err != nil {
			v.template = "problem"
		} else if p.read != nil {
			err = p.read(v)
		}
		v.respond(err)
	}
}

// submitForm returns the handler of a page's form.
func (h *handler) submitForm(p *page) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		v := h.newVisit(w, r, p)
		err := v.submit()
		v.respond(err)
	}
}

// maxNext is the most bytes of the path of a next page.
const maxNext = 16 << 10

// ownPath returns the path and query of a page of this server. Any other address becomes the start page.
func (h *handler) ownPath(next string) string {
	u, err := url.Parse(next)
	if err != nil || len(next) > maxNext || u.Scheme != "" || u.Host != "" || u.User != nil {
		return "/"
	}
	for i := range pages {
		if p := &pages[i]; p.path == u.Path && !p.formOnly && h.serves(p) {
			return withQuery(p.path, p.ownQuery(u.Query()))
		}
	}
	return "/"
}

// ownQuery returns the parameters of a next page. A client's request goes on only as the one that was checked: an
// unchecked one could send the browser to another site after the sign-in.
func (p *page) ownQuery(query url.Values) url.Values {
	if p.path != httpapi.AuthorizePath {
		return query
	}
	return url.Values{httpapi.RequestField: {query.Get(httpapi.RequestField)}}
}

func withQuery(path string, query url.Values) string {
	if len(query) == 0 {
		return path
	}
	return path + "?" + query.Encode()
}

// referrerPolicy returns the Referrer-Policy of pages. None sends a referrer to other sites. Over plain http a page
// sends one to its own: otherwise the browser gives its forms the Origin null, and sends no Sec-Fetch-Site either, and
// nothing tells them from those of another site.
func referrerPolicy(insecure bool) string {
	if insecure {
		return "same-origin"
	}
	return "no-referrer"
}

// render writes a page with its headers.
func render(w http.ResponseWriter, status int, name string, v *view) {
	var b bytes.Buffer
	if err := templates.ExecuteTemplate(&b, name+".html", v); err != nil {
		panic(err) // the templates are fixed, and tests render them
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", policy(v.formSource))
	h.Set("X-Frame-Options", "DENY")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // a browser that has left reads nothing
}
