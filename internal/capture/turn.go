package capture

import (
	"strconv"

	"github.com/loci-memory/loci"
)

// MaxText is the most bytes of a prompt or an answer that are read. An event keeps the first 256 KiB.
const MaxText = maxScanned

// maxName is the most bytes of an agent's name.
const maxName = 64

// A Turn is a prompt and its answer, from a conversation that names sessions and not turns.
type Turn struct {
	Adapter        loci.Adapter
	Agent          string // its name
	SessionID, CWD string
	Number         int // of the turn in its session
	Prompt, Answer string
	Asked, Said    loci.Time
}

// Events returns the events of the texts that are not empty. Their ids depend on session, number and texts.
func (t Turn) Events() []Event {
	s := session{t.Adapter, newRedactor().line(t.Agent, maxName), t.SessionID, t.CWD}
	unit := hash(t.SessionID, strconv.Itoa(t.Number), newRedactor().content(t.Prompt))
	position := unit + ":" + hash(newRedactor().content(t.Answer)) // a number begins again when a session is resumed
	return append(s.event(moment{loci.EventPrompt, unit, unit, t.Asked}, t.Prompt),
		s.event(moment{loci.EventResponse, unit, position, t.Said}, t.Answer)...)
}
