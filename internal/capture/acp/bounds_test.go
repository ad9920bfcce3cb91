package acp

import (
	"bytes"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/testenv"
)

func TestReaderReadsLinesCutAnywhere(t *testing.T) {
	t.Parallel()
	for size := 1; size < 40; size++ {
		c := newConversation()
		feed := func(read func([]byte), text string) {
			for part := range slices.Chunk([]byte(text), size) {
				read(part)
			}
		}
		for line := range strings.Lines(opened + asks(2, "use basalt") + says("done") + stops(2, "end_turn")) {
			switch line = strings.TrimSpace(line); {
			case strings.HasPrefix(line, ">"):
				feed(c.FromClient, line[1:]+"\r\n")
			case strings.HasPrefix(line, "<"):
				feed(c.FromAgent, line[1:]+"\r\n")
			}
		}
		testenv.Equal(t, len(c.events), 2, "pieces of", size, c.texts())
	}
}

func TestReaderSkipsLinesThatAreTooLong(t *testing.T) {
	t.Parallel()
	c := newConversation().play(opened + asks(2, "use basalt") + says("I look"))
	for range 3 {
		c.FromAgent(bytes.Repeat([]byte{'x'}, maxLine/2))
	}
	c.FromAgent([]byte("\n"))
	c.play(says("done") + stops(2, "end_turn"))
	testenv.EqualSlices(t, c.texts(), []string{"prompt: use basalt", "response: done"})
	if kept := cap(c.fromAgent.begun); kept > maxLine {
		t.Errorf("%d bytes are kept", kept)
	}
}

func TestReaderExtractsNothingFromTurnsWithLoss(t *testing.T) {
	t.Parallel()
	c := newConversation().play(opened + asks(2, "old") + says("old"))
	c.Lost()
	c.FromAgent([]byte("rest of a line\n"))
	c.FromClient([]byte("\n"))
	c.play(says("old") + stops(2, "end_turn") + asks(3, "use basalt") + says("done") + stops(3, "end_turn"))
	testenv.EqualSlices(t, c.texts(), []string{"prompt: use basalt", "response: done"})
}

func TestReaderDropsTextsThatAreTooLong(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", maxText+1)
	c := newConversation().play(opened + asks(2, long) + says("done") + stops(2, "end_turn") +
		asks(3, "use basalt") + says(long[:maxText]) + says("x") + stops(3, "end_turn"))
	if got, want := c.texts(), []string{"response: done", "prompt: use basalt"}; !slices.Equal(got, want) {
		t.Errorf("got %d texts", len(got))
	}
}

// TestReaderMemoryIsBounded opens sessions and turns that never end.
func TestReaderMemoryIsBounded(t *testing.T) { //nolint:paralleltest // it measures the heap
	c := newConversation()
	text := strings.Repeat("x", maxText)
	for i := range 400 {
		id := fmt.Sprintf("s%d", i)
		c.play(fmt.Sprintf(`
	>{"id":%d,"method":"session/load","params":{"sessionId":%q,"cwd":"/x"}}
	<{"id":%[1]d,"result":{}}
	>{"id":"p%[1]d","method":"session/prompt","params":{"sessionId":%[2]q,"prompt":[{"type":"text","text":"%[3]s"}]}}
	<{"method":"session/update","params":{"sessionId":%[2]q,"update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"%[3]s"}}}}`,
			i, id, text))
		if i >= 2*maxRequests {
			text = "x"
		}
	}
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	if len(c.sessions) > maxSessions || len(c.requests) > maxRequests || m.HeapAlloc > 64<<20 {
		t.Errorf("%d sessions, %d requests, %d bytes", len(c.sessions), len(c.requests), m.HeapAlloc)
	}
}

// FuzzReader feeds any bytes to both sides. The marked texts of tools must never be extracted.
func FuzzReader(f *testing.F) {
	const mark = "TOOL-OUTPUT"
	f.Add([]byte(opened+asks(2, "use basalt")+says("done")+stops(2, "end_turn")), 7)
	f.Add([]byte(opened+asks(2, "a")+tool+shows("tool_call_update", mark)+says("b")+stops(2, "end_turn")), 1)
	f.Add([]byte(loads+shows("agent_thought_chunk", mark)+loaded+cancels), 300)
	f.Add([]byte(">[]\n<{\"id\":{}}\n>null\n<\xff\n"), 2)
	f.Fuzz(func(t *testing.T, text []byte, size int) {
		c := newConversation()
		output := shows("tool_call_update", mark) + shows("agent_thought_chunk", mark) + shows("plan", mark)
		for line := range bytes.Lines(text) {
			line = bytes.TrimLeft(line, "\t ")
			read := c.FromAgent
			if bytes.HasPrefix(line, []byte(">")) {
				read = c.FromClient
			}
			if bytes.Contains(line, []byte(mark)) || len(line) == 0 {
				continue // only the texts of tools have the mark
			}
			for part := range slices.Chunk(line[1:], max(size, 1)) {
				read(part)
			}
			c.play(output)
		}
		for _, e := range c.events {
			text := string(e.Input.Content)
			if strings.Contains(text, mark) || len(text) > loci.MaxEventContent || e.ExternalID == "" {
				t.Errorf("%+v", e)
			}
		}
	})
}

// FuzzConversation plays messages in any order. No text but those of the user and the agent is extracted, and nothing
// from the turns that are canceled or come while the session is loaded.
func FuzzConversation(f *testing.F) {
	messages := []string{opened, asks(2, "asked"), asks(3, "asked"), says("said"), tool,
		shows("tool_call_update", "no"), shows("agent_thought_chunk", "no"), shows("plan", "no"),
		shows("user_message_chunk", "no"), cancels,
		stops(2, "end_turn"), stops(3, "end_turn"), stops(2, "cancelled"), stops(3, "max_tokens"), loads, loaded,
		shows("tool_call", "no"), shows("usage_update", "no"), "lost"}
	f.Add([]byte{0, 1, 3, 4, 5, 3, 10})
	f.Add([]byte{0, 14, 3, 8, 15, 1, 6, 3, 12, 2, 7, 3, 11})
	f.Add([]byte{0, 1, 2, 3, 9, 18, 1, 3, 10, 11})
	f.Fuzz(func(t *testing.T, steps []byte) {
		c, loading := newConversation(), false
		for _, step := range steps {
			m, extracted := messages[int(step)%len(messages)], len(c.events)
			if m == "lost" {
				c.Lost()
				c.play("<\n>\n")
				loading = false
				continue
			}
			c.play(m)
			loading = loading && m != loaded || m == loads
			if n := len(c.events) - extracted; n > 2 || n > 0 && (loading || !strings.Contains(m, "stopReason")) {
				t.Fatalf("%d events at %s", n, m)
			}
		}
		for _, e := range c.events {
			if text := strings.ReplaceAll(string(e.Input.Content), "said", ""); text != "" && text != "asked" {
				t.Errorf("%q", e.Input.Content)
			}
		}
	})
}
