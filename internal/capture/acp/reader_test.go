package acp

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/capture"
	"github.com/loci-memory/loci/internal/testenv"
)

// A conversation feeds a reader and keeps what it extracts.
type conversation struct {
	*Reader
	events []capture.Event
}

func newConversation() *conversation {
	c := &conversation{}
	c.Reader = NewReader(func(e []capture.Event) { c.events = append(c.events, e...) })
	return c
}

// play reads messages, one a line: > is the client, < the agent.
func (c *conversation) play(lines string) *conversation {
	for line := range strings.Lines(lines) {
		switch line = strings.TrimSpace(line); {
		case strings.HasPrefix(line, ">"):
			c.FromClient([]byte(line[1:] + "\n"))
		case strings.HasPrefix(line, "<"):
			c.FromAgent([]byte(line[1:] + "\n"))
		}
	}
	return c
}

// texts returns the events as "type: text".
func (c *conversation) texts() []string {
	texts := []string{}
	for _, e := range c.events {
		texts = append(texts, string(e.Input.Type)+": "+string(e.Input.Content))
	}
	return texts
}

const opened = `
	>{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/home/ann/proj","mcpServers":[]}}
	<{"jsonrpc":"2.0","id":1,"result":{"sessionId":"s"}}`

func asks(id int, text string) string {
	return fmt.Sprintf(`
	>{"jsonrpc":"2.0","id":%d,"method":"session/prompt","params":{"sessionId":"s","prompt":[{"type":"text","text":%q}]}}`,
		id, text)
}

func says(text string) string { return shows("agent_message_chunk", text) }

func shows(kind, text string) string {
	return fmt.Sprintf(`
	<{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":%q,"content":{"type":"text","text":%q}}}}`,
		kind, text)
}

func stops(id int, reason string) string {
	return fmt.Sprintf(`
	<{"jsonrpc":"2.0","id":%d,"result":{"stopReason":%q}}`, id, reason)
}

const (
	tool = `
	<{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call","toolCallId":"t","title":"tool"}}}`
	loads = `
	>{"jsonrpc":"2.0","id":7,"method":"session/load","params":{"sessionId":"s","cwd":"/home/ann/proj","mcpServers":[]}}`
	loaded = `
	<{"jsonrpc":"2.0","id":7,"result":{}}`
	cancels = `
	>{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s"}}`
)

func TestReaderExtractsPromptAndFinalAnswer(t *testing.T) {
	t.Parallel()
	both := []string{"prompt: use basalt", "response: done"}
	prompt := both[:1]
	for name, c := range map[string]struct {
		lines string
		want  []string
	}{
		"end of turn": {opened + asks(2, "use basalt") + says("do") + says("ne") + stops(2, "end_turn"), both},
		"text after the last tool": {opened + asks(2, "use basalt") + says("I look") + tool + says("done") +
			stops(2, "end_turn"), both},
		"late update of a tool": {opened + asks(2, "use basalt") + says("done") +
			shows("tool_call_update", "output") + stops(2, "end_turn"), both},
		"thought and plan": {opened + asks(2, "use basalt") + says("hm") + shows("agent_thought_chunk", "think") +
			shows("plan", "x") + says("done") + stops(2, "end_turn"), both},
		"usage within a message": {opened + asks(2, "use basalt") + says("do") + shows("usage_update", "") +
			says("ne") + stops(2, "end_turn"), both},
		"refusal":        {opened + asks(2, "use basalt") + says("done") + stops(2, "refusal"), prompt},
		"tokens":         {opened + asks(2, "use basalt") + says("done") + stops(2, "max_tokens"), prompt},
		"requests":       {opened + asks(2, "use basalt") + says("done") + stops(2, "max_turn_requests"), prompt},
		"canceled":       {opened + asks(2, "use basalt") + says("done") + stops(2, "cancelled"), nil},
		"cancel ignored": {opened + asks(2, "use basalt") + cancels + says("done") + stops(2, "end_turn"), nil},
		"unknown reason": {opened + asks(2, "use basalt") + says("done") + stops(2, "paused"), nil},
		"no response":    {opened + asks(2, "use basalt") + says("done"), nil},
		"canceled request": {opened + asks(2, "use basalt") + `
	>{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":2}}` + says("done") + stops(2, "end_turn"), nil},
		"closed session": {opened + asks(2, "use basalt") + `
	>{"jsonrpc":"2.0","id":3,"method":"session/close","params":{"sessionId":"s"}}` + stops(2, "end_turn"), nil},
		"failed turn": {opened + asks(2, "use basalt") + says("done") + `
	<{"jsonrpc":"2.0","id":2,"error":{"code":-32000,"message":"sign in"}}`, nil},
		"turn after a canceled one": {opened + asks(2, "no") + cancels + says("no") + stops(2, "cancelled") +
			asks(3, "use basalt") + says("done") + stops(3, "end_turn"), both},
		"unknown session": {asks(2, "use basalt") + says("done") + stops(2, "end_turn"), nil},
		"after loading": {loads + shows("user_message_chunk", "old") + says("old") + loaded +
			asks(2, "use basalt") + says("done") + stops(2, "end_turn"), both},
		"while loading": {loads + asks(2, "old") + says("old") + stops(2, "end_turn") + loaded, nil},
		"loaded in a turn": {opened + asks(2, "old") + loads + says("old") + loaded + says("old") +
			stops(2, "end_turn"), nil},
		"work without a prompt": {opened + says("done") + tool + says("done"), nil},
		"wrong id of the response": {opened + asks(2, "use basalt") + says("done") + `
	<{"jsonrpc":"2.0","id":"2","result":{"stopReason":"end_turn"}}`, nil},
		"queued prompts": {opened + asks(2, "use basalt") + says("do") + asks(3, "and granite") + says("ne") +
			stops(2, "end_turn") + says("granite too") + stops(3, "end_turn"),
			append(slices.Clone(both), "prompt: and granite", "response: granite too")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testenv.EqualSlices(t, newConversation().play(c.lines).texts(), c.want)
		})
	}
}

func TestReaderKeepsOnlyTextsOfTheUser(t *testing.T) {
	t.Parallel()
	c := newConversation().play(opened + `
	>{"id":2,"method":"session/prompt","params":{"sessionId":"s","prompt":[{"type":"text","text":"read "},{"type":"resource_link","uri":"file:///x","name":"x"},{"type":"text","text":"and fix"},{"type":"text","text":"it"},{"type":"resource","resource":{"uri":"file:///y","text":"file"}},{"type":"image","data":"aGk=","mimeType":"image/png"},{"type":"text","text":"hidden","annotations":{"audience":["assistant"]}},{"type":"text","text":7}]}}` +
		says("done") + stops(2, "end_turn"))
	testenv.EqualSlices(t, c.texts(), []string{"prompt: read and fix\nit", "response: done"})
}

func TestReaderDropsOutputOfSubagents(t *testing.T) {
	t.Parallel()
	c := newConversation().play(opened + asks(2, "use basalt") + says("do") + `
	<{"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"sub"},"_meta":{"claudeCode":{"parentToolUseId":"t"}}}}}` +
		says("ne") + stops(2, "end_turn"))
	testenv.EqualSlices(t, c.texts(), []string{"prompt: use basalt", "response: done"})
}

func TestReaderNamesEventsByTheConversation(t *testing.T) {
	t.Parallel()
	lines := opened + asks(2, "use basalt") + says("done") + stops(2, "end_turn") + asks(3, "use basalt") +
		says("done") + stops(3, "end_turn")
	a, b := newConversation().play(lines), newConversation().play(lines)
	ids := map[loci.ExternalID]bool{}
	var units []loci.ExternalID
	for i := range a.events {
		first, again := a.events[i].Input, b.events[i].Input
		if first.EventID != again.EventID || first.UnitKey != again.UnitKey {
			t.Errorf("event %d: %v and %v", i, first, again)
		}
		ids[first.EventID] = true
		units = append(units, first.UnitKey)
	}
	if len(ids) != 4 || units[0] != units[1] || units[0] == units[2] {
		t.Errorf("ids %v of %+v", ids, a.events)
	}
	if e := a.events[0]; e.ExternalID != "s" || e.SourceName != "ACP agent" || e.CWD() != "/home/ann/proj" ||
		e.Input.Role != loci.RoleOfUser || e.Input.OccurredAt == 0 {
		t.Errorf("%+v", e)
	}
}

// recorded reads the recorded conversation, as the lines of play.
func recorded(t *testing.T) string {
	t.Helper()
	f, err := os.Open("../../../../shared/data/hooks/acp-claude-agent-acp-0.100.0.jsonl")
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("../shared/data is absent: the recorded conversation is not read")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var lines strings.Builder
	for s := bufio.NewScanner(f); s.Scan(); {
		var recorded struct {
			Dir string          `json:"dir"`
			M   json.RawMessage `json:"m"`
		}
		testenv.NoError(t, json.Unmarshal(s.Bytes(), &recorded))
		fmt.Fprintf(&lines, "%s%s\n", map[string]string{"c2a": ">", "a2c": "<"}[recorded.Dir], recorded.M)
	}
	return lines.String()
}

func TestReaderExtractsOneTurnFromRecordedConversation(t *testing.T) {
	t.Parallel()
	want := []string{"prompt: say hello with the tool", "response: All done: the tool said hello."}
	c := newConversation().play(recorded(t))
	if got := c.texts(); !slices.Equal(got, want) || c.events[0].SourceName != "Claude Agent" {
		t.Errorf("got %q, want %q of %+v", got, want, c.events)
	}
}
