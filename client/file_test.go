package client

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/testenv"
)

// newFileClient returns a client with every kind of credential, for the server at address.
func newFileClient(t *testing.T, address string) *Client {
	t.Helper()
	jar := testenv.Must(cookiejar.New(nil))(t)
	u := testenv.Must(url.Parse(address))(t)
	jar.SetCookies(u, []*http.Cookie{{Name: "session", Value: "s"}})
	c := testenv.Must(New("https://loci.example.org", WithKey("loci_live_x"),
		WithHTTP(&http.Client{Transport: testenv.Transport, Jar: jar})))(t)
	c.stall = 5 * time.Second
	return c
}

// uploadTo returns an upload of size bytes.
func uploadTo(address string, size int) loci.Upload {
	return loci.Upload{Attachment: loci.Attachment{Size: int64(size)}, UploadURL: address + "/o?signature=secret",
		Method: "PUT", Headers: map[string]string{"Content-Type": "text/plain", "If-None-Match": "*",
			"Content-Length": fmt.Sprint(size)}}
}

func TestPutFileSendsHeadersOfUploadAlone(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 1, 1 << 20} {
		var got recordedRequest
		var length int64
		var chunked []string
		server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			got = recordedRequest{r.Method + " " + r.RequestURI, r.Header, string(body)}
			length, chunked = r.ContentLength, r.TransferEncoding
		}))
		defer server.Close()
		c := newFileClient(t, server.URL)
		body := strings.Repeat("x", size)
		testenv.NoError(t, c.PutFile(t.Context(), uploadTo(server.URL, size), io.LimitReader(strings.NewReader(body),
			int64(size))))
		got.header.Del("Accept-Encoding") // of the transport of WithHTTP
		names := slices.Sorted(maps.Keys(got.header))
		if got.line != "PUT /o?signature=secret" || got.body != body || length != int64(size) || chunked != nil ||
			!slices.Equal(names, []string{"Content-Length", "Content-Type", "If-None-Match"}) {
			t.Errorf("%d bytes: %s, length %d %v, %v, %d arrived", size, got.line, length, chunked, got.header,
				len(got.body))
		}
	}
}

func TestPutFileReturnsErrorOfBody(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
	}))
	defer server.Close()
	errChanged := errors.New("the file has changed")
	body := io.MultiReader(strings.NewReader("abc"), readerFunc(func([]byte) (int, error) { return 0, errChanged }))
	if err := newFileClient(t, server.URL).PutFile(t.Context(), uploadTo(server.URL, 9), body); err != errChanged {
		t.Errorf("%v", err)
	}
	err := newFileClient(t, server.URL).PutFile(t.Context(), uploadTo(server.URL, 9), strings.NewReader("abc"))
	if !loci.Is(err, loci.CodeUnavailable) || strings.Contains(err.Error(), "secret") {
		t.Errorf("a short body: %v", err)
	}
}

// A readerFunc is a function that reads.
type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func TestPutFileReturnsRefusal(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		status      int
		after, body string
		code        loci.Code
		wait        time.Duration
	}{
		"of Loci": {409, "", `{"ok":false,"code":"state_conflict","message":"The file was uploaded already."}`,
			loci.CodeStateConflict, 0},
		"of Loci, busy": {409, "10", `{"ok":false,"code":"state_conflict","message":"Another upload is running."}`,
			loci.CodeStateConflict, 10 * time.Second},
		"of a bucket, stored":  {412, "", `<Error><Code>PreconditionFailed</Code></Error>`, loci.CodeStateConflict, 0},
		"of a bucket, busy":    {409, "", `<Error/>`, loci.CodeStateConflict, time.Second},
		"of a bucket, expired": {403, "", `<Error/>`, loci.CodeForbidden, 0},
		"of a bucket, broken":  {500, "", `<Error/>`, loci.CodeUnavailable, 0},
		"of a proxy":           {502, "", `<html>`, loci.CodeUnavailable, 0},
		"a redirect":           {307, "", "", loci.CodeInternalError, 0},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			w.Header().Set("Location", "/elsewhere")
			if x.after != "" {
				w.Header().Set("Retry-After", x.after)
			}
			w.WriteHeader(x.status)
			_, _ = io.WriteString(w, x.body)
		}))
		defer server.Close()
		err := newFileClient(t, server.URL).PutFile(t.Context(), uploadTo(server.URL, 3), strings.NewReader("abc"))
		if e := loci.AsError(err); e.Code != x.code || e.RetryAfter != x.wait || strings.Contains(e.Message, "secret") {
			t.Errorf("%s: %v (%s), wait %v", name, err, e.Code, e.RetryAfter)
		}
	}
}

// newDownload serves content as Loci does, and records the last request.
func newDownload(t *testing.T, content []byte) (address, etag string, last *recordedRequest) {
	t.Helper()
	etag, last = fmt.Sprintf(`"%x"`, sha256.Sum256(content)), &recordedRequest{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*last = recordedRequest{r.Method + " " + r.RequestURI, r.Header, ""}
		w.Header().Set("ETag", etag)
		w.Header().Set("Content-Disposition", `attachment; filename="n_.txt"; filename*=UTF-8''n%C3%A9.txt`)
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
	}))
	t.Cleanup(server.Close)
	return server.URL + "/o?signature=secret", etag, last
}

func TestGetFileReadsFromOffsetWhileTheFileIsTheSame(t *testing.T) {
	t.Parallel()
	address, etag, last := newDownload(t, []byte("0123456789"))
	c := newFileClient(t, address)
	for _, x := range []struct {
		offset    int64
		etag      string
		want      string
		wantStart int64
	}{{0, "", "0123456789", 0}, {0, etag, "0123456789", 0}, {4, etag, "456789", 4}, {4, "", "456789", 4},
		{4, `"other"`, "0123456789", 0}} {
		f := testenv.Must(c.GetFile(t.Context(), address, x.offset, x.etag))(t)
		got, err := io.ReadAll(f)
		if err != nil || string(got) != x.want || f.Offset != x.wantStart || f.Size != 10 || f.ETag != etag ||
			f.Name != "né.txt" || f.Close() != nil {
			t.Errorf("%+v: %q %v %+v", x, got, err, f)
		}
		for _, name := range []string{"Authorization", "Cookie", "User-Agent"} {
			testenv.Equal(t, last.header.Get(name), "", name)
		}
	}
}

func TestGetFileRefusesAnotherRange(t *testing.T) {
	t.Parallel()
	for _, content := range []string{"bytes 3-9/10", "bytes 4-8/10", "bytes 4-9/*", "", "x"} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Range", content)
			w.WriteHeader(http.StatusPartialContent)
		}))
		defer server.Close()
		if _, err := newFileClient(t, server.URL).GetFile(t.Context(), server.URL, 4, ""); !loci.Is(err,
			loci.CodeUnavailable) {
			t.Errorf("%q: %v", content, err)
		}
	}
}

func TestTransfersEndWithoutProgressAndWithContext(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			w.Header().Set("Content-Length", "10")
			_, _ = io.WriteString(w, "0123")
			_ = http.NewResponseController(w).Flush()
		}
		<-release
	}))
	defer server.Close()
	defer close(release)
	c := newFileClient(t, server.URL)
	c.stall = time.Second
	f := testenv.Must(c.GetFile(t.Context(), server.URL, 0, ""))(t)
	got, err := io.ReadAll(f)
	f.Close()
	if string(got) != "0123" || !loci.Is(err, loci.CodeUnavailable) || !strings.Contains(err.Error(), "no progress") {
		t.Errorf("a download: %q %v", got, err)
	}
	err = c.PutFile(t.Context(), uploadTo(server.URL, 3), strings.NewReader("abc"))
	if !loci.Is(err, loci.CodeUnavailable) || !strings.Contains(err.Error(), "no progress") {
		t.Errorf("an upload: %v", err)
	}
	c.stall = time.Minute
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err = c.PutFile(ctx, uploadTo(server.URL, 3), strings.NewReader("abc")); !errors.Is(err,
		context.DeadlineExceeded) {
		t.Errorf("a deadline: %v", err)
	}
}

func TestBrokenConnectionIsUnavailable(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut {
			_, _ = io.CopyN(io.Discard, r.Body, 1<<20)
			panic(http.ErrAbortHandler)
		}
		w.Header().Set("Content-Length", "10")
		_, _ = io.WriteString(w, "0123")
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}))
	defer server.Close()
	c := newFileClient(t, server.URL)
	f := testenv.Must(c.GetFile(t.Context(), server.URL, 0, ""))(t)
	defer f.Close()
	if got, err := io.ReadAll(f); string(got) != "0123" || !loci.Is(err, loci.CodeUnavailable) {
		t.Errorf("a download: %q %v", got, err)
	}
	const size = 16 << 20
	if err := c.PutFile(t.Context(), uploadTo(server.URL, size),
		strings.NewReader(strings.Repeat("x", size))); !loci.Is(err, loci.CodeUnavailable) {
		t.Errorf("an upload: %v", err)
	}
}

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
			testenv.Equal(t, testenv.ErrorOf(c.AttachmentDownload(t.Context(), loci.GetAttachment{AttachmentID: "a"})),
				nil)
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
