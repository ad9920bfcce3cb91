package sessiondb

import (
	"encoding/json"
	"errors"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
)

// An Event is an event with what is stored of its text.
type Event struct {
	loci.SessionEvent
	Content  string
	Metadata loci.Metadata
}

// HasEvent reports whether the session has an event with an id of its client.
func (v *View) HasEvent(eventID string) (has bool, err error) {
	return has, v.in.Conn.QueryRow(`SELECT EXISTS (SELECT 1 FROM session_events v WHERE v.session = ?1 AND v.event_id = ?2)`,
		[]any{v.rowID, eventID}, []any{&has})
}

// Event returns the event of the session with an id of its client, if there is one.
func (s *Session) Event(eventID string) (e loci.SessionEvent, found bool, err error) {
	e.SessionID, e.Adapter = s.ID, s.Adapter
	err = s.in.Conn.QueryRow(`SELECT id, event_id, type, unit_key, role, occurred_at, created_at FROM session_events
		WHERE session = ?1 AND event_id = ?2`, []any{s.rowID, eventID},
		[]any{&e.ID, &e.EventID, &e.Type, &e.UnitKey, &e.Role, &e.OccurredAt, &e.CreatedAt})
	if errors.Is(err, sqldb.ErrNoRows) {
		return e, false, nil
	}
	e.UpdatedAt = e.CreatedAt
	return e, err == nil, err
}

// AddEvent stores an event. The texts of tools and files are not stored.
func (s *Session) AddEvent(e Event) (loci.SessionEvent, error) {
	t := s.in.Conn
	e.ID, e.SessionID, e.CreatedAt, e.UpdatedAt = loci.NewID(t.Now.Std()), s.ID, t.Now, t.Now
	metadata := ""
	if !e.Type.KeepsText() {
		e.Content = ""
	} else if len(e.Metadata) > 0 {
		b, err := json.Marshal(e.Metadata)
		if err != nil {
			return e.SessionEvent, err
		}
		metadata = string(b)
	}
	if _, err := t.Exec(`INSERT INTO session_events (id, session, event_id, type, unit_key, role, content, metadata,
			occurred_at, created_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)`, e.ID, s.rowID, e.EventID, e.Type,
		e.UnitKey, e.Role, e.Content, metadata, e.OccurredAt, t.Now); err != nil {
		return e.SessionEvent, err
	}
	if !s.hasTexts && (e.Content != "" || metadata != "") {
		s.hasTexts = true
		if _, err := t.Exec(`UPDATE sessions SET has_texts = ?2 WHERE row_id = ?1`, s.rowID, true); err != nil {
			return e.SessionEvent, err
		}
	}
	s.Counts.Events++
	return e.SessionEvent, s.Save()
}

// Texts returns the newest prompt of a unit and the newest answer before it. Without a unit key it is the newest prompt
// of the session. A response that is about to be stored is not among them.
func (v *View) Texts(unitKey string) (prompt, previous string, err error) {
	return v.textsBefore(unitKey, newest)
}

// newest is beyond the rows of all events.
const newest = 1 << 62

func (v *View) textsBefore(unitKey string, before int64) (prompt, previous string, err error) {
	var at int64
	err = v.in.Conn.QueryRow(`SELECT v.row_id, v.content FROM session_events v WHERE v.session = ?1 AND v.type = 'prompt'
		AND v.row_id < ?3 AND (?2 = '' OR v.unit_key = ?2) ORDER BY v.row_id DESC LIMIT 1`,
		[]any{v.rowID, unitKey, before}, []any{&at, &prompt})
	if errors.Is(err, sqldb.ErrNoRows) {
		return "", "", nil
	}
	if err == nil {
		previous, err = v.answerBefore(at)
	}
	return prompt, previous, err
}

// A Turn is a stored event with the prompt of its turn and the answer before that.
type Turn struct {
	Event
	Prompt, Previous string
}

// Turn returns the turn of an event of the session, or NotFound.
func (v *View) Turn(id loci.ID) (x Turn, err error) {
	var at int64
	var metadata string
	x.ID, x.SessionID, x.Adapter = id, v.ID, v.Adapter
	err = v.in.Conn.QueryRow(`SELECT row_id, event_id, type, unit_key, content, metadata, occurred_at FROM session_events
		WHERE session = ?1 AND id = ?2`, []any{v.rowID, id},
		[]any{&at, &x.EventID, &x.Type, &x.UnitKey, &x.Content, &metadata, &x.OccurredAt})
	if err != nil {
		return x, sqldb.MapNoRows(err)
	}
	if metadata != "" {
		if err := json.Unmarshal([]byte(metadata), &x.Metadata); err != nil {
			return x, err
		}
	}
	x.Prompt, x.Previous, err = v.textsBefore(x.UnitKey, at)
	return x, err
}

// LastAnswer returns the newest answer of the session.
func (v *View) LastAnswer() (string, error) { return v.answerBefore(newest) }

func (v *View) answerBefore(rowID int64) (text string, err error) {
	err = v.in.Conn.QueryRow(`SELECT v.content FROM session_events v WHERE v.session = ?1 AND v.type = 'response'
		AND v.row_id < ?2 ORDER BY v.row_id DESC LIMIT 1`, []any{v.rowID, rowID}, []any{&text})
	if errors.Is(err, sqldb.ErrNoRows) {
		err = nil
	}
	return text, err
}
