package client

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/testenv"
)

// A streamServer answers each connection with the next step. The last step repeats.
type streamServer struct {
	steps []http.HandlerFunc

	mu       sync.Mutex
	requests []*http.Request
}

func (s *streamServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	step := s.steps[min(len(s.requests), len(s.steps)-1)]
	s.requests = append(s.requests, r)
	s.mu.Unlock()
	step(w, r)
}

// lastEventIDs returns the header of each request.
func (s *streamServer) lastEventIDs() (ids []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.requests {
		ids = append(ids, r.Header.Get("Last-Event-ID"))
	}
	return ids
}

// stream is a step that sends a text and ends the connection.
func stream(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, text)
	}
}

// hold is a step that sends a text and then nothing.
func hold(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		stream(text)(w, r)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}
}

// refuse is a step that answers with an error.
func refuse(status int, body string, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for _, line := range header {
			name, value, _ := strings.Cut(line, ": ")
			w.Header().Set(name, value)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func ready(ids ...string) string {
	unread := []loci.InboxMessage{}
	for _, id := range ids {
		unread = append(unread, loci.InboxMessage{Message: loci.Message{ID: loci.ID(id)}})
	}
	e, _ := json.Marshal(map[string]any{"ok": true, "agentId": "agt_1", "unread": unread})
	return fmt.Sprintf("retry: 1\nevent: ready\ndata: %s\n\n", e)
}

func created(ids ...string) (text string) {
	for _, id := range ids {
		text += fmt.Sprintf("event: message.created\nid: %s\ndata: {\"ok\":true,\"message\":{\"id\":%q}}\n\n", id, id)
	}
	return text
}

const (
	heartbeat = "event: heartbeat\ndata: {\"ok\":true}\n\n"
	revoked   = "event: auth.revoked\ndata: {\"ok\":true}\n\n"
)

// A followed sequence is all that a caller of AgentEvents gets.
type followed struct {
	events     []string // names, with the ids of messages
	reconnects []error
	pauses     []time.Duration
	took       time.Duration
	err        error
}

// A localTransport serves requests by a handler, without a network: the clock of a bubble moves.
type localTransport struct{ http.Handler }

func (l localTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	body, out := io.Pipe()
	w := &localWriter{out: out, status: http.StatusOK, header: http.Header{}, begun: make(chan struct{})}
	context.AfterFunc(r.Context(), func() { _ = out.CloseWithError(r.Context().Err()) })
	go func() {
		served := r.Clone(r.Context())
		served.URL.Scheme, served.URL.Host = "", ""
		l.ServeHTTP(w, served)
		w.Flush()
		_ = out.Close()
	}()
	select {
	case <-w.begun:
		return &http.Response{StatusCode: w.status, Header: w.header, Body: body, Request: r}, nil
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}

// A localWriter is the response to a localTransport.
type localWriter struct {
	out    *io.PipeWriter
	header http.Header
	status int
	once   sync.Once
	begun  chan struct{}
}

func (w *localWriter) Header() http.Header    { return w.header }
func (w *localWriter) WriteHeader(status int) { w.status = status; w.Flush() }
func (w *localWriter) Flush()                 { w.once.Do(func() { close(w.begun) }) }

func (w *localWriter) Write(p []byte) (int, error) {
	w.Flush()
	return w.out.Write(p)
}

// newLocalClient returns a client of a handler, with a key.
func newLocalClient(t *testing.T, h http.Handler) *Client {
	t.Helper()
	c := testenv.Must(New("https://loci.example.org", WithKey("k"),
		WithHTTP(&http.Client{Transport: localTransport{h}})))(t)
	return c
}

// follow reads the events of a server until the final error, by the clock of a bubble.
func follow(t *testing.T, server *streamServer, options ...CallOption) (got followed) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := newLocalClient(t, server).newAgentStream(loci.ListenAgent{},
			append(options, OnReconnect(func(err error, pause time.Duration) {
				got.reconnects, got.pauses = append(got.reconnects, err), append(got.pauses, pause)
			})))
		s.retry, s.silence, s.least = minRetry, time.Second, time.Second
		start := time.Now()
		got.err = s.run(t.Context(), func(e loci.AgentEvent, err error) bool {
			text := e.EventName()
			for _, m := range e.Messages() {
				text += " " + string(m.ID)
			}
			got.events = append(got.events, text)
			return true
		})
		got.took = time.Since(start)
	})
	return got
}

func TestAgentEventsYieldsUnreadThenMessages(t *testing.T) {
	t.Parallel()
	server := &streamServer{steps: []http.HandlerFunc{stream(": hi\n" + ready("1", "2") + created("3") +
		heartbeat + "event: other\ndata: x\n\n" + created("4") + revoked)}}
	got := follow(t, server)
	want := []string{"ready 1 2", "message.created 3", "heartbeat", "message.created 4"}
	if !slices.Equal(got.events, want) || !loci.Is(got.err, loci.CodeRevoked) || got.reconnects != nil {
		t.Errorf("%+v", got)
	}
	r := server.requests[0]
	for name, value := range map[string]string{"X-Loci-Actor": "agent", "Accept": "text/event-stream",
		"Authorization": "Bearer k", "Last-Event-ID": "", "Accept-Encoding": "identity"} {
		testenv.Equal(t, r.Header.Get(name), value, name)
	}
	testenv.Equal(t, r.URL.String(), "/v1/agent-messages/events", r.URL)
}

func TestAgentEventsContinuesAfterLastMessage(t *testing.T) {
	t.Parallel()
	cut := created("9")[:40] // within the data
	for name, c := range map[string]struct {
		steps   []http.HandlerFunc
		events  []string
		ids     []string
		lost    int
		options []CallOption
	}{
		"after a message": {steps: []http.HandlerFunc{stream(ready("1") + created("2", "3"))},
			events: []string{"ready 1", "message.created 2", "message.created 3"}, ids: []string{"", "3"}, lost: 1},
		"after the unread ones": {steps: []http.HandlerFunc{stream(ready("1", "2") + heartbeat)},
			events: []string{"ready 1 2", "heartbeat"}, ids: []string{"", "2"}, lost: 1},
		"without messages": {steps: []http.HandlerFunc{stream(ready()), stream(ready("1"))},
			events: []string{"ready", "ready 1"}, ids: []string{"", "", "1"}, lost: 2},
		"cut in an event": {steps: []http.HandlerFunc{stream(ready() + created("8") + cut),
			stream(ready() + created("9"))},
			events: []string{"ready", "message.created 8", "ready", "message.created 9"}, ids: []string{"", "8", "9"},
			lost: 2},
		"an id that the server does not know": {steps: []http.HandlerFunc{stream(ready("1") + created("5")),
			stream(ready("1", "3") + heartbeat), stream(ready() + created("3", "4"))},
			events: []string{"ready 1", "message.created 5", "ready 3", "heartbeat", "ready", "message.created 4"},
			ids:    []string{"", "5", "3", "4"}, lost: 3},
		"a page of a proxy": {steps: []http.HandlerFunc{refuse(502, "<html>"), stream(ready() + created("1")),
			refuse(502, ""), refuse(404, "404 page not found"), refuse(200, "<html>")},
			events: []string{"ready", "message.created 1"}, ids: []string{"", "", "1", "1", "1", "1"}, lost: 5},
		"an own beginning": {steps: []http.HandlerFunc{stream(ready() + created("8"))},
			events: []string{"ready", "message.created 8"}, ids: []string{"7", "8"}, lost: 1,
			options: []CallOption{LastEventID("7")}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := &streamServer{steps: append(c.steps, stream(revoked))}
			got := follow(t, server, c.options...)
			if !slices.Equal(got.events, c.events) || !loci.Is(got.err, loci.CodeRevoked) {
				t.Errorf("%+v", got)
			}
			if ids := server.lastEventIDs(); !slices.Equal(ids, c.ids) || len(got.reconnects) != c.lost {
				t.Errorf("ids %q, lost %v", ids, got.reconnects)
			}
			for _, err := range got.reconnects {
				if !loci.Is(err, loci.CodeUnavailable) && !strings.Contains(err.Error(), "not as Loci does") {
					t.Errorf("%v", err)
				}
			}
		})
	}
}

func TestAgentEventsEndsAtRefusal(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status int
		body   string
		code   loci.Code
	}{
		{400, `{"code":"invalid_query","message":"x"}`, loci.CodeInvalidQuery},
		{401, `{"code":"invalid_key","message":"x"}`, loci.CodeInvalidKey},
		{403, `{"code":"revoked","message":"x"}`, loci.CodeRevoked},
		{403, `{"code":"forbidden","message":"x"}`, loci.CodeForbidden},
		{404, `{"code":"not_found","message":"x"}`, loci.CodeNotFound},
		{404, "404 page not found", loci.CodeNotFound},
		{429, `{"code":"quota_exceeded","message":"x"}`, loci.CodeQuotaExceeded},
		{200, "<html>", loci.CodeInternalError},
		{301, "", loci.CodeInternalError},
	} {
		got := follow(t, &streamServer{steps: []http.HandlerFunc{refuse(c.status, c.body)}})
		if loci.AsError(got.err).Code != c.code || got.reconnects != nil || got.events != nil {
			t.Errorf("%d %s: %+v", c.status, c.body, got)
		}
	}
	got := follow(t, &streamServer{steps: []http.HandlerFunc{stream(ready()),
		refuse(403, `{"code":"revoked","message":"x"}`)}})
	if !loci.Is(got.err, loci.CodeRevoked) || len(got.reconnects) != 1 {
		t.Errorf("revoked between two connections: %+v", got)
	}
}

func TestAgentEventsObeysRetryAfter(t *testing.T) {
	t.Parallel()
	got := follow(t, &streamServer{steps: []http.HandlerFunc{
		refuse(429, `{"code":"rate_limited","message":"x"}`, "Retry-After: 1"), stream(ready() + revoked)}})
	if len(got.pauses) != 1 || got.pauses[0] != time.Second || got.took != time.Second ||
		!loci.Is(got.reconnects[0], loci.CodeRateLimited) || !loci.Is(got.err, loci.CodeRevoked) {
		t.Errorf("%+v", got)
	}
}

func TestPausesOfStreamGrow(t *testing.T) {
	t.Parallel()
	s := &agentStream{retry: defaultRetry}
	for _, most := range []time.Duration{3, 6, 12, 24, 30, 30} {
		most *= time.Second
		if pause := s.nextPause(0); pause < most/2 || pause > most {
			t.Errorf("%v, at most %v", pause, most)
		}
	}
	s.failures = 1000
	testenv.Equal(t, s.nextPause(time.Hour), time.Hour)
}

func TestAgentEventsTakesSilenceForLoss(t *testing.T) {
	t.Parallel()
	silent := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	got := follow(t, &streamServer{steps: []http.HandlerFunc{hold(ready() + created("1")), silent,
		stream(created("2") + revoked)}})
	if !slices.Equal(got.events, []string{"ready", "message.created 1", "message.created 2"}) ||
		len(got.reconnects) != 2 || !loci.Is(got.err, loci.CodeRevoked) {
		t.Errorf("%+v", got)
	}
	for i, err := range got.reconnects {
		testenv.Contains(t, err.Error(), fmt.Sprintf("has sent nothing for %ds", i+1), err)
	}
}

// TestAgentEventsLearnsSlowHeartbeats has heartbeats that are slower than the least silence.
func TestAgentEventsLearnsSlowHeartbeats(t *testing.T) {
	t.Parallel()
	beat := func(w http.ResponseWriter, _ *http.Request) {
		stream(ready())(w, nil)
		for range 3 {
			_ = http.NewResponseController(w).Flush()
			time.Sleep(300 * time.Millisecond)
			_, _ = io.WriteString(w, heartbeat)
		}
		_, _ = io.WriteString(w, revoked)
	}
	synctest.Test(t, func(t *testing.T) {
		c, lost := newLocalClient(t, http.HandlerFunc(beat)), 0
		s := c.newAgentStream(loci.ListenAgent{}, []CallOption{OnReconnect(func(error, time.Duration) { lost++ })})
		s.retry, s.silence, s.least = minRetry, 120*time.Millisecond, 120*time.Millisecond
		err := s.run(t.Context(), func(loci.AgentEvent, error) bool { return true })
		if !loci.Is(err, loci.CodeRevoked) || lost != 2 || s.silence != 900*time.Millisecond {
			t.Errorf("%v, lost %d times, at last after %v", err, lost, s.silence)
		}
	})
}

// TestSlowCallerLosesNoConnection handles an event for longer than a server may be silent.
func TestSlowCallerLosesNoConnection(t *testing.T) {
	t.Parallel()
	server := &streamServer{steps: []http.HandlerFunc{stream(ready() + created("1", "2") + revoked)}}
	events, err := 0, error(nil)
	synctest.Test(t, func(t *testing.T) {
		c := newLocalClient(t, server)
		c.http.Timeout = time.Second
		s := c.newAgentStream(loci.ListenAgent{WorkspaceID: "w"}, nil)
		err = s.run(t.Context(), func(loci.AgentEvent, error) bool {
			events++
			time.Sleep(2 * minSilence)
			return true
		})
	})
	if events != 3 || !loci.Is(err, loci.CodeRevoked) || len(server.requests) != 1 ||
		server.requests[0].URL.RawQuery != "workspace_id=w" {
		t.Errorf("%d events, %v", events, err)
	}
}

func TestAgentEventsReadsLargeSnapshot(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("x", 2<<20)
	ready := strings.Replace(ready("1"), `"content":""`, `"content":"`+large+`"`, 1)
	got := follow(t, &streamServer{steps: []http.HandlerFunc{stream(ready + revoked)}})
	if !slices.Equal(got.events, []string{"ready 1"}) || !loci.Is(got.err, loci.CodeRevoked) {
		t.Errorf("%+v", got)
	}
}

func TestAgentEventsRejectsMalformedEvents(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"event: ready\ndata: {}\n\n", "event: ready\ndata: x\n\n",
		"event: message.created\ndata: {\"ok\":true}\n\n", "event: heartbeat\ndata: 1\n\n"} {
		got := follow(t, &streamServer{steps: []http.HandlerFunc{stream(text)}})
		if !loci.Is(got.err, loci.CodeInternalError) || got.events != nil {
			t.Errorf("%s: %+v", text, got)
		}
	}
}

func TestAgentEventsEndsWithItsContextAndLoop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, endAgentEvents)
}

func endAgentEvents(t *testing.T) {
	c := newLocalClient(t, hold(ready()+created("1", "2")))
	for e, err := range c.AgentEvents(t.Context(), loci.ListenAgent{}) {
		if err != nil {
			t.Fatal(err)
		}
		if len(e.Messages()) > 0 {
			break
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var last error
	for e, err := range c.AgentEvents(ctx, loci.ListenAgent{}) {
		if e.EventName() == loci.EventReady {
			cancel()
		}
		last = err
	}
	testenv.Equal(t, last, context.Canceled)
	away := newLocalClient(t, refuse(http.StatusBadGateway, ""))
	ctx, stop := context.WithTimeout(t.Context(), time.Second)
	defer stop()
	for _, last = range away.AgentEvents(ctx, loci.ListenAgent{}) {
	}
	testenv.Equal(t, last, context.DeadlineExceeded)
}

func TestAgentEventsNeedsKey(t *testing.T) {
	t.Parallel()
	c := testenv.Must(New("http://127.0.0.1:1", WithTokenSource(tokensInOrder("t"))))(t)
	for _, err := range c.AgentEvents(t.Context(), loci.ListenAgent{}) {
		if !loci.Is(err, loci.CodeForbidden) {
			t.Errorf("%v", err)
		}
	}
}

func TestRecentIDsForgetTheOldest(t *testing.T) {
	t.Parallel()
	var r recentIDs
	id := func(n int) loci.ID { return loci.ID(fmt.Sprint(n)) }
	for n := range 2*loci.MaxOpenMessages + 1 {
		if !r.add(id(n)) || r.add(id(n)) {
			t.Fatal(n)
		}
	}
	if r.add(id(loci.MaxOpenMessages+1)) || !r.add(id(0)) || len(r.known) != loci.MaxOpenMessages {
		t.Errorf("%d ids", len(r.known))
	}
}
