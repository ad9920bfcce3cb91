package acp

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/capture"
)

// A Reader extracts events from a conversation. It is for one goroutine.
type Reader struct {
	emit       func([]capture.Event)
	agent      string // its name
	now        func() time.Time
	fromClient lineBuffer
	fromAgent  lineBuffer
	sessions   []*session // oldest first
	requests   []*request // of the client, oldest first
}

// NewReader returns a reader that hands the events of each turn to emit, at the end of the turn.
func NewReader(emit func([]capture.Event)) *Reader {
	return &Reader{emit: emit, agent: "ACP agent", now: time.Now}
}

// FromClient reads bytes of the client.
func (r *Reader) FromClient(data []byte) {
	// of a prompt that is too long, nothing is extracted: its response is not known
	r.fromClient.add(data, r.readClient, func() {})
}

// FromAgent reads bytes of the agent.
func (r *Reader) FromAgent(data []byte) {
	r.fromAgent.add(data, r.readAgent, func() {
		for _, s := range r.sessions { // it is an output of a tool, or a message that is too long
			s.answer = answer{interrupted: true}
		}
	})
}

// Lost reports that bytes are missing. Nothing is extracted from turns that are open here.
func (r *Reader) Lost() {
	r.fromClient.drop()
	r.fromAgent.drop()
	r.requests = nil
	for _, s := range r.sessions {
		s.answer, s.loading = answer{}, 0
	}
}

// decode decodes JSON as far as its types are right: one wrong member does not hide the others.
func decode(text []byte, into any) bool {
	err := json.Unmarshal(text, into)
	_, wrongType := errors.AsType[*json.UnmarshalTypeError](err)
	return err == nil || wrongType
}

func (r *Reader) readClient(line []byte) {
	var m message
	if !decode(line, &m) || !slices.Contains(clientMethods, m.Method) {
		return
	}
	var p params
	if !decode(m.Params, &p) {
		return
	}
	q := &request{key: key(m.ID), method: m.Method, cwd: p.Cwd, session: r.find(p.SessionID)}
	switch m.Method {
	case methodInitialize, methodNew, methodFork:
		q.session = nil
		r.track(q)
	case methodLoad, methodResume:
		r.load(q, p)
	case methodPrompt:
		r.prompt(q, p)
	case methodCancelRequest:
		r.cancel(key(p.RequestID))
	default: // the session is canceled, closed or deleted
		if q.session != nil {
			r.dropTurns(q.session)
		}
	}
}

// load begins to load a session. The agent repeats its history meanwhile.
func (r *Reader) load(q *request, p params) {
	if q.session = r.open(p.SessionID, p.Cwd); q.session == nil || q.key == "" {
		return
	}
	r.dropTurns(q.session)
	q.session.loading++
	r.track(q)
}

// prompt begins a turn. Nothing is extracted from one of an unknown session.
func (r *Reader) prompt(q *request, p params) {
	s := q.session
	if s == nil {
		return
	}
	if r.running(s) == nil {
		s.answer = answer{}
	}
	s.turns++
	q.turn = turn{number: s.turns, prompt: writtenText(p.Prompt), at: loci.TimeOf(r.now()), dropped: s.loading > 0}
	if len(q.turn.prompt) > maxText {
		q.turn.prompt = ""
	}
	r.track(q)
}

// cancel drops the turn of a request.
func (r *Reader) cancel(key string) {
	for _, q := range r.requests {
		if q.key == key {
			q.turn.dropped = true
		}
	}
}

func (r *Reader) readAgent(line []byte) {
	var m message
	if !decode(line, &m) {
		return
	}
	switch m.Method {
	case "":
		r.respond(m)
	case methodUpdate:
		var p params
		if decode(m.Params, &p) {
			r.update(r.find(p.SessionID), p.Update)
		}
	}
}

// update reads a part of the output of a turn.
func (r *Reader) update(s *session, u update) {
	if s == nil {
		return
	}
	running := r.running(s) // without one, the agent works on its own
	switch {
	case running == nil || running.turn.dropped || u.ofSubagent() || slices.Contains(sessionKinds, u.Kind):
	case u.Kind != kindMessage:
		s.answer.interrupted = true
	default:
		if text := u.text(); text != "" && len(u.MessageID) <= maxID {
			s.answer.add(u.MessageID, text)
		}
	}
}

// respond reads the response to a request of the client.
func (r *Reader) respond(m message) {
	q := r.take(key(m.ID))
	if q == nil {
		return
	}
	var out result
	failed := len(m.Error) > 0 && string(m.Error) != "null" || !decode(m.Result, &out)
	switch q.method {
	case methodInitialize:
		if name := cmp.Or(out.AgentInfo.Title, out.AgentInfo.Name); len(name) <= maxID {
			r.agent = cmp.Or(name, r.agent)
		}
	case methodNew, methodFork:
		if !failed {
			r.open(out.SessionID, q.cwd)
		}
	case methodLoad, methodResume:
		q.session.loading = max(q.session.loading-1, 0)
	case methodPrompt:
		r.finish(q, out.StopReason)
	}
}
