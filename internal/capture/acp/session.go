package acp

import (
	"slices"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/capture"
)

// The bounds of what a reader keeps. With them its texts take at most 32 MiB.
const (
	maxText     = capture.MaxText // of a prompt or an answer
	maxRequests = 32              // without a response
	maxSessions = 256
	maxID       = 1 << 10 // of a session, a request or a message
	maxPath     = 4 << 10
)

// A session is what the reader knows of a session. Its turns are requests.
type session struct {
	id, cwd string
	turns   int // that were begun
	loading int // requests that load it
	answer  answer
}

// An answer is the last message of a turn: the parts since the last tool call, thought or other message.
type answer struct {
	text        []byte
	messageID   string
	interrupted bool // the next part begins another message
	long        bool // it exceeds maxText
}

// add adds a part of a message.
func (a *answer) add(messageID, text string) {
	if a.interrupted || messageID != "" && a.messageID != "" && messageID != a.messageID {
		*a = answer{}
	}
	a.messageID, a.interrupted = messageID, false
	if a.long = a.long || len(a.text)+len(text) > maxText; a.long {
		a.text = nil
		return
	}
	a.text = append(a.text, text...)
}

// A request waits for its response.
type request struct {
	key, method string
	session     *session // nil where the response names it
	cwd         string
	turn        turn // of a prompt
}

// A turn is a prompt and its answer.
type turn struct {
	number int
	prompt string
	at     loci.Time
	// dropped marks a turn from which nothing is extracted.
	dropped bool
}

// find returns a known session, or nil.
func (r *Reader) find(id string) *session {
	for _, s := range r.sessions {
		if s.id == id {
			return s
		}
	}
	return nil
}

// open adds a session, or sets the folder of a known one. It evicts the oldest session beyond the bound. It returns
// nil for a session that cannot be kept: without its folder nobody can decide whether its texts may be.
func (r *Reader) open(id, cwd string) *session {
	if id == "" || len(id) > maxID || len(cwd) > maxPath {
		return nil
	}
	s := r.find(id)
	if s == nil {
		if s = (&session{id: id}); len(r.sessions) == maxSessions {
			r.dropTurns(r.sessions[0])
			r.sessions = slices.Delete(r.sessions, 0, 1)
		}
		r.sessions = append(r.sessions, s)
	}
	s.cwd = cwd
	return s
}

// track adds a request. It replaces one with its id; beyond the bound it evicts the oldest request.
func (r *Reader) track(q *request) {
	if q.key == "" {
		return
	}
	r.forget(q.key)
	if len(r.requests) == maxRequests {
		r.forget(r.requests[0].key)
	}
	r.requests = append(r.requests, q)
}

// forget removes a request without its response. Its output would pass for that of another turn: none is extracted.
func (r *Reader) forget(key string) {
	if q := r.take(key); q != nil && q.session != nil {
		r.dropTurns(q.session)
	}
}

// take removes a request and returns it, or nil.
func (r *Reader) take(key string) *request {
	for i, q := range r.requests {
		if q.key == key {
			r.requests = slices.Delete(r.requests, i, i+1)
			return q
		}
	}
	return nil
}

// running returns the turn of a session to which the agent's output belongs: the oldest without a response.
func (r *Reader) running(s *session) *request {
	for _, q := range r.requests {
		if q.session == s && q.method == methodPrompt {
			return q
		}
	}
	return nil
}

// dropTurns makes the open turns of a session yield nothing.
func (r *Reader) dropTurns(s *session) {
	for _, q := range r.requests {
		if q.session == s {
			q.turn.dropped, q.turn.prompt = true, ""
		}
	}
	s.answer = answer{}
}
