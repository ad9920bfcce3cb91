package capture

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/loci-memory/loci"
)

// A piPayload is what the extension writes for one event of pi.
type piPayload struct {
	Name  string `json:"e"`
	Event struct {
		Reason   string      `json:"reason"`
		Message  piMessage   `json:"message"`
		Messages []piMessage `json:"messages"`
	} `json:"event"`
	Extra struct {
		SessionID string `json:"sessionId"`
		CWD       string `json:"cwd"`
	} `json:"extra"`
}

// A piMessage is a message of pi. Its time is its id.
type piMessage struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"` // a text, or a list of parts
	StopReason string          `json:"stopReason"`
	Timestamp  int64           `json:"timestamp"`
}

func readPi(payload []byte) ([]Event, error) {
	var p piPayload
	if err := decode(payload, &p); err != nil {
		return nil, err
	}
	s := session{"pi", "pi", p.Extra.SessionID, p.Extra.CWD}
	switch p.Name {
	case "session_start":
		reason := cmp.Or(p.Event.Reason, "startup")
		return s.event(moment{kind: loci.EventSessionStart, position: reason}, ""), nil
	case "message_end":
		if p.Event.Message.Role == "user" {
			return s.piPrompt(p.Event.Message), nil
		}
	case "agent_end":
		return s.piRun(p.Event.Messages), nil
	case "session_shutdown":
		if p.Event.Reason != "reload" {
			return s.event(moment{kind: loci.EventSessionEnd, position: "end"}, ""), nil
		}
	}
	return nil, nil
}

func (s session) piPrompt(m piMessage) []Event {
	id := m.id()
	return s.event(moment{loci.EventPrompt, id, id, milliseconds(m.Timestamp)}, m.text())
}

// piRun returns the prompts of a run and its last answer, which belongs to the last prompt before it.
func (s session) piRun(messages []piMessage) (events []Event) {
	var answer piMessage
	prompt, unit := "", ""
	for _, m := range messages {
		switch m.Role {
		case "user":
			prompt = m.id()
			events = append(events, s.piPrompt(m)...)
		case "assistant":
			answer, unit = m, prompt
		}
	}
	if answer.StopReason != "stop" && answer.StopReason != "length" {
		return events
	}
	at := moment{loci.EventResponse, unit, answer.id(), milliseconds(answer.Timestamp)}
	return append(events, s.event(at, answer.text())...)
}

func (m piMessage) id() string {
	if m.Timestamp == 0 {
		return ""
	}
	return strconv.FormatInt(m.Timestamp, 10)
}

// text returns the text of a message, without its reasoning, images and calls of tools.
func (m piMessage) text() string {
	var text string
	if json.Unmarshal(m.Content, &text) == nil {
		return text
	}
	var parts []struct{ Type, Text string }
	if json.Unmarshal(m.Content, &parts) != nil {
		return ""
	}
	var texts []string
	for _, p := range parts {
		if p.Type == "text" {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "\n\n")
}
