package capture

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/testenv"
)

// recorded returns the payloads of an agent that were recorded beside this repository, as the hook sends them.
func recorded(t testing.TB, agent loci.Adapter) (payloads [][]byte) {
	name := map[loci.Adapter]string{"claude": "claude-code", "workbuddy": "claude-code"}[agent]
	if name == "" {
		name = string(agent)
	}
	found, _ := filepath.Glob("../../../shared/data/hooks/" + name + "-*.jsonl")
	if len(found) == 0 {
		t.Skipf("the recorded payloads of %s are not beside this repository (../shared/data/hooks)", agent)
	}
	file := testenv.Must(os.Open(found[0]))(t)
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		payloads = append(payloads, unwrap(t, agent, lines.Bytes())...)
	}
	if agent == "opencode" {
		payloads = pluginCalls(t, payloads)
	}
	return payloads
}

// unwrap returns the payload of a line of a recording. Those of Claude Code and Codex also name how it was passed.
func unwrap(t testing.TB, agent loci.Adapter, line []byte) [][]byte {
	if agent == "opencode" || agent == "pi" {
		return [][]byte{slices.Clone(line)}
	}
	var row struct {
		Argv  json.RawMessage `json:"argv_json"`
		Stdin json.RawMessage `json:"stdin"`
	}
	testenv.NoError(t, json.Unmarshal(line, &row))
	if string(row.Stdin) != "null" {
		return [][]byte{row.Stdin}
	}
	return [][]byte{row.Argv}
}

// pluginCalls adds what the plugin sends at session.idle: the last message of the assistant.
func pluginCalls(t testing.TB, recording [][]byte) (calls [][]byte) {
	type object = map[string]any
	infos, parts, order := map[string]object{}, map[string][]any{}, []string{}
	for _, line := range recording {
		calls = append(calls, line)
		var row struct {
			K string
			V json.RawMessage
		}
		var e struct {
			Type       string
			Properties struct {
				SessionID  string
				Info, Part object
			}
		}
		if json.Unmarshal(line, &row) != nil || row.K != "event" || json.Unmarshal(row.V, &e) != nil {
			continue
		}
		switch p := e.Properties; e.Type {
		case "message.updated":
			id := p.Info["id"].(string)
			if infos[id] == nil {
				order = append(order, id)
			}
			infos[id] = p.Info
		case "message.part.updated":
			id := p.Part["messageID"].(string)
			same := func(x any) bool { return x.(object)["id"] == p.Part["id"] }
			parts[id] = append(slices.DeleteFunc(parts[id], same), p.Part)
		case "session.idle":
			for _, id := range slices.Backward(order) {
				if infos[id]["role"] == "assistant" && infos[id]["sessionID"] == p.SessionID {
					call := testenv.Must(json.Marshal(object{"k": "message", "cwd": "/home/ann/proj",
						"v": object{"info": infos[id], "parts": parts[id]}}))(t)
					calls = append(calls, call)
					break
				}
			}
		}
	}
	return calls
}

// readAll returns the events of payloads, each id once.
func readAll(t testing.TB, agent loci.Adapter, payloads [][]byte) (events []Event) {
	seen := map[string]bool{}
	for _, p := range payloads {
		all, err := Read(agent, p)
		if err != nil {
			t.Fatalf("%s: %v: %s", agent, err, p)
		}
		for _, e := range all {
			if id := e.ExternalID + " " + string(e.Input.EventID); !seen[id] {
				seen[id] = true
				events = append(events, e)
			}
		}
	}
	return events
}

const (
	recordedPrompt = "say hello with the tool"
	recordedAnswer = "All done: the tool said hello."
)

func TestReadExtractsPromptAndAnswerOfRecordedTurns(t *testing.T) {
	t.Parallel()
	for _, name := range Agents() {
		agent := loci.Adapter(name)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			payloads := recorded(t, agent)
			events := readAll(t, agent, payloads)
			if twice := readAll(t, agent, append(payloads, payloads...)); !reflect.DeepEqual(twice, events) {
				t.Error("payloads that are sent twice give other events")
			}
			turns, units := map[loci.EventType]int{}, map[loci.ExternalID][]loci.EventType{}
			for _, e := range events {
				turns[e.Input.Type]++
				if e.Input.Role != "" {
					units[e.Input.UnitKey] = append(units[e.Input.UnitKey], e.Input.Type)
				}
				if e.Adapter != agent || e.Input.Adapter != agent || e.Task == "" || e.Audit != nil ||
					e.ExternalID == "" {
					t.Errorf("%+v", e)
				}
				if e.CWD() != "/home/ann/proj" && agent != "opencode" {
					t.Errorf("%+v has no folder", e)
				}
				testenv.Equal(t, wantContent(e.Input.Type), strings.Trim(string(e.Input.Content), `"`), e.Input.Type,
					e.Input.Content)
			}
			if turns[loci.EventPrompt] == 0 || turns[loci.EventPrompt] != turns[loci.EventResponse] ||
				turns[loci.EventSessionStart] == 0 {
				t.Errorf("%v", turns)
			}
			for unit, kinds := range units {
				if unit == "" || !slices.Equal(kinds, []loci.EventType{loci.EventPrompt, loci.EventResponse}) {
					t.Errorf("the turn %q has %v", unit, kinds)
				}
			}
		})
	}
}

func wantContent(kind loci.EventType) string {
	return map[loci.EventType]string{loci.EventPrompt: recordedPrompt, loci.EventResponse: recordedAnswer}[kind]
}
