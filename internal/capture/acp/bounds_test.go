package acp

import (
	"bytes"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
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
		if len(c.events) != 2 {
			t.Errorf("pieces of %d bytes: %q", size, c.texts())
		}
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
	if got, want := c.texts(), []string{"prompt: use basalt", "response: done"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if kept := cap(c.fromAgent.begun); kept > maxLine {
		t.Errorf("%d bytes are kept", kept)
	}
}

func TestReaderDrawsNothingFromTurnsWithLoss(t *testing.T) {
	t.Parallel()
	c := newConversation().play(opened + asks(2, "old") + says("old"))
	c.Lost()
	c.FromAgent([]byte("rest of a line\n"))
	c.FromClient([]byte("\n"))
	c.play(says("old") + stops(2, "end_turn") + asks(3, "use basalt") + says("done") + stops(3, "end_turn"))
	if got, want := c.texts(), []string{"prompt: use basalt", "response: done"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
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
	for i := range 300 {
		id := fmt.Sprintf("s%d", i%280)
		c.play(fmt.Sprintf(`
	>{"id":%d,"method":"session/load","params":{"sessionId":%q,"cwd":"/x"}}
	<{"id":%[1]d,"result":{}}
	>{"id":"p%[1]d","method":"session/prompt","params":{"sessionId":%[2]q,"prompt":[{"type":"text","text":%q}]}}
	<{"method":"session/update","params":{"sessionId":%[2]q,"update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":%[3]q}}}}`,
			i, id, text))
	}
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	if len(c.sessions) > maxSessions || len(c.requests) > maxRequests || m.HeapAlloc > 64<<20 {
		t.Errorf("%d sessions, %d requests, %d bytes", len(c.sessions), len(c.requests), m.HeapAlloc)
	}
}

// FuzzReader feeds any bytes to both sides. The marked texts of tools must never be drawn.
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
			if strings.Contains(e.Content, mark) || len(e.Content) > maxText || e.SessionID == "" {
				t.Errorf("%+v", e)
			}
		}
	})
}
