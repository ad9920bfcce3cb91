package conformance_test

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/conformance"
	"github.com/loci-memory/loci/internal/limit"
	"github.com/loci-memory/loci/internal/testenv"
	"github.com/loci-memory/loci/internal/waittest"
)

// subscription is the message that opens a stream of MCP.
const subscription = `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{},"_meta":{` +
	`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`

// openStream opens a stream with a key. It returns the status, and the first line of an event or of a refusal.
func (h *testServer) openStream(t *testing.T, transport, key string) (status int, first string, closeStream func()) {
	t.Helper()
	var r *http.Request
	if transport == "mcp" {
		r = testenv.Must(http.NewRequestWithContext(t.Context(), "POST", h.url+"/mcp",
			strings.NewReader(subscription)))(t)
		r.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"text/event-stream, application/json"},
			"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {"subscriptions/listen"}}
	} else {
		r = testenv.Must(http.NewRequestWithContext(t.Context(), "GET", h.url+"/v1/agent-messages/events", nil))(t)
		r.Header.Set("X-Loci-Actor", "agent")
	}
	r.Header.Set("Authorization", "Bearer "+key)
	res := testenv.Must(testenv.Client.Do(r))(t)
	t.Cleanup(func() { res.Body.Close() })
	lines := bufio.NewReader(res.Body)
	for !strings.Contains(first, "data:") && !strings.Contains(first, "rate_limited") {
		line, err := lines.ReadString('\n')
		if first += line; err == io.EOF {
			break
		}
		testenv.NoError(t, err)
	}
	return res.StatusCode, first, func() { res.Body.Close() }
}

// TestStreamsOfUserAreBoundedOverKeysAndTransports opens as many streams as one user may have at a server of 662
// connections. Another user has its own.
func TestStreamsOfUserAreBoundedOverKeysAndTransports(t *testing.T) {
	t.Parallel()
	w := conformance.New(t, conformance.OpenSQLite, conformance.Options{})
	w.Host.AcquireStream = limit.NewStreams(662).Acquire
	h := newTestServer(t, w)
	second := testenv.Must(w.Service.AddKey(t.Context(), loci.Email(w.Ann.Email), "second"))(t)
	keys := []string{w.Ann.Key, second.APIKey}
	transports := []string{"rest", "mcp"}
	var closeLast func()
	for i := range 64 {
		status, first, end := h.openStream(t, transports[i%2], keys[i/2%2])
		if status != http.StatusOK || strings.Contains(first, "rate_limited") {
			t.Fatalf("stream %d: %d %s", i, status, first)
		}
		closeLast = end
	}
	for _, key := range keys {
		for _, transport := range transports {
			_, first, _ := h.openStream(t, transport, key)
			if !strings.Contains(first, "rate_limited") || !strings.Contains(first, "64 streams") {
				t.Errorf("one more by %s: %s", transport, first)
			}
		}
	}
	for _, transport := range transports {
		if status, first, _ := h.openStream(t, transport, w.Bob.Key); status != http.StatusOK ||
			strings.Contains(first, "rate_limited") {
			t.Errorf("another user by %s: %d %s", transport, status, first)
		}
	}
	closeLast()
	waittest.Until(t, func() bool {
		_, first, _ := h.openStream(t, "rest", keys[0])
		return !strings.Contains(first, "rate_limited")
	})
}
