package client

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/testenv"
)

// A fileServer exchanges keys for file tokens, and accepts the newest token for files.
type fileServer struct {
	mu        sync.Mutex
	exchanges int
	broken    int // connections of exchanges that are still to break
	lifetime  time.Duration
	rejects   bool     // no token is accepted
	calls     []string // METHOD path credential
}

func (s *fileServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	credential := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	s.calls = append(s.calls, r.Method+" "+r.URL.Path+" "+credential)
	switch {
	case r.URL.Path == "/functions/v1/loci/auth/exchange" && s.broken > 0:
		s.broken--
		panic(http.ErrAbortHandler)
	case r.URL.Path == "/functions/v1/loci/auth/exchange" && credential == "loci_live_x":
		s.exchanges++
		_, _ = fmt.Fprintf(w, `{"ok":true,"token":"t%d","expiresAt":%q}`, s.exchanges,
			time.Now().Add(s.lifetime).UTC().Format(time.RFC3339Nano))
	case strings.HasPrefix(r.URL.Path, storagePath) && !s.rejects && credential == fmt.Sprint("t", s.exchanges),
		r.URL.Path == "/v1/me" && credential == "loci_live_x":
		_, _ = io.WriteString(w, `{"ok":true}`)
	default:
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, `{"ok":false,"code":"invalid_key","message":"It is not valid."}`)
	}
}

// startFileServer returns the server and a client of it.
func startFileServer(t *testing.T, lifetime time.Duration) (*fileServer, *Client) {
	t.Helper()
	s := &fileServer{lifetime: lifetime}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	c := testenv.Must(New(server.URL, WithKey("loci_live_x"), WithRetry(3, time.Millisecond)))(t)
	return s, c
}

func TestOperationsOfFilesShareOneFileToken(t *testing.T) {
	t.Parallel()
	s, c := startFileServer(t, 10*time.Minute)
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if _, err := c.AttachmentDownload(t.Context(), loci.GetAttachment{AttachmentID: "a"}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if _, err := c.AccountMe(t.Context()); err != nil || s.exchanges != 1 {
		t.Errorf("%v, %d exchanges: %q", err, s.exchanges, s.calls)
	}
}

func TestFileTokenIsReplacedAtItsEndAndAfterRefusal(t *testing.T) {
	t.Parallel()
	in := loci.GetAttachment{AttachmentID: "a"}
	s, c := startFileServer(t, fileTokenMargin)
	for n := range 3 {
		if _, err := c.AttachmentConfirm(t.Context(), in); err != nil || s.exchanges != n+1 {
			t.Errorf("a token at its end: %v, %d exchanges", err, s.exchanges)
		}
	}
	s, c = startFileServer(t, time.Hour)
	testenv.Must(c.AttachmentConfirm(t.Context(), in))(t)
	s.exchanges++ // the server takes none of the older ones
	if _, err := c.AttachmentConfirm(t.Context(), in); err != nil || s.exchanges != 3 {
		t.Errorf("a refused token: %v, %d exchanges", err, s.exchanges)
	}
	s.rejects = true
	if _, err := c.AttachmentConfirm(t.Context(), in); !loci.Is(err, loci.CodeInvalidKey) || s.exchanges != 4 {
		t.Errorf("every token is refused: %v, %d exchanges", err, s.exchanges)
	}
}

func TestExchangeIsRepeatedAfterBrokenConnection(t *testing.T) {
	t.Parallel()
	s, c := startFileServer(t, time.Hour)
	s.broken = 2
	if _, err := c.AttachmentDelete(t.Context(), loci.DeleteAttachments{}); err != nil || len(s.calls) != 4 {
		t.Errorf("%v %q", err, s.calls)
	}
}

func TestRefusedExchangeEndsOperation(t *testing.T) {
	t.Parallel()
	s, _ := startFileServer(t, time.Hour)
	server := httptest.NewServer(s)
	defer server.Close()
	c := testenv.Must(New(server.URL, WithKey("loci_live_y")))(t)
	if _, err := c.AttachmentUpload(t.Context(), loci.UploadAttachment{}); !loci.Is(err, loci.CodeInvalidKey) ||
		len(s.calls) != 1 {
		t.Errorf("%v %q", err, s.calls)
	}
}
