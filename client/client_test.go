package client

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/testenv"
)

func TestNewRejectsCredentialOverPlainHTTP(t *testing.T) {
	t.Parallel()
	key, tokens := WithKey("loci_live_x"), WithTokenSource(tokensInOrder("good"))
	for address, ok := range map[string]bool{
		"https://loci.example.org": true, "http://127.0.0.1:7007": true, "http://localhost:7007": true,
		"http://[::1]:7007/sub/":  true,
		"http://loci.example.org": false, "http://127.0.0.1.example.org": false, "http://localhost.example.org": false,
		"loci.example.org": false, "ftp://127.0.0.1": false, "https://a:b@loci.example.org": false,
		"https://loci.example.org/?k=1": false, "": false,
	} {
		for _, credential := range []Option{key, tokens} {
			if _, err := New(address, credential); (err == nil) != ok || !ok && !loci.Is(err, loci.CodeInvalidQuery) {
				t.Errorf("%s: %v", address, err)
			}
		}
	}
	_ = testenv.Must(New("http://loci.example.org"))(t)
	_ = testenv.Must(New("http://loci.example.org", key, WithPlainHTTP()))(t)
	_ = testenv.Must(New("http://loci.example.org", tokens, WithPlainHTTP()))(t)
	if _, err := New("https://loci.example.org", tokens, key); !loci.Is(err, loci.CodeInvalidQuery) {
		t.Errorf("tokens beside a key: %v", err)
	}
	if _, err := New("https://loci.example.org", WithKey("a\nb")); err == nil || strings.Contains(err.Error(), "a\nb") {
		t.Errorf("a broken key: %v", err)
	}
}

// recordedRequest is a request as a server received it.
type recordedRequest struct {
	line   string
	header http.Header
	body   string
}

// newTestServer returns a client of a server that responds to every request with 200 and records it.
func newTestServer(t *testing.T, answer string) (*Client, *recordedRequest) {
	last := &recordedRequest{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		*last = recordedRequest{r.Method + " " + r.RequestURI, r.Header, string(body)}
		w.Header().Set("ETag", `"e"`)
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(server.Close)
	c := testenv.Must(New(server.URL+"/", WithKey("loci_live_x"), WithUserAgent("tester")))(t)
	return c, last
}

func TestDoPlacesFieldsInPathQueryAndBody(t *testing.T) {
	t.Parallel()
	c, last := newTestServer(t, `{"ok":true}`)
	limit := loci.ListMemories{Paging: loci.Paging{Limit: 5},
		MemoryFilter: loci.MemoryFilter{AtlasID: "a b", Type: []loci.MemoryType{"fact", "note"},
			Tags: loci.Tags{"x,y", `z\`}, Include: []loci.Include{}}}
	keywords := loci.Keywords{"<x>"}
	for want, do := range map[string]func() error{
		"GET /v1/memories?atlas_id=a+b&limit=5&tags=x%5C%2Cy&tags=z%5C&type=fact&type=note ": func() error {
			_, err := do[loci.Memories](t.Context(), c, "GET /v1/memories", limit, nil)
			return err
		},
		"GET /v1/memories/" + anID + " ": func() error {
			_, err := do[loci.MemoryDetail](t.Context(), c, "GET /v1/memories/{memoryId}",
				loci.GetMemory{MemoryID: anID}, nil)
			return err
		},
		"GET /v1/things/- ": func() error { // what is no id is a segment of no route
			_, err := c.Do(t.Context(), "GET", "/v1/things/{name}", []byte(`{"name":"context"}`))
			return err
		},
		"PATCH /v1/atlases/" + anID + ` {"keywords":["\u003cx\u003e"]}`: func() error {
			_, err := do[loci.OneAtlas](t.Context(), c, "PATCH /v1/atlases/{atlasId}",
				loci.UpdateAtlas{AtlasID: anID, Keywords: &keywords}, nil)
			return err
		},
		"PUT /v1/auto?type=fact&workspace_id=a+b" + ` {"paused":true}`: func() error {
			_, err := c.Do(t.Context(), "PUT", "/v1/auto?workspace_id,type",
				[]byte(`{"paused":true,"type":["fact"],"workspace_id":"a b"}`))
			return err
		},
		"GET /v1/me ": func() error {
			_, err := do[loci.OneUser](t.Context(), c, "GET /v1/me", loci.Empty{}, nil)
			return err
		},
	} {
		if err := do(); err != nil || last.line+" "+last.body != want {
			t.Errorf("%v\ngot  %s %s\nwant %s", err, last.line, last.body, want)
		}
	}
}

const anID = "01890000-0000-7000-8000-000000000001"

// An invalid id, such as a literal of another route or one with path separators, reaches the intended operation.
func TestDoEscapesInvalidID(t *testing.T) {
	t.Parallel()
	c, last := newTestServer(t, `{"ok":true}`)
	for _, id := range []string{"context", "search", "a/b", "a?b", "..", ".", "",
		strings.ToUpper("0189abcd-0000-7000-8000-000000000001"), anID + "/versions"} {
		if _, err := c.MemoryGet(t.Context(), loci.GetMemory{MemoryID: loci.ID(id)}); err != nil ||
			last.line != "GET /v1/memories/-" {
			t.Errorf("%q: %s %v", id, last.line, err)
		}
		if _, err := c.MemoryVersions(t.Context(), loci.ListVersions{MemoryID: loci.ID(id)}); err != nil ||
			last.line != "GET /v1/memories/-/versions" {
			t.Errorf("%q: %s %v", id, last.line, err)
		}
	}
}

func TestDoSendsHeaders(t *testing.T) {
	t.Parallel()
	c, last := newTestServer(t, `{"ok":true,"memory":{"id":"7"}}`)
	var answer http.Header
	out, err := do[loci.CreatedMemory](t.Context(), c, "POST /v1/memories", loci.CreateMemory{Content: "x"},
		[]CallOption{IdempotencyKey("once"), IfMatch(`"t"`), RequestID("r"), AsAgent(), WithResponseHeader(&answer)})
	if err != nil || out.Memory.ID != "7" || answer.Get("ETag") != `"e"` {
		t.Errorf("%+v %v %v", out, answer, err)
	}
	for name, want := range map[string]string{"Authorization": "Bearer loci_live_x", "Idempotency-Key": "once",
		"If-Match": `"t"`, "X-Request-Id": "r",
		"X-Loci-Actor": "agent", "Content-Type": "application/json", "User-Agent": "tester"} {
		testenv.Equal(t, last.header.Get(name), want, name)
	}
}

func TestDoRejectsUnreadableResponse(t *testing.T) {
	t.Parallel()
	c, _ := newTestServer(t, `<html>`)
	if _, err := do[loci.OneUser](t.Context(), c, "GET /v1/me", loci.Empty{}, nil); !loci.Is(err,
		loci.CodeInternalError) {
		t.Errorf("%v", err)
	}
	if _, err := c.Do(t.Context(), "GET", "/v1/me", []byte("[]")); !loci.Is(err, loci.CodeInvalidQuery) {
		t.Errorf("no object: %v", err)
	}
}

func TestDoReturnsServerError(t *testing.T) {
	t.Parallel()
	status, header, body := 0, "", ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		name, value, _ := strings.Cut(header, ": ")
		w.Header().Set(name, value)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	defer server.Close()
	c := testenv.Must(New(server.URL, WithRetry(1, 0)))(t)
	problem, _ := json.Marshal(map[string]string{"error": "not_found", "code": "not_found", "message": "Gone."})
	for _, a := range []struct {
		status       int
		header, body string
		code         loci.Code
		hint         string
		seconds      float64
	}{
		{404, "X-A: b", string(problem), loci.CodeNotFound, "Gone.", 0},
		{429, "Retry-After: 7", `{"code":"rate_limited","message":"Slower."}`, loci.CodeRateLimited, "Slower.", 7},
		{418, "X-A: b", `{"code":"new_code","message":"New."}`, "new_code", "New.", 0},
		{502, "X-A: b", "<html>", loci.CodeUnavailable, "502 Bad Gateway, and not as Loci does", 0},
		{403, "X-A: b", "", loci.CodeForbidden, "403 Forbidden", 0},
		{301, "Location: https://other.example.org/", "", loci.CodeInternalError, "use that address", 0},
	} {
		status, header, body = a.status, a.header, a.body
		_, err := c.roundTrip(t.Context(), "GET", "/v1/me", nil, nil)
		e := loci.AsError(err)
		if e.Code != a.code || !strings.Contains(e.Message, a.hint) || e.RetryAfter.Seconds() != a.seconds {
			t.Errorf("%d: %+v", a.status, e)
		}
	}
}

func TestDoReturnsUnavailableWhenServerIsDown(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	c, err := New(server.URL, WithKey("loci_live_secret"), WithRetry(1, 0))
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.roundTrip(t.Context(), "GET", "/v1/me", nil, nil)
	if !loci.Is(err, loci.CodeUnavailable) || strings.Contains(err.Error(), "secret") ||
		!strings.Contains(err.Error(), server.URL) {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.roundTrip(ctx, "GET", "/v1/me", nil, nil); err != context.Canceled {
		t.Errorf("canceled: %v", err)
	}
}

func TestMethodsForAgentsNameTheAgent(t *testing.T) {
	t.Parallel()
	c, last := newTestServer(t, `{"ok":true}`)
	if _, err := c.AgentInbox(t.Context(), loci.ListInbox{}); err != nil ||
		last.header.Get("X-Loci-Actor") != "agent" {
		t.Errorf("%v %v", err, last.header)
	}
	if _, err := c.AgentList(t.Context(), loci.ListAgents{}); err != nil || last.header.Get("X-Loci-Actor") != "" {
		t.Errorf("%v %v", err, last.header)
	}
}
