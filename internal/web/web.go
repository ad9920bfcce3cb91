// Package web is the transport of pages for people. A page is one line of a table; its form runs one operation, or
// answers the request of an OAuth client. Pages work without scripts. The console is the pages below /app: each group
// of them is a package below this one, and package console lists the groups.
package web

import (
	"bytes"
	"context"
	"embed"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/httpapi"
	"github.com/loci-memory/loci/internal/op"
)

// Options are the settings of the transport.
type Options struct {
	Table   *op.Table
	Host    *op.Host
	Service Service
	// Authorizer checks and answers requests of OAuth clients. Without it there is no page for them.
	Authorizer httpapi.Authorizer
	// Pages are those of the console, group after group. Without them the server has a start page in its place.
	Pages []Page
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

//go:embed page layout
var files embed.FS

var (
	templates = template.Must(template.New("").Funcs(functions).ParseFS(files, "page/*.html"))
	layout    = template.Must(template.New("").Funcs(functions).ParseFS(files, "layout/*.html"))
)

// policy returns the Content-Security-Policy of a page. It allows the files of the server, and forms that this server
// takes, or that it redirects to another source.
func policy(formSource string) string {
	return "default-src 'none'; base-uri 'none'; form-action " + strings.TrimSpace("'self' "+formSource) +
		"; frame-ancestors 'none'; connect-src 'self'; img-src 'self' data:; style-src 'self'; script-src 'self'"
}

type handler struct {
	Options
	pages     []Page                   // those that the server has
	setUpWith atomic.Pointer[[32]byte] // hash of the token that made the first account
}

// Routes returns the routes of the pages.
func Routes(o Options) []httpapi.Route {
	h := &handler{Options: o}
	routes := staticRoutes()
	for _, p := range slices.Concat(pages, o.Pages) {
		if p.Path == "/" {
			p.Path = h.start()
		}
		if h.serves(&p) && (o.Pages != nil || !p.isPrivate()) {
			h.pages = append(h.pages, p)
		}
	}
	if o.Pages != nil {
		routes = append(routes, httpapi.Route{Pattern: "GET /{$}", Reason: "It leads to the console.",
			Handler: http.RedirectHandler(consolePath, http.StatusSeeOther)})
	}
	for i := range h.pages {
		p := &h.pages[i]
		pattern := p.Path
		if pattern == "/" {
			pattern = "/{$}"
		}
		if !p.FormOnly {
			routes = append(routes, httpapi.Route{Pattern: "GET " + pattern, Handler: h.showPage(p),
				Reason: "It is a page for people.", Describe: p.describe()})
		}
		if p.Op != "" || p.Submit != nil {
			routes = append(routes, httpapi.Route{Pattern: "POST " + pattern, Handler: h.submitForm(p),
				Reason: "It is the form of a page."})
		}
	}
	for i := range routes {
		routes[i].CORS = httpapi.CORSNone
	}
	return routes
}

// start returns the path of the start page.
func (h *handler) start() string {
	if h.Pages != nil {
		return connectPath
	}
	return "/"
}

// serves reports whether the server has what a page needs: its operations, or the authorization of clients.
func (h *handler) serves(p *Page) bool {
	lacks := func(name string) bool { return h.Table.Op(name) == nil }
	return (p.Op == "" || !lacks(p.Op)) && !slices.ContainsFunc(p.Reads, lacks) &&
		(p.Path != httpapi.AuthorizePath || h.Authorizer != nil)
}

// describe returns the OpenAPI operation object of a page to which a link leads.
func (p *Page) describe() map[string]any {
	if p.Summary == "" {
		return nil
	}
	var parameters []map[string]any
	for _, name := range p.Params {
		parameters = append(parameters, map[string]any{"in": "query", "name": name,
			"description": "From the link of the page", "schema": map[string]any{"type": "string"}})
	}
	response := func(description string) map[string]any {
		return map[string]any{"description": description,
			"content": map[string]any{"text/html": map[string]any{"schema": map[string]any{"type": "string"}}}}
	}
	return map[string]any{
		"operationId": "page." + p.Template,
		"summary":     p.Summary,
		"parameters":  parameters,
		"responses": map[string]any{"200": response("A page for people"), "4XX": response("A page that says why"),
			"303": map[string]any{"description": "Another page goes on, or the client gets an answer"}},
	}
}

// acceptsHTML reports whether a client can show a page. A program that accepts other types alone cannot.
func acceptsHTML(r *http.Request) bool {
	accept := strings.Join(r.Header.Values("Accept"), ",")
	return accept == "" || strings.Contains(accept, "text/html") || strings.Contains(accept, "*/*")
}

// showPage returns the handler that shows a page. It changes nothing: the scanner of a mailbox follows links too.
func (h *handler) showPage(p *Page) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if p.Path == "/" && !acceptsHTML(r) {
			httpapi.WriteError(w, r, nil, httpapi.ErrNoRoute())
			return
		}
		v := h.newVisit(w, r, p)
		query := r.URL.Query()
		v.Next = h.ownPath(query.Get("next"))
		for _, name := range p.Params {
			v.Values[name] = strings.ReplaceAll(strings.ToValidUTF8(query.Get(name), ""), "\x00", "")
		}
		// A link elsewhere tells of nothing that was done.
		if site := r.Header.Get("Sec-Fetch-Site"); site == "" || site == "same-origin" {
			v.Notice = p.Notices[query.Get(doneParam)]
		}
		err := v.identify()
		switch {
		case err != nil:
			v.template = "problem"
		case v.User.ID == "" && p.isPrivate():
			v.signInFirst(h.ownPath(r.URL.RequestURI()))
		case p.Read != nil:
			err = p.Read(v)
		}
		v.respond(err)
	}
}

// submitForm returns the handler of a page's form.
func (h *handler) submitForm(p *Page) http.HandlerFunc {
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
	for i := range h.pages {
		if p := &h.pages[i]; !p.FormOnly && p.matches(u.Path) {
			return withQuery((&url.URL{Path: u.Path}).EscapedPath(), p.ownQuery(u.Query()))
		}
	}
	return "/"
}

// ownQuery returns the parameters of a next page. A client's request goes on only as the one that was checked: an
// unchecked one could send the browser to another site after the sign-in.
func (p *Page) ownQuery(query url.Values) url.Values {
	if p.Path != httpapi.AuthorizePath {
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
func render(w http.ResponseWriter, status int, set *template.Template, name string, v *view) {
	var b bytes.Buffer
	if err := set.ExecuteTemplate(&b, name+".html", v); err != nil {
		panic(err) // the templates are fixed, and tests render them
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", policy(v.formSource))
	h.Set("X-Frame-Options", "DENY")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // a browser that has left reads nothing
}
