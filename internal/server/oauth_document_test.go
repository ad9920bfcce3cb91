package server

import (
	"crypto/x509"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/loci-memory/loci/internal/oauth"
	"github.com/loci-memory/loci/internal/store/storetest"
)

// A documentSite is a web site with the metadata document of one client.
type documentSite struct {
	*httptest.Server
	redirect atomic.Value // string; "" removes the document
	fetches  atomic.Int32
}

func newDocumentSite(t *testing.T) (s *documentSite, access oauth.DocumentAccess) {
	t.Helper()
	s = &documentSite{}
	s.redirect.Store(oauthRedirect)
	s.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.fetches.Add(1)
		redirect := s.redirect.Load().(string)
		if redirect == "" || r.URL.Path != "/client.json" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"client_id":%q,"client_name":"Described","redirect_uris":[%q]}`, s.client(), redirect)
	}))
	t.Cleanup(s.Close)
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	return s, oauth.DocumentAccess{Allowed: netip.Addr.IsLoopback, Roots: roots}
}

// client is the id of the client: the address of its document.
func (s *documentSite) client() string { return s.URL + "/client.json" }

// signInFor opens the request of a client in a new browser, signs ann in by its pages, and returns her cookie.
func (f *flow) signInFor(program string) (cookie string) {
	f.t.Helper()
	first := f.authorize()
	page := f.send("GET", first.header.Get("Location"), "")
	if first.status != 303 || page.status != 200 || !strings.Contains(page.text, program) {
		f.t.Fatal(first.status, first.header, page.status, page.text)
	}
	signedIn := f.postForm("/signin", url.Values{"email": {"ann@example.com"}, "password": {password},
		"next": {first.location(f.t).Get("next")}}, "Sec-Fetch-Site: same-origin")
	cookie, _, _ = strings.Cut(signedIn.header.Get("Set-Cookie"), ";")
	if at := signedIn.header.Get("Location"); cookie == "" || !strings.HasPrefix(at, "/oauth/authorize?request=") {
		f.t.Fatal(signedIn.status, signedIn.header, signedIn.text)
	}
	return "Cookie: " + cookie
}

func TestOAuthClientWithDocumentConnects(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		site, access := newDocumentSite(t)
		cimd := map[string]string{"oauth-cimd": "on"}
		w := newDocumentWorld(t, d, cimd, access)
		f := w.newFlow(site.client())

		ann := f.signInFor("Described")
		page := f.authorize(ann)
		if host := strings.TrimPrefix(site.URL, "https://"); page.status != 200 ||
			!strings.Contains(page.text, "<bdi>Described</bdi> wants") ||
			!strings.Contains(page.text, "comes from <strong><bdi>"+host+"</bdi>") {
			t.Fatal(page.status, page.text)
		}
		denied := f.decide(ann, f.bound(ann), "deny").location(t)
		if denied.Get("error") != "access_denied" || denied.Get("iss") != w.url {
			t.Error(denied)
		}
		access1, refresh := tokensOf(t, f.redeem(f.code()))
		other := w.newFlow(w.register(oauthRedirect))
		refuse(t, "invalid_grant", other.refresh(refresh))
		refuse(t, "invalid_grant", other.redeem(f.code()))
		if grants := w.send("GET", "/v1/grants", "", ann); !w.opens(access1) || site.fetches.Load() != 1 ||
			!strings.Contains(grants.text, site.client()) || strings.Count(grants.text, `"Described"`) != 1 {
			t.Errorf("%d fetches, %s", site.fetches.Load(), grants.text)
		}

		w.restart(cimd)
		site.redirect.Store(oauthRedirect + "/new")
		showsPage(t, f.authorize(ann), "a redirect that the document does not have any more")
		access2, refresh := tokensOf(t, f.refresh(refresh))
		f.query.Set("redirect_uri", oauthRedirect+"/new")
		if access3, _ := tokensOf(t, f.redeem(f.code())); !w.opens(access2) || !w.opens(access3) {
			t.Error("a token of a changed document opens nothing")
		}

		w.restart(cimd)
		site.redirect.Store("")
		gone := f.authorize(ann)
		if showsPage(t, gone, "a document that is gone"); !strings.Contains(gone.text, "127.0.0.1 does not show it") {
			t.Error(gone.text)
		}
		access4, refresh := tokensOf(t, f.refresh(refresh))
		if !w.opens(access4) {
			t.Error("a grant ended with the document of its client")
		}
		ended := w.postForm("/oauth/revoke", url.Values{"token": {refresh}, "client_id": {f.client}})
		if ended.status != 200 || w.opens(access4) {
			t.Errorf("a revoked token opens the API: %d %s", ended.status, ended.text)
		}

		w.restart(nil) // documents are off
		showsPage(t, f.authorize(ann), "a document where documents are off")
		refuse(t, "invalid_client", f.refresh(refresh))
		if n := site.fetches.Load(); n != 3 {
			t.Errorf("%d fetches", n)
		}
	})
}

// restart restarts the server of the world with other flags.
func (w *oauthWorld) restart(flags map[string]string) {
	w.t.Helper()
	if err := w.stop(); err != nil {
		w.t.Fatal(err)
	}
	w.start(flags)
}

func TestOAuthFetchesAreLimitedByNetwork(t *testing.T) {
	t.Parallel()
	site, access := newDocumentSite(t)
	w := newDocumentWorld(t, storetest.Database{Dir: t.TempDir()}, map[string]string{"oauth-cimd": "on",
		"signin-limit": "3", "trusted-proxies": "127.0.0.1"}, access)
	ask := func(path, from string) reply {
		f := w.newFlow(site.URL + path)
		return f.authorize("X-Forwarded-For: " + from)
	}
	for i := range 3 {
		showsPage(t, ask(fmt.Sprintf("/missing/%d", i), "192.0.2.1"), "a document that is not there")
	}
	refused := ask("/client.json", "192.0.2.1")
	if refused.status != 429 || refused.header.Get("Retry-After") == "" ||
		!strings.Contains(refused.text, "Your network made this server fetch") ||
		!strings.Contains(refused.text, "Try again in") {
		t.Error(refused.status, refused.header, refused.text)
	}
	if got := ask("/client.json", "192.0.2.2"); got.status != 303 || site.fetches.Load() != 4 {
		t.Errorf("another network: %d after %d fetches: %s", got.status, site.fetches.Load(), got.text)
	}
}
