package mcp_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/testenv"
)

// openSubscription subscribes and returns the data of the events that follow.
func (c client) openSubscription(ctx context.Context) (next func() object, status int) {
	c.t.Helper()
	body, _ := json.Marshal(c.message("subscriptions/listen",
		object{"notifications": object{"toolsListChanged": true}}))
	r := testenv.Must(http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body)))(c.t)
	for name, value := range map[string]string{"Content-Type": "application/json", "Authorization": "Bearer " + c.key,
		"Accept": "text/event-stream", "MCP-Protocol-Version": c.version, "Mcp-Method": "subscriptions/listen"} {
		r.Header.Set(name, value)
	}
	resp := testenv.Must(http.DefaultClient.Do(r))(c.t)
	c.t.Cleanup(func() { resp.Body.Close() })
	lines := bufio.NewScanner(resp.Body)
	return func() (m object) {
		for lines.Scan() {
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				testenv.NoError(c.t, json.Unmarshal([]byte(data), &m))
				return m
			}
		}
		return nil
	}, resp.StatusCode
}

func TestHTTPHoldsSubscriptionUntilServerCloses(t *testing.T) {
	t.Parallel()
	d := newFakeService().newServer()
	closing, end := context.WithCancel(t.Context())
	defer end()
	d.Closing = closing
	c := client{t: t, url: serveHandler(t, d.HTTP()), version: statelessVersion, key: "ann"}
	next, _ := c.openSubscription(t.Context())
	first := next()
	conforms(t, statelessVersion, "SubscriptionsAcknowledgedNotification", first)
	meta := first["params"].(object)["_meta"].(object)
	if meta["io.modelcontextprotocol/subscriptionId"] != 7.0 {
		t.Errorf("first %v", first)
	}
	end()
	conforms(t, statelessVersion, "SubscriptionsListenResultResponse", next())
	a := c.post(c.message("subscriptions/listen", object{"notifications": object{}}))
	if a.StatusCode != 503 || a.Header.Get("Retry-After") == "" {
		t.Errorf("a subscription that begins while the server closes: %d, %v", a.StatusCode, a.Header)
	}
}

func TestHTTPLimitsSubscriptionsOfUser(t *testing.T) {
	t.Parallel()
	d := newFakeService().newServer()
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	c := client{t: t, url: serveHandler(t, d.HTTP()), version: statelessVersion, key: "ann"}
	for range 50 {
		next, _ := c.openSubscription(ctx)
		if m := next(); m["method"] != "notifications/subscriptions/acknowledged" {
			t.Fatalf("%v", m)
		}
	}
	a := c.post(c.message("subscriptions/listen", object{"notifications": object{},
		"more": strings.Repeat("x", 16<<10)}))
	if a.StatusCode != 400 || a.code() != -32602 || !strings.Contains(string(a.body), "at most 16 KiB") {
		t.Errorf("a large one: %d %s", a.StatusCode, a.body)
	}
	a = c.post(c.message("subscriptions/listen", object{"notifications": object{}}))
	if a.StatusCode != 200 || a.code() != -32000 || !strings.Contains(string(a.body), "rate_limited") {
		t.Errorf("one more: %d %s", a.StatusCode, a.body)
	}
}

func TestStdioEndsSubscriptionWithInput(t *testing.T) {
	t.Parallel()
	k := startStdio(t.Context(), t, newFakeService())
	k.send(`{"jsonrpc":"2.0","id":"s","method":"subscriptions/listen","params":{"notifications":{},"_meta":{` +
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`)
	if m := k.receive(); m["method"] != "notifications/subscriptions/acknowledged" {
		t.Errorf("%v", m)
	}
	k.in.Close()
	if m := k.receive(); m["id"] != "s" || m["result"] == nil {
		t.Errorf("the end: %v", m)
	}
	if err := <-k.ended; err != nil {
		t.Error(err)
	}
}
