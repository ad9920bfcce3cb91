package sessiondb

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store/internal/scope"
	"github.com/loci-memory/loci/internal/title"
)

// CandidateColumns are the columns of candidates c of sessions s, for ScanCandidate.
const CandidateColumns = ` c.id, s.id, COALESCE((SELECT u.id FROM units u WHERE u.row_id = c.unit), ''), c.content,
	c.title, c.type, c.tags, c.confidence, c.evidence, c.source_event_id, c.status,
	COALESCE((SELECT e.id FROM memories e WHERE e.row_id = c.memory), ''), c.similar_to, c.created_at, c.updated_at,
	c.title_derived, COALESCE((SELECT e.id FROM memories e WHERE e.row_id = c.replaces), '') `

// ScanCandidate reads CandidateColumns.
func ScanCandidate(r sqldb.Row) (c loci.Candidate, err error) {
	var typeIndex int
	var tags, similar string
	var titleDerived *bool
	if err = r.Scan(&c.ID, &c.SessionID, &c.UnitID, &c.Content, &c.Title, &typeIndex, &tags, &c.Confidence, &c.Evidence,
		&c.SourceEventID, &c.Status, &c.MemoryID, &similar, &c.CreatedAt, &c.UpdatedAt,
		&titleDerived, &c.Replaces); err != nil {
		return c, err
	}
	c.TitleDerived = title.IsDerived(titleDerived, c.Title, c.Content)
	c.Type, c.Similar = loci.MemoryTypeAt(typeIndex), []loci.SimilarToMemory{}
	if c.Tags, err = sqldb.DecodeStrings[string](tags); err == nil && similar != sqldb.EmptyList {
		err = json.Unmarshal([]byte(similar), &c.Similar)
	}
	return c, err
}

const fromCandidates = `FROM candidates c JOIN sessions s ON s.row_id = c.session WHERE c.session = ?1 `

// Candidates returns the newest candidates of a session, newest first.
func (v *View) Candidates(limit int) ([]loci.Candidate, error) {
	return queryCandidates(v.in.Conn, `SELECT`+CandidateColumns+fromCandidates+
		`ORDER BY c.created_at DESC, c.id DESC LIMIT ?2`, v.rowID, limit)
}

// PendingCandidates returns the pending candidates of a session, oldest first.
func (v *View) PendingCandidates() ([]loci.Candidate, error) {
	return queryCandidates(v.in.Conn, `SELECT`+CandidateColumns+fromCandidates+
		`AND c.status = 'pending' ORDER BY c.created_at, c.id LIMIT ?2`, v.rowID, loci.MaxCandidates)
}

// CompiledCandidates returns the compiled candidates of the session, oldest first.
func (s *Session) CompiledCandidates() ([]loci.Candidate, error) {
	return queryCandidates(s.in.Conn, `SELECT`+CandidateColumns+fromCandidates+
		`AND c.status = 'compiled' ORDER BY c.created_at, c.id LIMIT ?2`, s.rowID, loci.MaxCandidates)
}

func queryCandidates(t *sqldb.Tx, q string, args ...any) ([]loci.Candidate, error) {
	list := []loci.Candidate{}
	err := t.Query(q, args, func(row sqldb.Row) error {
		c, err := ScanCandidate(row)
		list = append(list, c)
		return err
	})
	return list, err
}

// Candidate returns a candidate of the session, or NotFound.
func (s *Session) Candidate(id loci.ID) (loci.Candidate, error) {
	c, err := ScanCandidate(s.in.Conn.Row(`SELECT`+CandidateColumns+fromCandidates+`AND c.id = ?2`, s.rowID, id))
	return c, sqldb.MapNoRows(err)
}

// CandidatesFrom returns the candidates of the session with one of these sources, in the order of the sources.
func (s *Session) CandidatesFrom(sources []string) ([]loci.Candidate, error) {
	list, err := queryCandidates(s.in.Conn, `SELECT`+CandidateColumns+fromCandidates+`AND c.source_event_id <> ''
		AND c.source_event_id IN (SELECT list.value FROM `+fmt.Sprintf(s.in.Conn.Dialect.StringRows, 2)+`)`, s.rowID,
		sqldb.EncodeStrings(sources))
	slices.SortFunc(list, func(a, b loci.Candidate) int {
		return slices.Index(sources, a.SourceEventID) - slices.Index(sources, b.SourceEventID)
	})
	return list, err
}

// AddCandidate stores a pending candidate.
func (s *Session) AddCandidate(c loci.Candidate, action loci.SessionAction) (loci.Candidate, error) {
	t := s.in.Conn
	c.ID, c.SessionID, c.Status, c.CreatedAt, c.UpdatedAt = loci.NewID(t.Now.Std()), s.ID, loci.CandidatePending, t.Now,
		t.Now
	similar, err := json.Marshal(c.Similar)
	if err != nil {
		return c, err
	}
	if _, err := t.Exec(`INSERT INTO candidates (id, session, workspace, atlas, user_id, content, title, type, tags,
			confidence, evidence, source_event_id, status, similar_to, unit, created_at, updated_at,
			title_derived)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14,
			(SELECT u.row_id FROM units u WHERE u.id = ?16), ?15, ?15, ?17)`, c.ID, s.rowID,
		s.atlas.Workspace().RowID(), s.atlas.RowID(), s.UserID, c.Content, c.Title,
		slices.Index(loci.MemoryTypes, c.Type),
		sqldb.EncodeStrings(c.Tags), c.Confidence, c.Evidence, c.SourceEventID, c.Status, string(similar),
		t.Now, c.UnitID, c.TitleDerived); err != nil {
		return c, err
	}
	s.noteChange(loci.KindCandidate, c.ID)
	s.Counts.Candidates++
	s.Counts.Pending++
	if err := s.Step(loci.HistoryStep{Action: action, CandidateID: c.ID, EventID: c.SourceEventID}); err != nil {
		return c, err
	}
	return c, s.Save()
}

// EditCandidate writes the texts, the type and the tags of a candidate, and the memories that are similar to it.
func (s *Session) EditCandidate(c loci.Candidate) (loci.Candidate, error) {
	c.UpdatedAt = max(s.in.Conn.Now, c.UpdatedAt+1)
	similar, err := json.Marshal(c.Similar)
	if err != nil {
		return c, err
	}
	if _, err := s.in.Conn.Exec(`UPDATE candidates SET content = ?2, title = ?3, title_derived = ?4, type = ?5,
		tags = ?6, similar_to = ?7, updated_at = ?8 WHERE id = ?1`, c.ID, c.Content, c.Title, c.TitleDerived,
		slices.Index(loci.MemoryTypes, c.Type), sqldb.EncodeStrings(c.Tags), string(similar),
		c.UpdatedAt); err != nil {
		return c, err
	}
	s.noteChange(loci.KindCandidate, c.ID)
	return c, s.SaveStep(loci.HistoryStep{Action: loci.ActionUpdated, CandidateID: c.ID, EventID: c.SourceEventID})
}

// SetCandidate writes the next state of a candidate, the memory that it became, and the one that it replaces. The
// caller saves the counters. It locks the memories, so that one that is being deleted becomes none instead of a
// violation of the foreign key.
func (s *Session) SetCandidate(was loci.Candidate, status loci.CandidateStatus, memory loci.ID,
	action loci.SessionAction) (loci.Candidate, error) {
	c := was
	c.Status, c.MemoryID, c.UpdatedAt = status, memory, max(s.in.Conn.Now, was.UpdatedAt+1)
	if _, err := s.in.Conn.Exec(`UPDATE candidates SET status = ?2,
		memory = (SELECT e.row_id FROM memories e WHERE e.id = ?3`+s.in.Conn.LockClause("KEY SHARE", "e")+`),
		replaces = (SELECT e.row_id FROM memories e WHERE e.id = ?5`+s.in.Conn.LockClause("KEY SHARE", "e")+`),
		updated_at = ?4 WHERE id = ?1`, c.ID, c.Status, c.MemoryID, c.UpdatedAt, c.Replaces); err != nil {
		return c, err
	}
	s.noteChange(loci.KindCandidate, c.ID)
	if was.Status == loci.CandidatePending {
		s.Counts.Pending--
	}
	if status == loci.CandidatePending {
		s.Counts.Pending++
	}
	return c, s.Step(loci.HistoryStep{Action: action, CandidateID: c.ID, MemoryID: memory, EventID: c.SourceEventID})
}

// Bounds of the earlier candidates with which a new statement is compared.
const (
	maxKnownTexts = 300
	maxKnownChars = 4000
	maxKnownBytes = 64 << 10 // of all texts
)

// KnownTexts returns the contents of the newest short candidates of a session's user in its atlas, in any state but
// compiled: the texts of those are memories. The session may be one of an earlier transaction. Candidates of deleted
// sessions do not count.
func KnownTexts(h scope.Holder, v *View) (list []string, err error) {
	bytes := 0
	err = scope.Of(h).Conn.Query(`SELECT c.content FROM candidates c WHERE c.user_id = ?1
		AND c.atlas = (SELECT a.row_id FROM atlases a WHERE a.id = ?2) AND c.status <> 'compiled'
		AND length(c.content) <= ?4 ORDER BY c.created_at DESC, c.id DESC LIMIT ?3`,
		[]any{v.UserID, v.AtlasID, maxKnownTexts, maxKnownChars}, func(row sqldb.Row) error {
			var text string
			err := row.Scan(&text)
			if bytes += len(text); bytes > maxKnownBytes {
				return sqldb.ErrStop
			}
			list = append(list, text)
			return err
		})
	return list, err
}
