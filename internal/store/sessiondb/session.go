package sessiondb

import (
	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
)

// Columns are the columns of sessions s for a Row, where w is the workspace and a the atlas.
const Columns = columns + `, s.snapshot `

// ListColumns are Columns without the snapshot.
const ListColumns = columns + `, '' `

const columns = ` s.row_id, s.steps, s.has_texts, s.id, w.id, a.id, s.task, s.kind, s.adapter, s.external_id,
	s.source_name, s.status, s.archived, s.user_id, s.agent_id, s.summary,
	COALESCE((SELECT e.id FROM memories e WHERE e.row_id = s.memory), ''), s.ended_at, s.created_at, s.updated_at,
	s.candidates, s.pending, s.checkpoints, s.units, s.events, s.audits, s.compilations, s.redactions, s.memory `

// A Row is the row of a session.
type Row struct {
	loci.Session
	rowID                int64
	steps                int64
	hasTexts             bool
	audits, compilations int
	redactions           string // the sum of the audits
	memoryRow            *int64
}

// Dest returns the destinations of a scan of Columns.
func (r *Row) Dest() []any {
	n := &r.Counts
	return append(make([]any, 0, 48), &r.rowID, &r.steps, &r.hasTexts, &r.ID, &r.WorkspaceID, &r.AtlasID, &r.Task,
		&r.Kind, &r.Adapter, &r.ExternalID, &r.SourceName, &r.Status, &r.Archived, &r.UserID, &r.AgentID, &r.Summary,
		&r.MemoryID, &r.EndedAt, &r.CreatedAt, &r.UpdatedAt, &n.Candidates, &n.Pending, &n.Checkpoints, &n.Units,
		&n.Events, &r.audits, &r.compilations, &r.redactions, &r.memoryRow,
		&r.Snapshot)
}

// Record returns the record of a scanned row.
func (r *Row) Record() loci.Session {
	r.StartedAt = r.CreatedAt
	return r.Session
}

// RefreshMemory reads the id of the memory again where the query that locked the row has waited for the transaction
// that made the memory: its snapshot shows the new link, but not the memory.
func (r *Row) RefreshMemory(t *sqldb.Tx) error {
	if r.memoryRow == nil || r.MemoryID != "" {
		return nil
	}
	return t.QueryRow(`SELECT e.id FROM memories e WHERE e.row_id = ?1`, []any{*r.memoryRow}, []any{&r.MemoryID})
}

// An Author is the caller of a change, for the history.
type Author struct{ UserID, AgentID loci.ID }

// A Session is the handle of a session whose row is locked, with the places of its parts.
type Session struct {
	Row
	conn             *sqldb.Tx
	author           Author
	workspace, atlas int64
}

// Open returns the handle of a scanned row. The caller has locked it, and names the rows of workspace and atlas.
func Open(t *sqldb.Tx, r Row, workspace, atlas int64, author Author) *Session {
	return &Session{r, t, author, workspace, atlas}
}

// Add inserts a session and returns its handle.
func Add(t *sqldb.Tx, s loci.Session, workspace, atlas int64, author Author) (*Session, error) {
	s.ID, s.Status, s.CreatedAt, s.UpdatedAt = loci.NewID(t.Now.Std()), loci.SessionActive, t.Now, t.Now
	rowID, err := t.Insert(`INSERT INTO sessions (id, workspace, atlas, user_id, agent_id, kind, adapter, external_id,
			source_name, task, status, archived, summary, snapshot, candidates, pending, checkpoints, units, events,
			audits, compilations, redactions, steps, has_texts, ended_at, created_at, updated_at)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, '', '', 0, 0, 0, 0, 0, 0, 0, '[]', 0, ?12, 0, ?13,
			?13)`,
		[]any{s.ID, workspace, atlas, s.UserID, s.AgentID, s.Kind, s.Adapter, s.ExternalID, s.SourceName, s.Task,
			s.Status, false, t.Now})
	x := Open(t, Row{Session: s, rowID: rowID, redactions: sqldb.EmptyList}, workspace, atlas, author)
	if err == nil {
		err = x.Step(loci.HistoryStep{Action: loci.ActionStarted})
	}
	if err == nil {
		err = x.Save()
	}
	return x, err
}

// A Change is a change of the state of a session. A nil text stays as it is.
type Change struct {
	Status            loci.SessionStatus
	Archived          bool
	Summary, Snapshot *string
	Action            loci.SessionAction
}

// Apply writes a change of the state.
func (s *Session) Apply(c Change) error {
	if c.Status != s.Status {
		if s.EndedAt = 0; c.Status != loci.SessionActive {
			s.EndedAt = s.conn.Now
		}
	}
	s.Status, s.Archived = c.Status, c.Archived
	if c.Summary != nil {
		s.Summary = *c.Summary
	}
	if c.Snapshot != nil {
		s.Snapshot = *c.Snapshot
	}
	if _, err := s.conn.Exec(`UPDATE sessions SET status = ?2, archived = ?3, summary = ?4, snapshot = ?5,
		ended_at = ?6 WHERE row_id = ?1`, s.rowID, s.Status, s.Archived, s.Summary, s.Snapshot, s.EndedAt); err != nil {
		return err
	}
	if err := s.Step(loci.HistoryStep{Action: c.Action}); err != nil {
		return err
	}
	return s.Save()
}

// Save writes the counters and the time of the last change.
func (s *Session) Save() error {
	n := s.Counts
	s.UpdatedAt = max(s.conn.Now, s.UpdatedAt+1)
	_, err := s.conn.Exec(`UPDATE sessions SET candidates = ?2, pending = ?3, checkpoints = ?4, units = ?5, events = ?6,
		steps = ?7, audits = ?8, compilations = ?9, redactions = ?10, updated_at = ?11 WHERE row_id = ?1`, s.rowID,
		n.Candidates, n.Pending, n.Checkpoints, n.Units, n.Events, s.steps, s.audits, s.compilations, s.redactions,
		s.UpdatedAt)
	return err
}

// SetMemory links the session to the memory of the unit finalized last.
func (s *Session) SetMemory(id loci.ID) error {
	s.MemoryID = id
	_, err := s.conn.Exec(`UPDATE sessions SET memory = (SELECT e.row_id FROM memories e WHERE e.id = ?2)
		WHERE row_id = ?1`, s.rowID, id)
	return err
}

// MarkDeleted hides the session, and its candidates from later extraction. Erase erases the rows.
func (s *Session) MarkDeleted() error {
	if _, err := s.conn.Exec(`UPDATE candidates SET user_id = '' WHERE session = ?1`, s.rowID); err != nil {
		return err
	}
	_, err := s.conn.Exec(`UPDATE sessions SET workspace = NULL, user_id = NULL, external_id = '' WHERE row_id = ?1`,
		s.rowID)
	return err
}

// maxSteps is the number of steps that a history keeps.
const maxSteps = 2000

// Step appends a step by the author to the history. Save stores its number.
func (s *Session) Step(h loci.HistoryStep) error {
	s.steps++
	_, err := s.conn.Exec(`INSERT INTO session_history (session, step, action, user_id, agent_id, candidate_id, unit_id,
		memory_id, event_id, created_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)`, s.rowID, s.steps, h.Action,
		s.author.UserID, s.author.AgentID, h.CandidateID, h.UnitID, h.MemoryID, h.EventID, s.conn.Now)
	if err == nil && s.steps > maxSteps {
		_, err = s.conn.Exec(`DELETE FROM session_history WHERE session = ?1 AND step <= ?2`, s.rowID,
			s.steps-maxSteps)
	}
	return err
}

// History returns the newest steps of a session, newest first.
func (r *Row) History(t *sqldb.Tx, limit int) ([]loci.HistoryStep, error) {
	list := []loci.HistoryStep{}
	err := t.Query(`SELECT action, user_id, agent_id, candidate_id, unit_id, memory_id, event_id, created_at
		FROM session_history WHERE session = ?1 ORDER BY step DESC LIMIT ?2`, []any{r.rowID, limit},
		func(row sqldb.Row) error {
			var h loci.HistoryStep
			err := row.Scan(&h.Action, &h.UserID, &h.AgentID, &h.CandidateID, &h.UnitID, &h.MemoryID, &h.EventID, &h.At)
			list = append(list, h)
			return err
		})
	return list, err
}

// AddCheckpoint appends a checkpoint.
func (s *Session) AddCheckpoint(summary string) (loci.Checkpoint, error) {
	s.Counts.Checkpoints++
	c := loci.Checkpoint{Number: s.Counts.Checkpoints, Summary: summary, CreatedAt: s.conn.Now, UpdatedAt: s.conn.Now}
	_, err := s.conn.Exec(`INSERT INTO checkpoints (session, number, summary, created_at) VALUES (?1, ?2, ?3, ?4)`,
		s.rowID, c.Number, summary, s.conn.Now)
	if err == nil {
		err = s.Step(loci.HistoryStep{Action: loci.ActionCheckpoint})
	}
	if err == nil {
		err = s.Save()
	}
	return c, err
}

// Checkpoints returns the newest checkpoints of a session, newest first.
func (r *Row) Checkpoints(t *sqldb.Tx, limit int) ([]loci.Checkpoint, error) {
	list := []loci.Checkpoint{}
	err := t.Query(`SELECT number, summary, created_at FROM checkpoints WHERE session = ?1
		ORDER BY number DESC LIMIT ?2`, []any{r.rowID, limit}, func(row sqldb.Row) error {
		var c loci.Checkpoint
		err := row.Scan(&c.Number, &c.Summary, &c.CreatedAt)
		c.UpdatedAt = c.CreatedAt
		list = append(list, c)
		return err
	})
	return list, err
}
