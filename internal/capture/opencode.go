package capture

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/loci-memory/loci"
)

// An openCodePayload is what the plugin writes for one call of its hooks.
type openCodePayload struct {
	Kind string          `json:"k"`
	CWD  string          `json:"cwd"`
	V    json.RawMessage `json:"v"`
}

// An openCodeMessage is a message of opencode with its parts.
type openCodeMessage struct {
	Info struct {
		ID        string          `json:"id"`
		SessionID string          `json:"sessionID"`
		ParentID  string          `json:"parentID"` // of an answer: its prompt
		Role      string          `json:"role"`
		Mode      string          `json:"mode"`
		Finish    string          `json:"finish"`
		Error     json.RawMessage `json:"error"`
		Summary   json.RawMessage `json:"summary"` // true in a summary of the conversation
		Path      struct {
			CWD string `json:"cwd"`
		} `json:"path"`
		Time struct {
			Created int64 `json:"created"`
		} `json:"time"`
	} `json:"info"`
	Parts []openCodePart `json:"parts"`
}

// An openCodePart is a part of a message. A synthetic one was written by opencode.
type openCodePart struct {
	Type      string `json:"type"`
	Text      string `json:"text"`
	Synthetic bool   `json:"synthetic"`
	Ignored   bool   `json:"ignored"`
}

func readOpenCode(payload []byte) ([]Event, error) {
	var p openCodePayload
	if err := decode(payload, &p); err != nil {
		return nil, err
	}
	read := map[string]func(string, []byte) ([]Event, error){"chat.message": readOpenCodePrompt,
		"message": readOpenCodeMessage, "event": readOpenCodeEvent}[p.Kind]
	if read == nil {
		return nil, nil
	}
	return read(p.CWD, p.V)
}

// readOpenCodePrompt reads the arguments of the hook chat.message.
func readOpenCodePrompt(cwd string, v []byte) ([]Event, error) {
	var in struct {
		O struct {
			Message json.RawMessage `json:"message"`
			Parts   []openCodePart  `json:"parts"`
		} `json:"o"`
	}
	if err := decode(v, &in); err != nil {
		return nil, err
	}
	m := openCodeMessage{Parts: in.O.Parts}
	if err := decode(in.O.Message, &m.Info); err != nil {
		return nil, err
	}
	return m.events(cwd), nil
}

func readOpenCodeMessage(cwd string, v []byte) ([]Event, error) {
	var m openCodeMessage
	if err := decode(v, &m); err != nil {
		return nil, err
	}
	return m.events(cwd), nil
}

func (m openCodeMessage) events(cwd string) []Event {
	s := session{"opencode", "opencode", m.Info.SessionID, cmp.Or(cwd, m.Info.Path.CWD)}
	at := moment{kind: loci.EventPrompt, unit: m.Info.ID, position: m.Info.ID, at: milliseconds(m.Info.Time.Created)}
	switch {
	case m.Info.Role == "user":
	case m.Info.Role == "assistant" && m.isAnswer():
		at.kind, at.unit = loci.EventResponse, m.Info.ParentID
	default:
		return nil
	}
	var texts []string
	for _, part := range m.Parts {
		if part.Type == "text" && !part.Synthetic && !part.Ignored {
			texts = append(texts, part.Text)
		}
	}
	return s.event(at, strings.Join(texts, "\n\n"))
}

// isAnswer reports whether a message of the assistant ends its turn. Others call a tool, failed, or sum up.
func (m openCodeMessage) isAnswer() bool {
	failed := len(m.Info.Error) > 0 && string(m.Info.Error) != "null"
	return !failed && string(m.Info.Summary) != "true" && m.Info.Mode != "compaction" &&
		!slices.Contains([]string{"tool-calls", "error", "content-filter"}, m.Info.Finish)
}

// readOpenCodeEvent reads an event of opencode's bus.
func readOpenCodeEvent(cwd string, v []byte) ([]Event, error) {
	var e struct {
		Type       string `json:"type"`
		Properties struct {
			Info struct {
				ID        string `json:"id"`
				ParentID  string `json:"parentID"`
				Directory string `json:"directory"`
			} `json:"info"`
		} `json:"properties"`
	}
	if err := decode(v, &e); err != nil {
		return nil, err
	}
	info := e.Properties.Info
	kind := map[string]loci.EventType{"session.created": loci.EventSessionStart,
		"session.deleted": loci.EventSessionEnd}[e.Type]
	if kind == "" || info.ParentID != "" {
		return nil, nil
	}
	s := session{"opencode", "opencode", info.ID, cmp.Or(cwd, info.Directory)}
	return s.event(moment{kind: kind, position: info.ID}, ""), nil
}

// milliseconds returns a time of JavaScript; 0 without one.
func milliseconds(n int64) loci.Time {
	const year2200 = 7_258_118_400_000
	if n <= 0 || n > year2200 {
		return 0
	}
	return loci.Time(n * 1000)
}
