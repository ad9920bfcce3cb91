package oauth

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/limit"
	"github.com/loci-memory/loci/internal/testenv"
	"github.com/loci-memory/loci/internal/waittest"
)

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
	if err := s.findDocument(t, "/3", "192.0.2.1"); err != nil {
		t.Errorf("a document that is kept: %v", err)
	}
	if err := s.findDocument(t, "/more", "192.0.2.2"); err != nil {
		t.Errorf("another network: %v", err)
	}
	s.pass(15 * time.Minute)
	if err := s.findDocument(t, "/again", "192.0.2.1"); err != nil {
		t.Errorf("after 15 minutes: %v", err)
	}
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
	if err := s.findDocument(t, "/known", "192.0.2.1"); err != nil {
		t.Errorf("strangers shut a known program out: %v", err)
	}
	s.pass(documentAge)
	gone = true
	if err := s.findDocument(t, "/known", "192.0.2.1"); !loci.Is(err, loci.CodeInvalidQuery) {
		t.Errorf("a known document is gone: %v", err)
	}
	s.pass(failedFetchAge)
	gone = false
	if err := s.findDocument(t, "/known", "192.0.2.1"); err != nil {
		t.Errorf("a known document is back: %v", err)
	}
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
