package sessiondb

import (
	"cmp"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store/internal/scope"
)

// Columns are the columns of sessions s for a Row, where w is the workspace and a the atlas.
const Columns = columns + `, s.snapshot `

// ListColumns are Columns without the snapshot.
const ListColumns = columns + `, '' `

const columns = ` s.row_id, s.steps, s.has_texts, s.id, w.id, a.id, s.task, s.kind, s.adapter, s.external_id,
	s.source_name, s.status, s.archived, s.user_id, s.agent_id, s.summary,
	COALESCE((SELECT e.id FROM memories e WHERE e.row_id = s.memory), ''), s.ended_at, s.created_at, s.updated_at,
	s.candidates, s.pending, s.checkpoints, s.units, s.events, s.audits, s.compilations, s.redactions, s.memory,
	s.title, s.ends `

// A Row is the row of a session.
type Row struct {
	loci.Session
	rowID                int64
	steps                int64
	hasTexts             bool
	audits, compilations int
	redactions           string // the sum of the audits
	memoryRow            *int64

	Ends bool // with the last open unit
}

// Dest returns the destinations of a scan of Columns.
func (r *Row) Dest() []any {
	n := &r.Counts
	return append(make([]any, 0, 48), &r.rowID, &r.steps, &r.hasTexts, &r.ID, &r.WorkspaceID, &r.AtlasID, &r.Task,
		&r.Kind, &r.Adapter, &r.ExternalID, &r.SourceName, &r.Status, &r.Archived, &r.UserID, &r.AgentID, &r.Summary,
		&r.MemoryID, &r.EndedAt, &r.CreatedAt, &r.UpdatedAt, &n.Candidates, &n.Pending, &n.Checkpoints, &n.Units,
		&n.Events, &r.audits, &r.compilations, &r.redactions, &r.memoryRow,
		&r.Title, &r.Ends, &r.Snapshot)
}

// Record returns the record of a scanned row.
func (r *Row) Record() loci.Session {
	s := r.Session
	s.StartedAt, s.Title = r.CreatedAt, cmp.Or(r.Title, r.Task)
	return s
}

// RefreshMemory reads the id of the memory again where the query that locked the row has waited for the transaction
// that made the memory: its snapshot shows the new link, but not the memory.
func (r *Row) RefreshMemory(t *sqldb.Tx) error {
	if r.memoryRow == nil || r.MemoryID != "" {
		return nil
	}
	return t.QueryRow(`SELECT e.id FROM memories e WHERE e.row_id = ?1`, []any{*r.memoryRow}, []any{&r.MemoryID})
}

// insert stores a session and its first step.
func insert(t *scope.Scope, r loci.Session, a *scope.Atlas) (*Session, error) {
	now := t.Conn.Now
	r.ID, r.Status, r.CreatedAt, r.UpdatedAt = loci.NewID(now.Std()), loci.SessionActive, now, now
	rowID, err := t.Conn.Insert(`INSERT INTO sessions (id, workspace, atlas, user_id, agent_id, kind, adapter,
			external_id, source_name, task, status, archived, summary, snapshot, candidates, pending, checkpoints, units,
			events, audits, compilations, redactions, steps, has_texts, ended_at, created_at, updated_at)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, '', '', 0, 0, 0, 0, 0, 0, 0, '[]', 0, ?12, 0, ?13,
			?13)`,
		[]any{r.ID, a.Workspace().RowID(), a.RowID(), r.UserID, r.AgentID, r.Kind, r.Adapter, r.ExternalID,
			r.SourceName,
			r.Task, r.Status, false, now})
	s := &Session{View{Row{Session: r, rowID: rowID, redactions: sqldb.EmptyList}, t}, *a}
	if err == nil {
		err = s.Step(loci.HistoryStep{Action: loci.ActionStarted})
	}
	if err == nil {
		err = s.Save()
	}
	return s, err
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
		s.Ends = false
		if s.EndedAt = 0; c.Status != loci.SessionActive {
			s.EndedAt = s.in.Conn.Now
		}
	}
	s.Status, s.Archived = c.Status, c.Archived
	if c.Summary != nil {
		s.Summary = *c.Summary
	}
	if c.Snapshot != nil {
		s.Snapshot = *c.Snapshot
	}
	if _, err := s.in.Conn.Exec(`UPDATE sessions SET status = ?2, archived = ?3, summary = ?4, snapshot = ?5,
		ended_at = ?6 WHERE row_id = ?1`, s.rowID, s.Status, s.Archived, s.Summary, s.Snapshot, s.EndedAt); err != nil {
		return err
	}
	if err := s.Step(loci.HistoryStep{Action: c.Action}); err != nil {
		return err
	}
	return s.Save()
}

// noteChange records a change of the session or of one of its candidates.
func (s *Session) noteChange(kind loci.RecordKind, id loci.ID) {
	s.in.Conn.NoteChange(kind, s.atlas.Workspace().RowID(), id, s.UserID)
}

// Save writes the counters, the title, whether the session ends, and the time of the last change.
func (s *Session) Save() error {
	n := s.Counts
	s.noteChange(loci.KindSession, s.ID)
	s.UpdatedAt = max(s.in.Conn.Now, s.UpdatedAt+1)
	_, err := s.in.Conn.Exec(`UPDATE sessions SET candidates = ?2, pending = ?3, checkpoints = ?4, units = ?5, events = ?6,
		steps = ?7, audits = ?8, compilations = ?9, redactions = ?10, updated_at = ?11, title = ?12,
		ends = ?13 WHERE row_id = ?1`, s.rowID,
		n.Candidates, n.Pending, n.Checkpoints, n.Units, n.Events, s.steps, s.audits, s.compilations, s.redactions,
		s.UpdatedAt, s.Title, s.Ends)
	return err
}

// SetMemory links the session to the memory of the unit finalized last.
func (s *Session) SetMemory(id loci.ID) error {
	s.MemoryID = id
	_, err := s.in.Conn.Exec(`UPDATE sessions SET memory = (SELECT e.row_id FROM memories e WHERE e.id = ?2)
		WHERE row_id = ?1`, s.rowID, id)
	return err
}

// MarkDeleted hides the session, and its candidates from later extraction. Erase erases the rows.
func (s *Session) MarkDeleted() error {
	s.noteChange(loci.KindSession, s.ID)
	if _, err := s.in.Conn.Exec(`UPDATE candidates SET user_id = '' WHERE session = ?1`, s.rowID); err != nil {
		return err
	}
	_, err := s.in.Conn.Exec(`UPDATE sessions SET workspace = NULL, user_id = NULL, external_id = '' WHERE row_id = ?1`,
		s.rowID)
	return err
}

// maxSteps is the number of steps that a history keeps.
const maxSteps = 2000

// Step appends a step by the author to the history. Save stores its number.
func (s *Session) Step(h loci.HistoryStep) error {
	s.steps++
	_, err := s.in.Conn.Exec(`INSERT INTO session_history (session, step, action, user_id, agent_id, candidate_id, unit_id,
		memory_id, event_id, created_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)`, s.rowID, s.steps, h.Action,
		s.in.Actor.UserID, s.in.Actor.AgentID, h.CandidateID, h.UnitID, h.MemoryID, h.EventID, s.in.Conn.Now)
	if err == nil && s.steps > maxSteps {
		_, err = s.in.Conn.Exec(`DELETE FROM session_history WHERE session = ?1 AND step <= ?2`, s.rowID,
			s.steps-maxSteps)
	}
	return err
}

// History returns the newest steps of a session, newest first.
func (v *View) History(limit int) ([]loci.HistoryStep, error) {
	list := []loci.HistoryStep{}
	err := v.in.Conn.Query(`SELECT action, user_id, agent_id, candidate_id, unit_id, memory_id, event_id, created_at
		FROM session_history WHERE session = ?1 ORDER BY step DESC LIMIT ?2`, []any{v.rowID, limit},
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
	c := loci.Checkpoint{Number: s.Counts.Checkpoints, Summary: summary, CreatedAt: s.in.Conn.Now,
		UpdatedAt: s.in.Conn.Now}
	_, err := s.in.Conn.Exec(`INSERT INTO checkpoints (session, number, summary, created_at) VALUES (?1, ?2, ?3, ?4)`,
		s.rowID, c.Number, summary, s.in.Conn.Now)
	if err == nil {
		err = s.Step(loci.HistoryStep{Action: loci.ActionCheckpoint})
	}
	if err == nil {
		err = s.Save()
	}
	return c, err
}

// Checkpoints returns the newest checkpoints of a session, newest first.
func (v *View) Checkpoints(limit int) ([]loci.Checkpoint, error) {
	list := []loci.Checkpoint{}
	err := v.in.Conn.Query(`SELECT number, summary, created_at FROM checkpoints WHERE session = ?1
		ORDER BY number DESC LIMIT ?2`, []any{v.rowID, limit}, func(row sqldb.Row) error {
		var c loci.Checkpoint
		err := row.Scan(&c.Number, &c.Summary, &c.CreatedAt)
		c.UpdatedAt = c.CreatedAt
		list = append(list, c)
		return err
	})
	return list, err
}
