package mcp_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
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
	resp := testenv.Must(testenv.Client.Do(r))(c.t)
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

// TestHTTPHoldsSubscriptionsUntilServerCloses opens as many as a user may have: one more is refused while all are held.
func TestHTTPHoldsSubscriptionsUntilServerCloses(t *testing.T) {
	t.Parallel()
	d := newFakeService().newServer()
	closing, end := context.WithCancel(t.Context())
	defer end()
	d.Closing = closing
	c := client{t: t, url: serveHandler(t, d.HTTP()), version: statelessVersion, key: "ann"}
	var held []func() object
	for range 50 {
		next, _ := c.openSubscription(t.Context())
		first := next()
		conforms(t, statelessVersion, "SubscriptionsAcknowledgedNotification", first)
		meta := first["params"].(object)["_meta"].(object)
		testenv.Equal(t, meta["io.modelcontextprotocol/subscriptionId"], 7.0, "first", first)
		held = append(held, next)
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
	end()
	for _, next := range held {
		conforms(t, statelessVersion, "SubscriptionsListenResultResponse", next())
		if more := next(); more != nil {
			t.Errorf("after the end: %v", more)
		}
	}
	a = c.post(c.message("subscriptions/listen", object{"notifications": object{}}))
	if a.StatusCode != 503 || a.Header.Get("Retry-After") == "" {
		t.Errorf("one that begins while the server closes: %d, %v", a.StatusCode, a.Header)
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
	testenv.NoError(t, <-k.ended)
}

// prompt returns the text of a prompt.
func (c client) prompt(name string, arguments object) string {
	c.t.Helper()
	out := c.result("prompts/get", object{"name": name, "arguments": arguments})
	conforms(c.t, c.version, "GetPromptResult", out)
	messages := out["messages"].([]any)
	if len(messages) != 1 || messages[0].(object)["role"] != "user" {
		c.t.Errorf("%v", messages)
	}
	return messages[0].(object)["content"].(object)["text"].(string)
}

func TestPromptsAreListed(t *testing.T) {
	t.Parallel()
	everyRevision(t, newFakeService(), func(t *testing.T, c client) {
		list := c.result("prompts/list", nil)
		conforms(t, c.version, "ListPromptsResult", list)
		var names []string
		for _, p := range list["prompts"].([]any) {
			names = append(names, p.(object)["name"].(string))
		}
		if strings.Join(names, " ") != "recall remember handover" || list["cacheScope"] != "private" {
			t.Errorf("%v", list)
		}
	})
}

func TestPromptsQuoteWhatIsKnown(t *testing.T) {
	t.Parallel()
	s := newFakeService()
	s.addAtlases("Website", "Garden", "garden")
	web, garden := string(s.atlases[0].ID), string(s.atlases[1].ID)
	everyRevision(t, s, func(t *testing.T, c client) {
		for _, test := range []struct {
			name      string
			arguments object
			want      []string
			calls     int
		}{
			{"recall", object{"query": " deploys "}, []string{`# Known of "deploys" in "", 8000 tokens`,
				"\n\ndeploys\n\n"}, 1},
			{"recall", object{"query": "deploys", "atlas": garden}, []string{`of "deploys" in "` + garden + `"`}, 1},
			{"recall", object{"query": "deploys", "atlas": "website"}, []string{`of "deploys" in "` + web + `"`}, 2},
			{"remember", object{"text": "Basalt."}, []string{"Remember this", "Basalt.", `of "Basalt." in "", 2000 tokens`,
				"memory_create", "memory_supersede"}, 1},
			{"remember", object{}, []string{"this conversation", "memory_create"}, 0},
			{"remember", object{"text": nil, "atlas": ""}, []string{"this conversation", "memory_create"}, 0},
			{"remember", object{"atlas": web}, []string{"atlasId " + web}, 0},
			{"handover", object{}, []string{"work of this conversation", `of "" in ""`, "memory_create"}, 1},
			{"handover", object{"task": "the vault", "atlas": web}, []string{"the vault", `of "the vault" in "` + web,
				"atlasId " + web}, 1},
			{"recall", object{"query": strings.Repeat("é", 2000)}, []string{"Known of"}, 1},
			{"remember", object{"text": strings.Repeat("é ", 5000)}, []string{"Known of"}, 1},
		} {
			s.calls = nil
			text := c.prompt(test.name, test.arguments)
			for _, want := range test.want {
				testenv.Contains(t, text, want, test.name, test.arguments)
			}
			testenv.Equal(t, len(s.calls), test.calls, test.name, test.arguments)
		}
		a := c.post(c.message("prompts/get",
			object{"name": "recall", "arguments": object{"query": "a", "atlas": "GARDEN"}}))
		if a.code() != -32602 || !strings.Contains(string(a.body), garden) {
			t.Errorf("a name of two atlases: %s", a.body)
		}
	})
}

// TestPromptCountsAfterLookUpOfAtlas has an atlas on the second page: the pages are one call, and the context another.
func TestPromptCountsAfterLookUpOfAtlas(t *testing.T) {
	t.Parallel()
	s := newFakeService()
	for i := range 150 {
		s.addAtlases(fmt.Sprintf("Many %d", i))
	}
	everyRevision(t, s, func(t *testing.T, c client) {
		s.calls = nil
		c.prompt("recall", object{"query": "deploys", "atlas": "Many 120"})
		if len(s.calls) != 3 || s.calls[0].Continuation || !s.calls[1].Continuation || s.calls[2].Continuation {
			t.Errorf("%+v", s.calls)
		}
	})
}
