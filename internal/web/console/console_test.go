package console_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/conformance"
	"github.com/loci-memory/loci/internal/httpapi"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/rest"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/accountdb"
	"github.com/loci-memory/loci/internal/testenv"
	"github.com/loci-memory/loci/internal/web"
	"github.com/loci-memory/loci/internal/web/console"
)

// A site is the console of a world: ann owns its team, bob is an admin, cid a member, eve a stranger.
type site struct {
	*conformance.World
	t      *testing.T
	url    string
	cookie map[string]string // by name; nobody has none
	mu     sync.Mutex
	ran    []string // the operations that were run
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{World: conformance.New(t, conformance.OpenSQLite, conformance.Options{}), t: t,
		cookie: map[string]string{}}
	s.Host.Observe = func(o *op.Op, _ *op.Call, _ loci.Code, _ time.Duration) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.ran = append(s.ran, o.Name)
	}
	own := httpapi.Site{Origins: httpapi.NewOrigins("")}
	server := httptest.NewServer(rest.New(rest.Options{Table: service.Ops, Host: s.Host,
		Log: slog.New(slog.DiscardHandler), Site: own, ErrorPage: web.ErrorPage(own),
		ExtraRoutes: web.Routes(web.Options{Table: service.Ops, Host: s.Host, Service: s.Service, Site: own,
			Pages: console.Pages})}))
	t.Cleanup(server.Close)
	s.url = server.URL
	for name, p := range map[string]*conformance.Person{"ann": s.Ann, "bob": s.Bob, "cid": s.Cid, "eve": s.Eve} {
		s.cookie[name] = identity.NewSecret()
		testenv.Must(store.System(t.Context(), s.Store, "test", func(x *store.SystemTx) (loci.Empty, error) {
			return loci.Empty{}, x.AddSignIn(p.ID, accountdb.NewSignIn{Hash: identity.SecretHash(s.cookie[name])})
		}))(t)
	}
	return s
}

// A result is the answer to a request, without redirects.
type result struct {
	*http.Response
	raw, text string
	forms     []form
}

// A form of a page, with what a browser would send.
type form struct {
	action string
	fields url.Values
}

func (s *site) do(who, method, path string, body io.Reader, headers ...string) result {
	s.t.Helper()
	r := testenv.Must(http.NewRequestWithContext(s.t.Context(), method, s.url+path, body))(s.t)
	r.Header = http.Header{"Accept": {"text/html"}, "Origin": {s.url}}
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ":")
		r.Header.Set(name, value)
	}
	if c := s.cookie[who]; c != "" {
		r.AddCookie(&http.Cookie{Name: "__Host-loci", Value: c})
	}
	res := testenv.Must(testenv.Transport.RoundTrip(r))(s.t)
	defer res.Body.Close()
	raw := string(testenv.Must(io.ReadAll(res.Body))(s.t))
	return result{res, raw, html.UnescapeString(raw), readForms(s.t, raw)}
}

func (s *site) get(who, path string) result { s.t.Helper(); return s.do(who, "GET", path, nil) }

func (s *site) post(who, path string, fields url.Values) result {
	s.t.Helper()
	return s.do(who, "POST", path, strings.NewReader(fields.Encode()))
}

// readForms returns the forms of a page that are posted, filled in as a browser does, and a text in empty fields.
func readForms(t *testing.T, raw string) (forms []form) {
	t.Helper()
	root := testenv.Must(html.Parse(strings.NewReader(raw)))(t)
	for n := range root.Descendants() {
		if n.Data != "form" || attribute(n, "method") != "post" {
			continue
		}
		f := form{attribute(n, "action"), url.Values{}}
		for field := range n.Descendants() {
			name, value := attribute(field, "name"), attribute(field, "value")
			switch {
			case name == "" || attribute(field, "type") == "date":
			case field.Data == "textarea":
				f.fields.Set(name, "A text that was typed")
			case field.Data == "input" || field.Data == "button":
				f.fields.Set(name, value)
			}
		}
		forms = append(forms, f)
	}
	return forms
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// inline returns what the policy of a page would refuse, or what htmx would run as a script, or "".
func inline(t *testing.T, raw string) string {
	t.Helper()
	for n := range testenv.Must(html.Parse(strings.NewReader(raw)))(t).Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		src := attribute(n, "src")
		if n.Data == "style" || n.Data == "iframe" || n.Data == "base" || n.Data == "img" ||
			n.Data == "script" && !strings.HasPrefix(src, "/static/") {
			return n.Data
		}
		for _, a := range n.Attr {
			if strings.HasPrefix(a.Key, "on") || a.Key == "style" || strings.HasPrefix(a.Key, "hx-on") ||
				strings.HasPrefix(strings.TrimSpace(a.Val), "js") && a.Key != "value" {
				return a.Key + "=" + a.Val
			}
		}
	}
	return ""
}

// check reports what no page may have, and what runs more than five operations.
func (s *site) check(what string, got result) {
	s.t.Helper()
	s.mu.Lock()
	ran := s.ran
	s.ran = nil
	s.mu.Unlock()
	counted := 0
	for _, name := range ran {
		if name != "account.status" {
			counted++
		}
	}
	if got.Request.Method == "GET" && counted > 5 {
		s.t.Errorf("%s runs %q", what, ran)
	}
	if got.StatusCode == 303 {
		return
	}
	policy := got.Header.Get("Content-Security-Policy")
	if !strings.HasPrefix(policy, "default-src 'none'; ") || strings.Contains(policy, "unsafe") ||
		got.Header.Get("Cross-Origin-Opener-Policy") != "same-origin" ||
		got.Header.Get("Cache-Control") != "no-store" || got.Header.Get("Content-Encoding") != "" {
		s.t.Errorf("%s: %v", what, got.Header)
	}
	if found := inline(s.t, got.raw); found != "" {
		s.t.Errorf("%s has %q", what, found)
	}
	if strings.Count(got.raw, "<h1") != 1 || strings.Count(got.raw, "<main") != 1 ||
		strings.Contains(got.raw, "ZgotmplZ") {
		s.t.Errorf("%s has no one heading: %s", what, got.raw)
	}
}

var ids = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}`)

// A visit is one state of a page. Its texts are in the page of ann; bob, cid, eve and nobody get other statuses.
type visit struct {
	path  string
	texts []string
	alone bool // it shows each user the own workspaces, and strangers get it too
}

// visits returns the states of the pages of all groups.
func (s *site) visits() []visit {
	s.t.Helper()
	return slices.Concat(s.memoryVisits(), s.approvalVisits())
}

func must[In, Out any](t *testing.T, call func(context.Context, *identity.Actor, In) (Out, error),
	p *conformance.Person, in In) Out {
	t.Helper()
	return testenv.Must(call(t.Context(), p.Actor(), in))(t)
}

func TestPagesAreShownToThoseWhoMaySeeThem(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, c := range s.visits() {
		for _, who := range []string{"ann", "bob", "cid", "eve", "nobody"} {
			got := s.get(who, c.path)
			what := who + " at " + c.path
			s.check(what, got)
			want := 200
			if who == "eve" && !c.alone {
				want = 404
			}
			if who == "nobody" {
				want = 303
				testenv.Equal(t, got.Header.Get("Location"), "/signin?next="+url.QueryEscape(sorted(t, c.path)), what)
			}
			testenv.Equal(t, got.StatusCode, want, what)
			if who == "ann" {
				for _, text := range c.texts {
					testenv.Contains(t, got.text+got.raw, text, what)
				}
			}
			if who == "eve" {
				for _, id := range ids.FindAllString(got.raw, -1) {
					if id != got.Header.Get("X-Request-Id") && !strings.Contains(c.path, id) && !s.reachable(id) {
						t.Errorf("%s shows the id %s", what, id)
					}
				}
			}
		}
	}
}

// sorted returns a path with its query in the order of names.
func sorted(t *testing.T, path string) string {
	t.Helper()
	u := testenv.Must(url.Parse(path))(t)
	if u.RawQuery == "" {
		return u.Path
	}
	return u.Path + "?" + u.Query().Encode()
}

// reachable reports whether an id is eve's, or that of the request.
func (s *site) reachable(id string) bool {
	list := must(s.t, s.Service.ListWorkspaces, s.Eve, loci.ListWorkspaces{})
	for _, w := range list.Workspaces {
		if string(w.ID) == id {
			return true
		}
	}
	atlases := must(s.t, s.Service.ListAtlases, s.Eve, loci.ListAtlases{})
	return id == string(s.Eve.ID) || slices.ContainsFunc(atlases.Atlases, func(a loci.Atlas) bool {
		return string(a.ID) == id
	})
}

// TestFormsOfPagesAreAccepted sends each form of each page: none is refused that a page shows.
func TestFormsOfPagesAreAccepted(t *testing.T) {
	t.Parallel()
	for _, who := range []string{"ann", "bob", "cid", "eve"} {
		s := newSite(t)
		for _, c := range s.visits() {
			for i := 0; ; i++ {
				forms := s.get(who, c.path).forms
				if i >= len(forms) {
					break
				}
				if f := forms[i]; f.action != "/signout" {
					got := s.post(who, f.action, f.fields)
					s.check(f.action, got)
					if got.StatusCode != 303 && got.StatusCode != 200 {
						t.Errorf("%s at %s: %s with %v: %s", who, c.path, f.action, f.fields, got.text)
					}
				}
			}
		}
	}
}

func TestStartLeadsToConsole(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	testenv.Equal(t, s.get("nobody", "/").Header.Get("Location"), "/app")
	testenv.Equal(t, s.get("ann", "/signin?next=/app/memories%3Ftype%3Dtask").Header.Get("Location"),
		"/app/memories?type=task")
	for _, next := range []string{"/app/../v1/me",
		"/app//evil.example", "/app/memories/..", "/app/memories/a/archive"} {
		testenv.Equal(t, s.get("ann", "/signin?next="+url.QueryEscape(next)).Header.Get("Location"), "/", next)
	}
	testenv.Equal(t, s.post("nobody", "/app/memories/x/archive", nil).Header.Get("Location"),
		"/signin?next=%2Fapp%2Fmemories%2Fx")
	// A form of a stranger is not read: otherwise it is too large.
	large := url.Values{"content": {strings.Repeat("a", 70<<10)}}
	testenv.Equal(t, s.post("nobody", "/app/memories/x/archive", large).StatusCode, 303)
	testenv.Equal(t, s.post("ann", "/app/memories/x/archive", large).StatusCode, 413)
	testenv.Contains(t, s.get("ann", "/app/connect").text, "Create an API key")
}

func TestPartOfPageReadsNoCounts(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for headers, want := range map[string]bool{"": true, "HX-Request:true": false,
		"HX-Request:true HX-History-Restore-Request:true": true} {
		s.ran = nil
		got := s.do("ann", "GET", "/app?query=rope", nil, strings.Fields(headers)...)
		_, result, _ := strings.Cut(got.raw, `<section id="result"`)
		result, _, _ = strings.Cut(result, "</section>")
		testenv.Contains(t, result, "Nothing fits", headers)
		testenv.Equal(t, strings.Contains(result, "Waiting for you"), false, headers)
		testenv.Equal(t, slices.Contains(s.ran, "account.status"), want, headers)
	}
}

func TestThemeIsKeptInCookie(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	got := s.post("ann", "/app/theme", url.Values{"theme": {"dark"}, "next": {"/app/memories"}})
	testenv.Equal(t, got.Header.Get("Location"), "/app/memories")
	testenv.Contains(t, got.Header.Get("Set-Cookie"), "loci_theme=dark; Path=/")
	got = s.post("ann", "/app/theme", url.Values{"theme": {"\"><b>"}})
	testenv.Contains(t, got.Header.Get("Set-Cookie"), "loci_theme=; Path=/; Max-Age=0")
}
