package capture

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/fence"
	"github.com/loci-memory/loci/internal/secret/secrettest"
	"github.com/loci-memory/loci/internal/testenv"
)

type object = map[string]any

// A form writes payloads of one agent: a prompt with its answer, with texts in all places that hold texts.
type form func(session, turn, cwd, prompt, answer, other string) []object

func claudeForm(s, turn, cwd, prompt, answer, other string) []object {
	base := object{"session_id": s, "prompt_id": turn, "turn_id": turn, "cwd": cwd, "transcript_path": other}
	with := func(event string, more object) object {
		o := object{"hook_event_name": event}
		for _, m := range []object{base, more} {
			for k, v := range m {
				o[k] = v
			}
		}
		return o
	}
	return []object{with("SessionStart", object{"source": "startup"}),
		with("UserPromptSubmit", object{"prompt": prompt}),
		with("PreToolUse", object{"tool_input": object{"command": other}}),
		with("PostToolUse", object{"tool_response": object{"stdout": other}}),
		with("MessageDisplay", object{"delta": other}),
		with("SubagentStop", object{"last_assistant_message": other}),
		with("Stop", object{"last_assistant_message": other, "agent_id": "a1"}),
		with("Stop", object{"last_assistant_message": answer}), with("SessionEnd", nil)}
}

func openCodeForm(s, turn, cwd, prompt, answer, other string) []object {
	text := func(text string) object { return object{"type": "text", "text": text} }
	noise := []any{object{"type": "reasoning", "text": other}, object{"type": "text", "text": other, "synthetic": true},
		object{"type": "tool", "state": object{"output": other}}}
	message := func(finish, text string) object {
		return object{"k": "message", "cwd": cwd, "v": object{"info": object{"id": turn + "a", "sessionID": s,
			"parentID": turn, "role": "assistant", "finish": finish}, "parts": append(noise, object{"type": "text",
			"text": text})}}
	}
	return []object{
		{"k": "event", "v": object{"type": "session.created", "properties": object{"info": object{"id": s}}}},
		{"k": "event", "v": object{"type": "session.created", "properties": object{"info": object{"id": "child" + other,
			"parentID": s}}}},
		{"k": "chat.message", "cwd": cwd, "v": object{"i": object{"sessionID": s}, "o": object{
			"message": object{"id": turn, "role": "user", "sessionID": s},
			"parts":   append([]any{text(prompt)}, noise...)}}},
		{"k": "tool.execute.after", "v": object{"o": object{"output": other}}},
		message("tool-calls", other), message("error", other), message("stop", answer),
		{"k": "event", "v": object{"type": "session.deleted", "properties": object{"info": object{"id": s}}}}}
}

func piForm(s, _, cwd, prompt, answer, other string) []object {
	extra := object{"sessionId": s, "cwd": cwd, "sessionFile": other}
	user := object{"role": "user", "content": []any{object{"type": "text", "text": prompt}}, "timestamp": 1795255063035}
	run := []any{object{"role": "system", "content": other}, user, object{"role": "assistant",
		"content":    []any{object{"type": "text", "text": other}, object{"type": "toolCall"}},
		"stopReason": "toolUse", "timestamp": 1795255063063},
		object{"role": "toolResult", "content": []any{object{"type": "text", "text": other}}},
		object{"role": "assistant", "content": []any{object{"type": "thinking", "thinking": other, "text": other},
			object{"type": "text", "text": answer}}, "stopReason": "stop", "timestamp": 1795255063173}}
	return []object{{"e": "session_start", "event": object{"reason": "startup"}, "extra": extra},
		{"e": "message_end", "event": object{"message": user}, "extra": extra},
		{"e": "message_end", "event": object{"message": run[4]}, "extra": extra},
		{"e": "tool_result", "event": object{"content": other}, "extra": extra},
		{"e": "agent_end", "event": object{"messages": run}, "extra": extra},
		{"e": "session_shutdown", "event": object{"reason": "quit"}, "extra": extra}}
}

func notifyForm(s, turn, cwd, prompt, answer, other string) []object {
	return append(claudeForm(s, turn, cwd, prompt, answer, other), object{"type": "agent-turn-complete", "thread-id": s,
		"turn-id": turn, "cwd": cwd, "input-messages": []string{prompt}, "last-assistant-message": answer})
}

var forms = map[loci.Adapter]form{"claude": claudeForm, "workbuddy": claudeForm, "codex": notifyForm,
	"opencode": openCodeForm, "pi": piForm}

func encode(t testing.TB, objects []object) (payloads [][]byte) {
	for _, o := range objects {
		b := testenv.Must(json.Marshal(o))(t)
		payloads = append(payloads, b)
	}
	return payloads
}

func texts(t testing.TB, events []Event) string {
	b := testenv.Must(json.Marshal(events))(t)
	return string(b)
}

func TestReadKeepsPromptAndLastAnswerAlone(t *testing.T) {
	t.Parallel()
	for agent, write := range forms {
		events := readAll(t, agent, encode(t, write("s1", "t1", "/home/ann/proj", "The prompt.", "The answer.",
			"NOISE")))
		var kinds []loci.EventType
		for _, e := range events {
			kinds = append(kinds, e.Input.Type)
		}
		if !slices.Equal(kinds, []loci.EventType{loci.EventSessionStart, loci.EventPrompt, loci.EventResponse,
			loci.EventSessionEnd}) {
			t.Errorf("%s: %v", agent, kinds)
			continue
		}
		if s := texts(t, events); strings.Contains(s, "NOISE") || events[1].Input.Content != "The prompt." ||
			events[2].Input.Content != "The answer." || events[1].Input.UnitKey != events[2].Input.UnitKey ||
			events[1].Task != "The prompt." || events[1].CWD() != "/home/ann/proj" {
			t.Errorf("%s: %s", agent, s)
		}
	}
}

// printable is the rule of ids.
var printable = regexp.MustCompile(`^[ -~]{1,200}$`)

func TestReadRedactsCredentialsInEveryField(t *testing.T) {
	t.Parallel()
	samples := secrettest.RandomSamples(rand.New(rand.NewPCG(23, 4)))
	for agent, write := range forms {
		for i, s := range samples[:60] {
			for field := range 6 {
				in := []string{"s", "t", "/home/ann", "prompt", "answer", "other"}
				in[field] = strings.Trim(in[field]+"\n"+s.Text, "\n")
				events := readAll(t, agent, encode(t, write(in[0], in[1], in[2], in[3], in[4], in[5])))
				all, _ := json.Marshal(s.Secret())
				if out := texts(t, events); strings.Contains(out, strings.Trim(string(all), `"`)) {
					t.Fatalf("%s: sample %d of rule %s is in field %d of %s", agent, i, s.Rule, field, out)
				}
				counted := 0
				for _, e := range events {
					counted += len(e.Audit)
					if !printable.MatchString(string(e.Input.EventID)) || !printable.MatchString(e.ExternalID) {
						t.Errorf("%s: the ids %q %q", agent, e.Input.EventID, e.ExternalID)
					}
				}
				if wants := field == 0 || field == 3 || field == 4; wants && counted == 0 {
					t.Errorf("%s: field %d is not audited", agent, field)
				}
			}
		}
	}
}

func TestReadRemovesQuotedMemories(t *testing.T) {
	t.Parallel()
	page := fence.Markdown("Inbox", []fence.Group{{Name: "fact", Memories: []fence.Memory{{ID: "1",
		Content: "INJECTED"}}}})
	for agent, write := range forms {
		events := readAll(t, agent, encode(t, write("s", "t", "/a", "Before\n"+page+"after.", page, "x")))
		if out := texts(t, events); strings.Contains(out, "INJECTED") || !strings.Contains(out, `Before\nafter.`) {
			t.Errorf("%s: %s", agent, out)
		}
		for _, e := range events {
			if e.Input.Type == loci.EventResponse {
				t.Errorf("%s: an answer of nothing but memories is an event: %+v", agent, e)
			}
		}
	}
}

func TestReadBoundsTextsAndIDs(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("wörd ", 400<<10)
	token := secrettest.RandomSamples(rand.New(rand.NewPCG(1, 2)))[0]
	for agent, write := range forms {
		answer := long[:maxScanned-20] + token.Text
		for _, e := range readAll(t, agent, encode(t, write(long, "turn\x00ü", long, long, answer, ""))) {
			if len(e.Input.Content) > loci.MaxEventContent || len(e.CWD()) > maxPath || len([]rune(e.Task)) > 400 ||
				!printable.MatchString(string(e.Input.EventID)) || !printable.MatchString(e.ExternalID) {
				t.Errorf("%s: %d bytes, id %q", agent, len(e.Input.Content), e.Input.EventID)
			}
			if strings.Contains(string(e.Input.Content), token.Secret()[:8]) {
				t.Errorf("%s: a cut credential is kept", agent)
			}
		}
	}
}

// The scanner sees whole credentials where a quotation before them makes the text short.
func TestContentKeepsNoCutCredential(t *testing.T) {
	t.Parallel()
	page := fence.Markdown("Inbox", []fence.Group{{Name: "fact", Memories: []fence.Memory{{ID: "1",
		Content: strings.Repeat("quoted words\n", 28<<10)}}}})
	for i, s := range secrettest.RandomSamples(rand.New(rand.NewPCG(8, 4)))[:40] {
		for _, part := range []int{len(s.Secret()) / 2, len(s.Secret()) * 9 / 10} {
			head := strings.Index(s.Text, s.Secret()) + part // the bytes of the sample before the end of what is read
			filler := strings.Repeat("a b\n", (maxScanned-len(page)-head)/4)
			text := page + strings.Repeat(" ", maxScanned-len(page)-len(filler)-head) + filler + s.Text
			got := newRedactor().content(text)
			if len(got) < 16<<10 || strings.Contains(got, s.Secret()[:part/2+1]) && part > 8 {
				t.Errorf("sample %d of rule %s: %d bytes that end with %q", i, s.Rule, len(got),
					got[max(0, len(got)-100):])
			}
		}
	}
}

func TestContentReadsTheFirstBytesAlone(t *testing.T) {
	t.Parallel()
	quoted := strings.Repeat("Deploy.\n", maxToken) +
		strings.Repeat("# Memories\n\nThere are no memories to show.\n", maxScanned/40) + "after"
	if got := newRedactor().content(quoted); strings.Contains(got, "after") || !strings.HasPrefix(got, "Deploy.") {
		t.Errorf("%d bytes that end with %q", len(got), got[max(0, len(got)-20):])
	}
}

func TestReadRefusesOtherPayloads(t *testing.T) {
	t.Parallel()
	for _, name := range Agents() {
		for _, bad := range []string{"", "no json", "[]", "null", "7", "{", strings.Repeat("{", 5000),
			strings.Repeat(`{"v":`, 20_000) + strings.Repeat("}", 20_000), `{"v":7,"k":"message","cwd":[],"extra":7}`,
			`{"hook_event_name":7,"event":7,"v":{},"k":{}}`} {
			if events, err := Read(loci.Adapter(name), []byte(bad)); err == nil || events != nil {
				t.Errorf("%s: %.40q gives %v %v", name, bad, events, err)
			}
		}
		for _, idle := range []string{"{}", `{"hook_event_name":"Nonsense","k":"x","e":"y"}`, " \ufeff{}",
			`{"hook_event_name":"Stop","session_id":"s","k":"message","v":{},"e":"agent_end"}`} {
			if events, err := Read(loci.Adapter(name), []byte(idle)); events != nil || err != nil && idle[0] == '{' {
				t.Errorf("%s: %q gives %v %v", name, idle, events, err)
			}
		}
	}
	if _, err := Read("claude", make([]byte, MaxPayload+1)); err != ErrTooLarge {
		t.Error(err)
	}
	if _, err := Read("acp", []byte("{}")); err != ErrNoAdapter {
		t.Error(err)
	}
}

// Two sessions with the same turns are apart, and a turn without an id is found again by its text.
func TestReadGivesDeterministicIDs(t *testing.T) {
	t.Parallel()
	for agent, write := range forms {
		ids := map[string]bool{}
		for _, s := range []string{"s1", "s2", "s1"} {
			payloads := encode(t, write(s, "", "/a", "The same prompt.", "The same answer.", ""))
			for _, e := range readAll(t, agent, payloads) {
				ids[fmt.Sprint(e.ExternalID, e.Input.EventID)] = true
			}
		}
		testenv.Equal(t, len(ids), 8, agent, ids)
	}
	first := readAll(t, "claude", encode(t, []object{{"hook_event_name": "Stop", "session_id": "s", "prompt_id": "p",
		"last_assistant_message": "One."}, {"hook_event_name": "Stop", "session_id": "s", "prompt_id": "p",
		"stop_hook_active": true, "last_assistant_message": "Two."}}))
	testenv.Equal(t, len(first), 2, "an answer after a hook of the user is lost", first)
}

func fuzzAgent(f *testing.F, agent loci.Adapter) {
	for _, p := range encode(f, forms[agent]("s", "t", "/a", "We use Quartz.", "Done.", "TOOL")) {
		f.Add(string(p))
	}
	f.Fuzz(func(t *testing.T, payload string) {
		events, err := Read(agent, []byte(payload))
		again, _ := Read(agent, []byte(payload))
		if err != nil && events != nil || !reflect.DeepEqual(events, again) {
			t.Fatalf("%v %v", events, err)
		}
		for _, e := range events {
			if !printable.MatchString(string(e.Input.EventID)) || !printable.MatchString(e.ExternalID) ||
				e.Task == "" || len(e.Input.Content) > loci.MaxEventContent || strings.Contains(e.Task, "\n") {
				t.Fatalf("%+v", e)
			}
		}
	})
}

func FuzzReadClaude(f *testing.F)   { fuzzAgent(f, "claude") }
func FuzzReadCodex(f *testing.F)    { fuzzAgent(f, "codex") }
func FuzzReadOpenCode(f *testing.F) { fuzzAgent(f, "opencode") }
func FuzzReadPi(f *testing.F)       { fuzzAgent(f, "pi") }
