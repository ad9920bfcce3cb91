package capture

import (
	"errors"

	"github.com/loci-memory/loci"
)

// MaxPayload is the most bytes of a payload.
const MaxPayload = 16 << 20

// An Event is one event of an agent's session, ready to be delivered: redacted, bounded, with a deterministic id.
type Event struct {
	Adapter    loci.Adapter          `json:"adapter"`
	ExternalID string                `json:"externalId"` // the agent's id of its session
	SourceName string                `json:"sourceName"` // the agent's name
	Task       string                `json:"task"`       // of a session that begins with this event
	Input      loci.SendEvent        `json:"input"`      // without SessionID
	Audit      []loci.RedactionCount `json:"audit,omitzero"`
}

// CWD returns the working folder of the event, or "".
func (e Event) CWD() string {
	cwd, _ := e.Input.Metadata["cwd"].(string)
	return cwd
}

// The errors of a payload.
var (
	ErrTooLarge  = errors.New("the payload is larger than 16 MiB")
	ErrPayload   = errors.New("the payload is no JSON object of this agent")
	ErrNoAdapter = errors.New("the agent is not known")
)

// adapters are the readers of payloads, by the names of the command "loci hook".
var adapters = map[loci.Adapter]func(payload []byte) ([]Event, error){
	"claude":    func(b []byte) ([]Event, error) { return readClaude("claude", "Claude Code", b) },
	"workbuddy": func(b []byte) ([]Event, error) { return readClaude("workbuddy", "WorkBuddy", b) },
	"codex":     readCodex,
	"opencode":  readOpenCode,
	"pi":        readPi,
}

// Agents lists the agents whose payloads [Read] knows.
func Agents() []string { return []string{"claude", "codex", "opencode", "pi", "workbuddy"} }

// Read returns the events of one payload of an agent's hook. A payload without any is no error.
func Read(agent loci.Adapter, payload []byte) ([]Event, error) {
	read := adapters[agent]
	switch {
	case read == nil:
		return nil, ErrNoAdapter
	case len(payload) > MaxPayload:
		return nil, ErrTooLarge
	}
	return read(payload)
}
