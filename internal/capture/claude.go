package capture

import (
	"cmp"
	"strings"

	"github.com/loci-memory/loci"
)

// A claudePayload is what Claude Code, Codex and WorkBuddy write to the stdin of a hook.
type claudePayload struct {
	Event          string `json:"hook_event_name"`
	SessionID      string `json:"session_id"`
	CWD            string `json:"cwd"`
	PromptID       string `json:"prompt_id"` // Claude Code's id of a turn
	TurnID         string `json:"turn_id"`   // Codex's
	AgentID        string `json:"agent_id"`  // of a subagent
	Source         string `json:"source"`
	Prompt         string `json:"prompt"`
	Answer         string `json:"last_assistant_message"`
	StopHookActive bool   `json:"stop_hook_active"` // a hook has made the agent continue after its answer
}

func readClaude(adapter loci.Adapter, name string, payload []byte) ([]Event, error) {
	var p claudePayload
	if err := decode(payload, &p); err != nil {
		return nil, err
	}
	return p.events(adapter, name), nil
}

func (p claudePayload) events(adapter loci.Adapter, name string) []Event {
	if p.AgentID != "" || strings.HasPrefix(p.Prompt, "<task-notification>") {
		return nil
	}
	s := session{adapter, name, p.SessionID, p.CWD}
	turn := cmp.Or(p.PromptID, p.TurnID)
	switch p.Event {
	case "SessionStart":
		return s.event(moment{kind: loci.EventSessionStart, position: cmp.Or(p.Source, "startup")}, "")
	case "UserPromptSubmit":
		return s.event(moment{kind: loci.EventPrompt, unit: turn, position: turn}, p.Prompt)
	case "Stop":
		position := turn
		if p.StopHookActive && turn != "" {
			position += ":" + hash(p.Answer)
		}
		return s.event(moment{kind: loci.EventResponse, unit: turn, position: position}, p.Answer)
	case "SessionEnd":
		return s.event(moment{kind: loci.EventSessionEnd, position: cmp.Or(turn, "end")}, "")
	}
	return nil
}

// A codexNotice is what Codex passes to its notify program.
type codexNotice struct {
	Type   string   `json:"type"`
	Thread string   `json:"thread-id"`
	Turn   string   `json:"turn-id"`
	CWD    string   `json:"cwd"`
	Inputs []string `json:"input-messages"`
	Answer string   `json:"last-assistant-message"`
}

func readCodex(payload []byte) ([]Event, error) {
	const name = "Codex"
	var p claudePayload
	if err := decode(payload, &p); err != nil || p.Event != "" {
		return p.events("codex", name), err
	}
	var n codexNotice
	if err := decode(payload, &n); err != nil || n.Type != "agent-turn-complete" {
		return nil, err
	}
	s := session{"codex", name, n.Thread, n.CWD}
	m := moment{kind: loci.EventPrompt, unit: n.Turn, position: n.Turn}
	events := s.event(m, strings.Join(n.Inputs, "\n\n"))
	m.kind = loci.EventResponse
	return append(events, s.event(m, n.Answer)...), nil
}
