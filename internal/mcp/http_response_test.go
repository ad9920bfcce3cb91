package mcp_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"
	"weak"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/httpapi"
	"github.com/loci-memory/loci/internal/testenv"
)

// messagePaths are messages of different handlers.
var messagePaths = map[string]string{
	"call": `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"memory_list"}}`,
	"list": `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`,
	"initialize": `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",` +
		`"capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`,
	"unknown":     `{"jsonrpc":"2.0","id":1,"method":"memories/steal","params":{}}`,
	"no JSON-RPC": `{"jsonrpc":"1.0"}`,
}

// A watchedBody notes where its reader put it.
type watchedBody struct {
	strings.Reader
	buffer weak.Pointer[byte]
}

func (b *watchedBody) Read(p []byte) (int, error) {
	b.buffer = weak.Make(&p[0])
	return b.Reader.Read(p)
}

func (b *watchedBody) Close() error { return nil }

// A slowReader calls a function before it takes an answer.
type slowReader struct {
	*httptest.ResponseRecorder
	before func()
}

func (w *slowReader) Write(p []byte) (int, error) {
	w.before()
	return w.ResponseRecorder.Write(p)
}

func postRequest(t *testing.T, body *watchedBody) *http.Request {
	r := httptest.NewRequestWithContext(t.Context(), "POST", "http://localhost/mcp", body)
	r.Header.Set("Authorization", "Bearer ann")
	r.Header.Set("Content-Type", "application/json")
	return r
}

func TestHTTPReleasesRequestBeforeWritingResponse(t *testing.T) {
	t.Parallel()
	h := newFakeService().newServer().HTTP()
	for way, message := range messagePaths {
		body := &watchedBody{Reader: *strings.NewReader(message + strings.Repeat(" ", 300<<10))}
		kept, written := true, false
		w := &slowReader{httptest.NewRecorder(), func() {
			for range 100 {
				if runtime.GC(); body.buffer.Value() == nil {
					kept = false
					break
				}
			}
			written = true
		}}
		r := postRequest(t, body)
		h.ServeHTTP(w, r)
		if kept || !written {
			t.Errorf("%s: kept %v, written %v: %d %.100s", way, kept, written, w.Code, w.Body)
		}
		runtime.KeepAlive(r)
	}
}

// TestHTTPLimitsUnreadResponsesOnAllPaths lets one user leave answers unread up to the bound.
func TestHTTPLimitsUnreadResponsesOnAllPaths(t *testing.T) {
	t.Parallel()
	s := newFakeService()
	d := s.newServer()
	d.ResponseLimiter = httpapi.NewResponseLimiter()
	h := d.HTTP()
	for range 10 {
		s.memories = append(s.memories, loci.Memory{ID: loci.NewID(time.Now()), Title: "x",
			Content: strings.Repeat("\u0007\"", 800)})
	}
	end := testenv.Must(d.ResponseLimiter.Acquire(t.Context(), "ann", 100<<20, true))(t)
	for way, status := range map[string]int{"call": 503, "list": 200} { // the list of tools is small
		body := &watchedBody{Reader: *strings.NewReader(messagePaths[way])}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, postRequest(t, body))
		var p struct{ Code string }
		_ = json.Unmarshal(w.Body.Bytes(), &p) // an answer that is no problem has no code
		if w.Code != status || status == 503 && (p.Code != "unavailable" || w.Header().Get("Retry-After") == "") {
			t.Errorf("%s: %d %.200s", way, w.Code, w.Body)
		}
	}
	end()
	w := httptest.NewRecorder()
	if h.ServeHTTP(w, postRequest(t, &watchedBody{Reader: *strings.NewReader(messagePaths["call"])})); w.Code != 200 ||
		w.Body.Len() <= 32<<10 {
		t.Errorf("%d with %d bytes", w.Code, w.Body.Len())
	}
}
