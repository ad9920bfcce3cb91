//go:build unix

package listen

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/cli/console"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/testenv"
	"github.com/loci-memory/loci/internal/waittest"
)

// A fakeServer sends events, and records what is acknowledged.
type fakeServer struct {
	t *testing.T

	mu       sync.Mutex
	streams  []func(send func(string), r *http.Request) // each connection has the next one; the last one repeats
	lastIDs  []string
	failures []loci.Code // of the next calls that acknowledge
	acked    []string
	ackedAll chan struct{} // gets a value for each
}

func newFakeServer(t *testing.T, streams ...func(send func(string), r *http.Request)) *fakeServer {
	return &fakeServer{t: t, streams: streams, ackedAll: make(chan struct{}, 1000)}
}

func (s *fakeServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("X-Loci-Actor") != "agent" || r.Header.Get("Authorization") != "Bearer k" {
		s.t.Errorf("%s %s: %v", r.Method, r.URL, r.Header)
	}
	if r.URL.Path == "/v1/agent-messages/events" {
		s.mu.Lock()
		stream := s.streams[min(len(s.lastIDs), len(s.streams)-1)]
		s.lastIDs = append(s.lastIDs, r.Header.Get("Last-Event-ID"))
		s.mu.Unlock()
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "retry: 1\n")
		stream(func(text string) {
			_, _ = io.WriteString(w, text)
			_ = http.NewResponseController(w).Flush()
		}, r)
		return
	}
	id := strings.Split(r.URL.Path, "/")[3]
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.failures) > 0 {
		code := s.failures[0]
		s.failures = s.failures[1:]
		w.WriteHeader(code.Status())
		_, _ = fmt.Fprintf(w, `{"code":%q,"message":"Refused."}`, code)
		return
	}
	s.acked = append(s.acked, id)
	s.ackedAll <- struct{}{}
	_, _ = io.WriteString(w, `{"ok":true,"receipt":{"status":"acknowledged"}}`)
}

// id returns the id of a message.
func id(n int) loci.ID { return loci.ID(fmt.Sprintf("01890000-0000-7000-8000-%012d", n)) }

func message(n int) loci.Message {
	return loci.Message{ID: id(n), WorkspaceID: "w", From: loci.MessageSender{Name: "ann"}, CreatedAt: 1e15,
		Content: fmt.Sprint("text <", n, ">")}
}

func ready(numbers ...int) string {
	unread := []loci.InboxMessage{}
	for _, n := range numbers {
		unread = append(unread, loci.InboxMessage{Message: message(n)})
	}
	data, _ := json.Marshal(map[string]any{"ok": true, "agentId": "agt_1", "unread": unread})
	return fmt.Sprintf("event: ready\ndata: %s\n\n", data)
}

func created(m loci.Message) string {
	data, _ := json.Marshal(map[string]any{"ok": true, "message": m})
	return fmt.Sprintf("event: message.created\nid: %s\ndata: %s\n\n", m.ID, data)
}

const (
	heartbeat = "event: heartbeat\ndata: {\"ok\":true}\n\n"
	revoked   = "event: auth.revoked\ndata: {\"ok\":true}\n\n"
)

// sendAll is a stream that sends a text and ends.
func sendAll(text string) func(func(string), *http.Request) {
	return func(send func(string), _ *http.Request) { send(text) }
}

// hold is a stream that sends a text and stays open.
func hold(text string) func(func(string), *http.Request) {
	return func(send func(string), r *http.Request) {
		send(text)
		<-r.Context().Done()
	}
}

// A syncBuffer is written by several goroutines.
type syncBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// A run is one run of the command.
type run struct {
	out, err syncBuffer
	args     []string
}

func (r *run) do(t *testing.T, ctx context.Context, server *fakeServer) error {
	t.Helper()
	web := httptest.NewServer(server)
	defer web.Close()
	c, err := client.New(web.URL, client.WithKey("k"), client.WithRetry(1, 0))
	if err != nil {
		t.Fatal(err)
	}
	cmd := Command(Options{Console: &console.Console{Out: &r.out, Err: &r.err, Environ: os.Environ()},
		Open: func(_ context.Context, workspace string) (*client.Client, loci.ID, error) {
			return c, loci.ID(workspace), nil
		}})
	cmd.SetArgs(r.args)
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	return cmd.ExecuteContext(ctx)
}

func TestListenPrintsOneLinePerMessage(t *testing.T) {
	t.Parallel()
	server := newFakeServer(t, sendAll(ready(1, 2)+heartbeat+created(message(3))), sendAll(ready()+created(message(3))+
		created(message(4))+revoked))
	var r run
	if err := r.do(t, t.Context(), server); !loci.Is(err, loci.CodeRevoked) {
		t.Error(err)
	}
	lines := strings.Split(strings.TrimSpace(r.out.String()), "\n")
	for n, line := range lines {
		var m loci.Message
		if err := json.Unmarshal([]byte(line), &m); err != nil || m != message(n+1) || !strings.Contains(line, "<") {
			t.Errorf("%d: %s %v", n, line, err)
		}
	}
	if len(lines) != 4 || server.acked != nil || !slices.Equal(server.lastIDs, []string{"", string(id(3))}) {
		t.Errorf("%d lines, acknowledged %v, ids %v", len(lines), server.acked, server.lastIDs)
	}
	for _, want := range []string{"as the agent agt_1", "has ended the stream: reconnecting in ", "Connected again."} {
		testenv.Contains(t, r.err.String(), want)
	}
}

func TestListenKeepsToWorkspace(t *testing.T) {
	t.Parallel()
	other := message(2)
	other.WorkspaceID = "x"
	server := newFakeServer(t, sendAll(ready(1)+created(other)+created(message(3))+heartbeat), hold(revoked))
	r := run{args: []string{"--workspace-id", "w"}}
	if err := r.do(t, t.Context(), server); !loci.Is(err, loci.CodeRevoked) {
		t.Error(err)
	}
	if got := r.out.String(); strings.Count(got, "\n") != 2 || strings.Contains(got, "text <2>") {
		t.Error(got)
	}
}

// script returns the path of a shell script, and of a file to which it may write.
func script(t *testing.T, text string) (path, log string) {
	t.Helper()
	dir := t.TempDir()
	path, log = filepath.Join(dir, "handle"), filepath.Join(dir, "log")
	text = "#!/bin/sh\nset -e\nLOG='" + log + "'\n" + text
	// A script that another goroutine's child holds open for writing cannot be run: sh reads it.
	testenv.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return "sh " + path, log
}

func readLog(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(text)
}

// untilAcked returns a context that ends when a server has got n acknowledgements.
func untilAcked(t *testing.T, server *fakeServer, n int) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer cancel()
		for range n {
			<-server.ackedAll
		}
	}()
	return ctx
}

// TestExecRunsCommandForEachMessageInOrder fails for the second message, which stays unread. The server sends messages
// again after a lost connection.
func TestExecRunsCommandForEachMessageInOrder(t *testing.T) {
	t.Parallel()
	line, log := script(t, `m=$(cat); echo "begin $*" >> "$LOG"; sleep .05; echo "$m" >> "$LOG"; echo out
case "$m" in *'text <2>'*) exit 3;; esac`)
	server := newFakeServer(t, sendAll(ready(1, 2)+created(message(3))), sendAll(ready(2, 3)+created(message(1))),
		hold(ready(2)+created(message(4))))
	r := run{args: []string{"--exec", line + " one 'two three'", "--", "--four", "$five;"}}
	testenv.NoError(t, r.do(t, untilAcked(t, server, 3), server))
	var want string
	for n := 1; n <= 4; n++ {
		want += "begin one two three --four $five;\n" + string(testenv.Must(op.Marshal(message(n)))(t)) + "\n"
	}
	testenv.Equal(t, readLog(t, log), want)
	testenv.EqualSlices(t, server.acked, []string{string(id(1)), string(id(3)), string(id(4))})
	if r.out.String() != strings.Repeat("out\n", 4) || strings.Count(r.err.String(), "stays unread") != 1 ||
		!strings.Contains(r.err.String(), string(id(2))+" of ann stays unread, because the command failed: exit ") {
		t.Errorf("%s%s", r.out.String(), r.err.String())
	}
}

// TestExecWaitsForAcknowledgement refuses the first message three times: at last because it is closed already.
func TestExecWaitsForAcknowledgement(t *testing.T) {
	t.Parallel()
	line, log := script(t, `cat >> "$LOG"`)
	server := newFakeServer(t, hold(ready(1, 2, 3)+heartbeat))
	server.failures = []loci.Code{loci.CodeUnavailable, loci.CodeRateLimited, loci.CodeStateConflict}
	r := run{args: []string{"--exec", line}}
	testenv.NoError(t, r.do(t, untilAcked(t, server, 2), server))
	if !slices.Equal(server.acked, []string{string(id(2)), string(id(3))}) ||
		strings.Count(readLog(t, log), "\n") != 3 ||
		strings.Count(r.err.String(), "cannot be acknowledged yet: Refused.") != 1 {
		t.Errorf("%v %s%s", server.acked, readLog(t, log), r.err.String())
	}
}

func TestExecEndsWhileItWaitsForAcknowledgement(t *testing.T) {
	t.Parallel()
	line, log := script(t, `cat >> "$LOG"`)
	server := newFakeServer(t, hold(ready(1, 2)))
	const failures = 1000
	server.failures = slices.Repeat([]loci.Code{loci.CodeUnavailable}, failures)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		waittest.Until(t, func() bool {
			server.mu.Lock()
			defer server.mu.Unlock()
			return len(server.failures) < failures
		})
		cancel()
	}()
	r := run{args: []string{"--exec", line}}
	if err := r.do(t, ctx, server); err != nil || strings.Count(readLog(t, log), "\n") != 1 ||
		!strings.Contains(r.err.String(), "stays unread, because it could not be acknowledged") {
		t.Errorf("%v %s%s", err, readLog(t, log), r.err.String())
	}
}

func TestExecEndsWhenKeyIsRefused(t *testing.T) {
	t.Parallel()
	line, log := script(t, `cat >> "$LOG"`)
	server := newFakeServer(t, hold(ready(1, 2)))
	server.failures = []loci.Code{loci.CodeRevoked}
	r := run{args: []string{"--exec", line}}
	if err := r.do(t, t.Context(), server); !loci.Is(err, loci.CodeRevoked) ||
		strings.Count(readLog(t, log), "\n") != 1 {
		t.Errorf("%v %s", err, readLog(t, log))
	}
}

// TestRevocationEndsRunningCommand revokes the key while a command runs that ignores SIGTERM, and others wait.
func TestRevocationEndsRunningCommand(t *testing.T) {
	t.Parallel()
	line, log := script(t, `trap '' TERM; cat >> "$LOG"; sleep 60 & wait; wait; echo end >> "$LOG"`)
	server := newFakeServer(t, func(send func(string), r *http.Request) {
		send(ready(1, 2, 3))
		waittest.Until(t, func() bool { return readLog(t, log) != "" })
		send(revoked)
	})
	r := run{args: []string{"--exec", line}}
	err := r.do(t, t.Context(), server)
	if !loci.Is(err, loci.CodeRevoked) || server.acked != nil || strings.Count(readLog(t, log), "\n") != 1 {
		t.Errorf("%v: %s%s", err, readLog(t, log), r.err.String())
	}
}

func TestListenWaitsForRunningCommand(t *testing.T) {
	t.Parallel()
	line, log := script(t, `cat >> "$LOG"; until [ -e "$LOG.free" ]; do sleep .01; done; echo end >> "$LOG"`)
	r := run{args: []string{"--exec", line}}
	ctx, cancel := context.WithCancel(t.Context())
	server := newFakeServer(t, func(send func(string), request *http.Request) {
		send(ready(1, 2))
		waittest.Until(t, func() bool { return readLog(t, log) != "" })
		cancel()
		<-request.Context().Done()
	})
	go func() {
		waittest.Until(t, func() bool { return strings.Contains(r.err.String(), "Waiting for the running command") })
		if err := os.WriteFile(log+".free", nil, 0o600); err != nil {
			t.Error(err)
		}
	}()
	if err := r.do(t, ctx, server); err != nil || !slices.Equal(server.acked, []string{string(id(1))}) ||
		!strings.HasSuffix(readLog(t, log), "\nend\n") || strings.Count(readLog(t, log), "\n") != 2 {
		t.Errorf("%v %v %s%s", err, server.acked, readLog(t, log), r.err.String())
	}
}

// TestExecTakesAnyMessage has a command that does not read a large message, and one that leaves a process behind.
func TestExecTakesAnyMessage(t *testing.T) {
	t.Parallel()
	large := message(1)
	large.Content = strings.Repeat("\x01", loci.MaxMessage)
	for name, text := range map[string]string{"unread input": "exit 0", "process left behind": "sleep 30 & exit 0",
		"closed input": "exec <&-; exit 0"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			line, _ := script(t, text)
			server := newFakeServer(t, hold(ready()+created(large)))
			r := run{args: []string{"--exec", line}}
			testenv.NoError(t, r.do(t, untilAcked(t, server, 1), server))
			testenv.EqualSlices(t, server.acked, []string{string(id(1))})
		})
	}
}

func TestListenRejectsArguments(t *testing.T) {
	t.Parallel()
	for want, args := range map[string][]string{
		"arguments are for the command of --exec": {"--", "x"},
		"is no program that can be run":           {"--exec", "/nowhere/at-all"},
		"names no command":                        {"--exec", ""},
		"runs no shell":                           {"--exec", "cat | sh"},
	} {
		r := run{args: args}
		if err := r.do(t, t.Context(), newFakeServer(t)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", args, err)
		}
	}
}
