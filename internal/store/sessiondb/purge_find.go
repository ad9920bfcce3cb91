package sessiondb

import (
	"context"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
)

// A PurgedMemory is a memory of which sessions keep nothing after a purge.
type PurgedMemory struct {
	RowID, Workspace int64
	ID               loci.ID
	Texts            []string // the contents of all versions
}

// MemoryTraces are rows of sessions that hold the texts or the id of a memory. The sessions that it came from are
// linked: all texts of their events go, because a statement that is extracted from some of them is reworded.
type MemoryTraces struct {
	memory      PurgedMemory
	match       *textMatcher
	linked      []int64
	quoting     []int64 // sessions whose task, title, summary or snapshot quotes it
	candidates  []int64
	similar     []int64 // candidates that name it as similar
	events      []int64
	checkpoints [][2]int64 // sessions and numbers
}

// eventWindow is the number of events that one transaction reads.
const eventWindow = 200

// FindTraces reads all sessions of the memory's workspace. It runs before the transaction of a purge, because other
// writers would wait for it.
func FindTraces(ctx context.Context, db *sqldb.Handle, m PurgedMemory) (*MemoryTraces, error) {
	f := &MemoryTraces{memory: m, match: newTextMatcher(m.Texts)}
	sessions, err := sqldb.SystemRead(ctx, db, "list the sessions of a workspace",
		func(t *sqldb.Tx) (list []int64, err error) {
			return list, t.Query(`SELECT s.row_id FROM sessions s WHERE s.workspace = ?1`, []any{m.Workspace},
				sqldb.ScanInts(&list))
		})
	for _, rowID := range sessions {
		if err == nil {
			err = f.findInSession(ctx, db, rowID)
		}
	}
	f.candidates = sortedUnion(f.candidates, nil) // a read may have been repeated
	return f, err
}

// Matches reports whether one of some texts is a text of the memory, or quotes one.
func (f *MemoryTraces) Matches(texts ...string) bool { return f.match.matches(texts...) }

// Candidates returns the number of candidates that became the memory or hold one of its texts.
func (f *MemoryTraces) Candidates() int64 { return int64(len(f.candidates)) }

// findInSession adds the rows of a session.
func (f *MemoryTraces) findInSession(ctx context.Context, db *sqldb.Handle, session int64) error {
	linked, err := sqldb.SystemRead(ctx, db, "look for a purged memory in a session",
		func(t *sqldb.Tx) (linked bool, err error) {
			if linked, err = f.isLinked(t, session); err == nil {
				err = f.findParts(t, session, &linked)
			}
			return linked, err
		})
	if linked {
		f.linked = append(f.linked, session)
	}
	for after := ""; err == nil; {
		var more bool
		more, err = sqldb.SystemRead(ctx, db, "look for a purged text in events", func(t *sqldb.Tx) (bool, error) {
			return f.findEvents(t, session, &after)
		})
		if !more {
			break
		}
	}
	return err
}

// isLinked reports whether a session has, or had, a link to the memory.
func (f *MemoryTraces) isLinked(t *sqldb.Tx, session int64) (linked bool, err error) {
	return linked, t.QueryRow(`SELECT EXISTS (SELECT 1 FROM sessions s WHERE s.row_id = ?1 AND s.memory = ?2)
		OR EXISTS (SELECT 1 FROM units u WHERE u.session = ?1 AND u.memory = ?2)
		OR EXISTS (SELECT 1 FROM compilations k WHERE k.session = ?1 AND k.memory = ?2)
		OR EXISTS (SELECT 1 FROM session_history h WHERE h.session = ?1 AND h.memory_id = ?3)`,
		[]any{session, f.memory.RowID, f.memory.ID}, []any{&linked})
}

// findParts adds the candidates and checkpoints of a session. A session with a candidate that holds a text is linked.
func (f *MemoryTraces) findParts(t *sqldb.Tx, session int64, linked *bool) error {
	var task, title, summary, snapshot string
	err := t.Query(`SELECT s.task, s.title, s.summary, s.snapshot FROM sessions s WHERE s.row_id = ?1`, []any{session},
		func(r sqldb.Row) error { return r.Scan(&task, &title, &summary, &snapshot) })
	if err == nil && f.match.matches(task, title, summary, snapshot) {
		f.quoting = append(f.quoting, session)
	}
	if err == nil {
		err = t.Query(`SELECT c.row_id, COALESCE(c.memory, 0), c.content, c.title, c.evidence, c.similar_to
			FROM candidates c WHERE c.session = ?1`, []any{session}, func(r sqldb.Row) error {
			var rowID, memory int64
			var content, title, evidence, similar string
			err := r.Scan(&rowID, &memory, &content, &title, &evidence, &similar)
			switch {
			case memory == f.memory.RowID || f.match.matches(content, title, evidence):
				f.candidates, *linked = append(f.candidates, rowID), true
			case strings.Contains(similar, string(f.memory.ID)):
				f.similar = append(f.similar, rowID)
			}
			return err
		})
	}
	if err == nil {
		err = t.Query(`SELECT k.number, k.summary FROM checkpoints k WHERE k.session = ?1`, []any{session},
			func(r sqldb.Row) error {
				var number int64
				var text string
				err := r.Scan(&number, &text)
				if f.match.matches(text) {
					f.checkpoints = append(f.checkpoints, [2]int64{session, number})
				}
				return err
			})
	}
	return err
}

// findEvents adds the events of a window, and moves its place. It reports whether others follow.
func (f *MemoryTraces) findEvents(t *sqldb.Tx, session int64, after *string) (more bool, err error) {
	n := 0
	err = t.Query(`SELECT v.row_id, v.event_id, v.content, v.metadata FROM session_events v
		WHERE v.session = ?1 AND v.event_id > ?2 ORDER BY v.event_id LIMIT ?3`, []any{session, *after, eventWindow},
		func(r sqldb.Row) error {
			var rowID int64
			var content, metadata string
			err := r.Scan(&rowID, after, &content, &metadata)
			if f.match.matches(content) || f.match.matchesJSON(metadata) {
				f.events = append(f.events, rowID)
			}
			n++
			return err
		})
	return n == eventWindow, err
}
