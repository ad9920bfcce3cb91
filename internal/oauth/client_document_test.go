package oauth

import (
	"context"
	"crypto/x509"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/limit"
	"github.com/loci-memory/loci/internal/testenv"
	"github.com/loci-memory/loci/internal/waittest"
)

// A documentSite is a web site with the metadata document of a client.
type documentSite struct {
	*httptest.Server
	client *http.Client
	cache  *documentCache
	calls  atomic.Int32
	now    atomic.Int64 // microseconds of the clock of the cache
}

// newDocumentSite returns a site, and a cache that may dial this machine.
func newDocumentSite(t *testing.T, serve func(id string, w http.ResponseWriter, r *http.Request)) *documentSite {
	t.Helper()
	s := &documentSite{}
	s.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.calls.Add(1)
		serve(s.id(r.URL.Path), w, r)
	}))
	t.Cleanup(s.Close)
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	s.client = newDocumentClient(DocumentAccess{Allowed: netip.Addr.IsLoopback, Roots: roots})
	s.cache = newDocumentCache(func() time.Time { return time.UnixMicro(s.now.Load()) }, s.client, 20, nil)
	return s
}

func (s *documentSite) id(path string) string { return s.URL + path }

func (s *documentSite) pass(d time.Duration) { s.now.Add(d.Microseconds()) }

// writeDocument writes the document of a client with more members.
func writeDocument(w http.ResponseWriter, id, more string) {
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"client_id":%q,"client_name":"Site","redirect_uris":["https://app.example/cb"]%s}`, id, more)
}

func TestClientDocumentIsKeptByItsHeaders(t *testing.T) {
	t.Parallel()
	s := newDocumentSite(t, func(id string, w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Cache-Control", "public, max-age=300")
		writeDocument(w, id, `,"logo_uri":"https://app.example/logo"`)
	})
	for _, step := range []struct {
		pass  time.Duration
		calls int32
	}{{0, 1}, {299 * time.Second, 1}, {time.Second, 2}, {0, 2}} {
		s.pass(step.pass)
		c, host, err := s.cache.find(t.Context(), s.id("/client.json"), limit.Network(testAddress))
		if err != nil || c.Name != "Site" || c.ID != s.id("/client.json") || "https://"+host != s.URL ||
			len(c.RedirectURIs) != 1 {
			t.Fatalf("%+v, %q, %v", c, host, err)
		}
		testenv.Equal(t, s.calls.Load(), step.calls, "after", step.pass)
	}
}

// A roundTripper is an HTTP transport without a network.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestClientDocumentIsFetchedOnceAtATime lets all callers wait before the document arrives: none finds it in the cache.
func TestClientDocumentIsFetchedOnceAtATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const id = "https://app.example/client.json"
		release := make(chan struct{})
		var fetches atomic.Int32
		site := roundTripper(func(*http.Request) (*http.Response, error) {
			fetches.Add(1)
			<-release
			w := httptest.NewRecorder()
			writeDocument(w, id, "")
			return w.Result(), nil
		})
		cache := newDocumentCache(time.Now, &http.Client{Transport: site}, 20, nil)
		var group sync.WaitGroup
		find := func(ctx context.Context, want error) {
			group.Go(func() {
				_, _, err := cache.find(ctx, id, limit.Network(testAddress))
				testenv.Equal(t, err, want, "find")
			})
		}
		gone, leave := context.WithCancel(t.Context())
		find(gone, context.Canceled) // the first one leaves, and the others still get the document
		synctest.Wait()
		for range 20 {
			find(t.Context(), nil)
		}
		leave()
		synctest.Wait()
		close(release)
		group.Wait()
		testenv.Equal(t, fetches.Load(), 1, "fetches")
	})
}

func TestClientDocumentIsRefused(t *testing.T) {
	t.Parallel()
	documents := map[string]func(id string, w http.ResponseWriter, r *http.Request){
		"/other-id": func(id string, w http.ResponseWriter, _ *http.Request) { writeDocument(w, id+"x", "") },
		"/redirect": func(id string, w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/good", http.StatusFound)
		},
		"/missing": func(_ string, w http.ResponseWriter, r *http.Request) { http.NotFound(w, r) },
		"/html": func(id string, w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprintf(w, `{"client_id":%q,"redirect_uris":["https://app.example/cb"]}`, id)
		},
		"/large": func(id string, w http.ResponseWriter, _ *http.Request) {
			writeDocument(w, id, `,"x":"`+strings.Repeat("x", maxDocument)+`"`)
		},
		"/secret": func(id string, w http.ResponseWriter, _ *http.Request) {
			writeDocument(w, id, `,"token_endpoint_auth_method":"client_secret_post"`)
		},
		"/redirects": func(id string, w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"client_id":%q,"redirect_uris":["javascript:alert(1)"]}`, id)
		},
		"/twice": func(id string, w http.ResponseWriter, _ *http.Request) { writeDocument(w, id, `,"client_name":"x"`) },
		"/slow": func(_ string, w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		},
	}
	s := newDocumentSite(t, func(id string, w http.ResponseWriter, r *http.Request) { documents[r.URL.Path](id, w, r) })
	s.client.Timeout = time.Second // for the slow one: the others fail as fast as they can
	for path := range documents {
		for range 2 { // the second time without a fetch
			c, _, err := s.cache.find(t.Context(), s.id(path), limit.Network(testAddress))
			if !loci.Is(err, loci.CodeInvalidQuery) || c.ID != "" {
				t.Errorf("%s: %+v, %v", path, c, err)
			}
		}
	}
	testenv.Equal(t, int(s.calls.Load()), len(documents), "fetches")
	s.pass(failedFetchAge)
	if _, _, err := s.cache.find(t.Context(), s.id("/missing"), limit.Network(testAddress)); err == nil ||
		int(s.calls.Load()) != len(documents)+1 {
		t.Errorf("a failure is kept for too long: %v", err)
	}
}

func TestClientDocumentsOfPrivateAddressesAreNotFetched(t *testing.T) {
	t.Parallel()
	s := newDocumentSite(t, func(id string, w http.ResponseWriter, _ *http.Request) { writeDocument(w, id, "") })
	client := newDocumentClient(DocumentAccess{})
	if transport := client.Transport.(*http.Transport); transport.Proxy != nil {
		t.Error("a proxy would dial for it")
	}
	cache := newDocumentCache(time.Now, client, 0, nil)
	for _, id := range []string{s.id("/a"), strings.Replace(s.id("/b"), "127.0.0.1", "localhost", 1)} {
		if _, _, err := cache.find(t.Context(), id, limit.Network(testAddress)); !loci.Is(err, loci.CodeInvalidQuery) ||
			strings.Contains(err.Error(), "public") {
			t.Errorf("%s: %v", id, err)
		}
	}
	testenv.Equal(t, s.calls.Load(), 0, "fetches")
}

func TestClientDocumentAddressHasOneSpelling(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]bool{"https://a.example/client.json": true, "https://a.example:8443/x/": true,
		"https://a.example": false, "https://a.example/": false, "http://a.example/x": false, "https:///x": false,
		"https://u@a.example/x": false, "https://a.example/x?y": false, "https://a.example/x#y": false,
		"https://a.example/x/../y": false, "https://a.example/./y": false, "https://a.example/%2e%2E/y": false,
		"https://a.example/x\n": false, "https://ä.example/x": false, "https://a.example\\x": false,
		"https://a.example/" + strings.Repeat("x", maxURI): false} {
		if host, err := checkDocumentID(id); (err == nil) != want || want && !strings.Contains(id, host) {
			t.Errorf("%q: %q, %v", id, host, err)
		}
	}
}

func TestClientDocumentFreshnessIsBounded(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]time.Duration{"": documentAge, "max-age=600": 600 * time.Second,
		"max-age=0": minDocumentAge, "max-age=-5": minDocumentAge, "no-store, max-age=600": minDocumentAge,
		"max-age=600, no-cache": minDocumentAge, "MAX-AGE=99999999999999999": maxDocumentAge,
		"max-age=999999999": maxDocumentAge, "private,max-age=\"120\"": 2 * time.Minute, "max-age=x": documentAge} {
		testenv.Equal(t, freshness(http.Header{"Cache-Control": {header}}), want, header)
	}
}

// FuzzDocumentID checks that an accepted address is dialled at the host that pages show.
func FuzzDocumentID(f *testing.F) {
	for _, id := range []string{"https://a.example/x", "https://a.example/%2e./x", "https://u:p@a.example/x",
		"https://a.example\\@b.example/x", "https://[::1]/x", "httpS://a.example/x"} {
		f.Add(id)
	}
	f.Fuzz(func(t *testing.T, id string) {
		host, err := checkDocumentID(id)
		if err != nil {
			return
		}
		r, err := http.NewRequest(http.MethodGet, id, nil)
		if err != nil || r.URL.Host != host || r.URL.Scheme != "https" || r.URL.User != nil || r.URL.RawQuery != "" ||
			!isDocumentID(id) || r.URL.String() != id {
			t.Errorf("%q is of %q: %v, %v", id, host, r, err)
		}
	})
}

func TestClientWithDocumentNeedsNoRegistration(t *testing.T) {
	t.Parallel()
	site := newDocumentSite(t, func(id string, w http.ResponseWriter, _ *http.Request) { writeDocument(w, id, "") })
	s, _, h := newTestServer(t)
	id := site.id("/client.json")
	query := authorizeQuery("client_id", id, "redirect_uri", "https://app.example/cb")
	if _, _, err := s.Authorize(t.Context(), query, testAddress); !loci.Is(err, loci.CodeInvalidQuery) ||
		site.calls.Load() != 0 {
		t.Errorf("while documents are off: %v", err)
	}
	s.documents = site.cache
	_, a, err := s.Authorize(t.Context(), query, testAddress)
	if err != nil || a.ClientName != "Site" || "https://"+a.ClientHost != site.URL {
		t.Errorf("%+v, %v", a, err)
	}
	if _, _, err := s.Authorize(t.Context(), authorizeQuery("client_id", id), testAddress); !loci.Is(err,
		loci.CodeInvalidQuery) {
		t.Errorf("a redirect that the document lacks: %v", err)
	}
	form := "grant_type=refresh_token&refresh_token=x&client_id=" + id
	w := callEndpoint(h, "/oauth/token", "application/x-www-form-urlencoded", form)
	if n := site.calls.Load(); w.Code != 400 || !strings.Contains(w.Body.String(), codeInvalidGrant) || n != 1 {
		t.Errorf("%d %s after %d fetches", w.Code, w.Body, n)
	}
}

// findDocument asks for a document, and returns the error.
func (s *documentSite) findDocument(t *testing.T, path, network string) error {
	_, _, err := s.cache.find(t.Context(), s.id(path), limit.Network(network))
	return err
}

func TestNetworkMakesServerFetchFewDocuments(t *testing.T) {
	t.Parallel()
	s := newDocumentSite(t, func(id string, w http.ResponseWriter, _ *http.Request) { writeDocument(w, id, "") })
	for i := range 20 {
		if err := s.findDocument(t, fmt.Sprintf("/%d", i), "192.0.2.1"); err != nil {
			t.Fatal(i, err)
		}
	}
	err := s.findDocument(t, "/more", "192.0.2.1")
	if !loci.Is(err, loci.CodeRateLimited) || loci.AsError(err).RetryAfter != 15*time.Minute ||
		!strings.Contains(err.Error(), "Your network") {
		t.Errorf("fetch 21: %v", err)
	}
	testenv.Equal(t, s.findDocument(t, "/3", "192.0.2.1"), nil, "a document that is kept")
	testenv.Equal(t, s.findDocument(t, "/more", "192.0.2.2"), nil, "another network")
	s.pass(15 * time.Minute)
	testenv.Equal(t, s.findDocument(t, "/again", "192.0.2.1"), nil, "after 15 minutes")
	testenv.Equal(t, s.calls.Load(), 22, "fetches")
}

func TestHostThatFailsIsLeftAlone(t *testing.T) {
	t.Parallel()
	gone := false
	s := newDocumentSite(t, func(id string, w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/missing") || gone {
			http.NotFound(w, r)
			return
		}
		writeDocument(w, id, "")
	})
	testenv.NoError(t, s.findDocument(t, "/known", "192.0.2.1"))
	s.pass(documentAge)
	for i := range 60 {
		path, network := fmt.Sprintf("/missing/%d", i), fmt.Sprintf("198.51.100.%d", i/20)
		if err := s.findDocument(t, path, network); !loci.Is(err, loci.CodeInvalidQuery) {
			t.Fatal(i, err)
		}
	}
	for _, path := range []string{"/missing/more", "/new"} {
		if err := s.findDocument(t, path, "192.0.2.1"); !loci.Is(err, loci.CodeRateLimited) ||
			!strings.Contains(err.Error(), "host") {
			t.Errorf("%s after 60 failures: %v", path, err)
		}
	}
	testenv.Equal(t, s.calls.Load(), 61, "fetches")
	testenv.Equal(t, s.findDocument(t, "/known", "192.0.2.1"), nil, "strangers shut a known program out")
	s.pass(documentAge)
	gone = true
	if err := s.findDocument(t, "/known", "192.0.2.1"); !loci.Is(err, loci.CodeInvalidQuery) {
		t.Errorf("a known document is gone: %v", err)
	}
	s.pass(failedFetchAge)
	gone = false
	testenv.Equal(t, s.findDocument(t, "/known", "192.0.2.1"), nil, "a known document is back")
}

func TestHostIsAskedForOneDocumentAtATime(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	s := newDocumentSite(t, func(id string, w http.ResponseWriter, _ *http.Request) {
		<-release
		writeDocument(w, id, "")
	})
	var first error
	var group sync.WaitGroup
	group.Go(func() { first = s.findDocument(t, "/a", "192.0.2.1") })
	waittest.Until(t, func() bool { return s.calls.Load() > 0 })
	for _, id := range []string{s.id("/b"), "https://127.0.0.1:1/another-port"} {
		_, _, err := s.cache.find(t.Context(), id, limit.Network("192.0.2.2"))
		if !loci.Is(err, loci.CodeRateLimited) || loci.AsError(err).RetryAfter != documentTimeout {
			t.Errorf("%s: %v", id, err)
		}
	}
	close(release)
	group.Wait()
	if err := s.findDocument(t, "/b", "192.0.2.2"); first != nil || err != nil || s.calls.Load() != 2 {
		t.Errorf("%v, %v after %d fetches", first, err, s.calls.Load())
	}
}

func TestNetworkLeavesFetchesToOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, leaveFetchesToOthers)
}

func leaveFetchesToOthers(t *testing.T) {
	l := newFetchLimits(time.Now, 0)
	held := 0
	for i := range maxFetches {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		host := limit.Network(fmt.Sprintf("slow%d.example", i))
		if _, err := l.acquire(ctx, limit.Network("192.0.2.1"), host, false); err == nil {
			held++
		} else if !loci.Is(err, loci.CodeUnavailable) {
			t.Error(err)
		}
		cancel()
	}
	testenv.Equal(t, held, 6, "a network holds", maxFetches)
	release, err := l.acquire(t.Context(), limit.Network("192.0.2.2"), limit.Network("other.example"), false)
	if err != nil {
		t.Fatalf("another network: %v", err)
	}
	release(true)
	testenv.Equal(t, l.busy.InUse(), held, "hosts are busy")
}
