package acp

import (
	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/capture"
)

// Reasons for which a turn has stopped. A canceled turn yields nothing, and neither does one that failed.
const (
	stopEndTurn         = "end_turn"
	stopMaxTokens       = "max_tokens"
	stopMaxTurnRequests = "max_turn_requests"
	stopRefusal         = "refusal"
)

// finish extracts the events of a turn. An answer that was cut off or refused is not extracted.
func (r *Reader) finish(q *request, reason string) {
	s, t, said := q.session, q.turn, ""
	if next := r.running(s); next == nil || next.turn.number > t.number { // it was the running turn
		said, s.answer = string(s.answer.text), answer{}
	}
	switch reason {
	case stopEndTurn:
	case stopMaxTokens, stopMaxTurnRequests, stopRefusal:
		said = ""
	default:
		return
	}
	if t.dropped {
		return
	}
	events := capture.Turn{Adapter: adapter, Agent: r.agent, SessionID: s.id, CWD: s.cwd, Number: t.number,
		Prompt: t.prompt, Answer: said, Asked: t.at, Said: loci.TimeOf(r.now())}.Events()
	if len(events) > 0 {
		r.emit(events)
	}
}

// adapter is the name of the protocol in events.
const adapter = "acp"
