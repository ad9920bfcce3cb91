package acp

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"time"

	"github.com/loci-memory/loci"
)

// An Event is a text of a session.
type Event struct {
	SessionID string
	EventID   loci.ExternalID
	Type      loci.EventType
	Role      loci.EventRole
	UnitKey   loci.ExternalID
	At        time.Time
	Cwd       string
	Content   string
}

// Reasons for which a turn has stopped. A canceled turn yields nothing, and neither does one that failed.
const (
	stopEndTurn         = "end_turn"
	stopMaxTokens       = "max_tokens"
	stopMaxTurnRequests = "max_turn_requests"
	stopRefusal         = "refusal"
)

// finish draws the events of a turn. An answer that was cut off or refused is not drawn.
func (r *Reader) finish(q *request, reason string) {
	s, t, said := q.session, q.turn, ""
	if next := r.running(s); next == nil || next.turn.number > t.number { // it was the running turn
		said, s.answer = string(s.answer.text), answer{}
	}
	if t.dropped {
		return
	}
	unit := s.identify(t.number, "turn", t.prompt)
	var events []Event
	add := func(kind loci.EventType, role loci.EventRole, at time.Time, text string) {
		if text != "" {
			events = append(events, Event{SessionID: s.id, EventID: s.identify(t.number, string(kind), text), Type: kind,
				Role: role, UnitKey: unit, At: at, Cwd: s.cwd, Content: text})
		}
	}
	switch reason {
	case stopEndTurn:
		add(loci.EventPrompt, loci.RoleOfUser, t.at, t.prompt)
		add(loci.EventResponse, loci.RoleOfAssistant, r.now(), said)
	case stopMaxTokens, stopMaxTurnRequests, stopRefusal:
		add(loci.EventPrompt, loci.RoleOfUser, t.at, t.prompt)
	}
	if len(events) > 0 {
		r.emit(events)
	}
}

// identify returns the id of a part of a turn. It depends on the conversation alone.
func (s *session) identify(turn int, part, text string) loci.ExternalID {
	h := sha256.New()
	for _, field := range []string{s.id, strconv.Itoa(turn), part, text} {
		h.Write([]byte(strconv.Itoa(len(field)) + ":" + field))
	}
	return loci.ExternalID("acp-" + hex.EncodeToString(h.Sum(nil)[:16]))
}
