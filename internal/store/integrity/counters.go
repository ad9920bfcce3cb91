package integrity

import (
	"fmt"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store/indexdb"
	"github.com/loci-memory/loci/internal/store/sessiondb"
)

// The correct counters of a row of atlases. The log has the changes that a flush adds to them.
const (
	countedMemories = ` (SELECT count(*) FROM memories e WHERE e.atlas = atlases.row_id)
		- (SELECT CAST(COALESCE(SUM(c.memories), 0) AS BIGINT) FROM index_log c
		WHERE c.workspace = atlases.workspace AND c.atlas = atlases.row_id) `
	countedBytes = ` (SELECT CAST(COALESCE(SUM(octet_length(e.content)), 0) AS BIGINT) FROM memories e
		WHERE e.atlas = atlases.row_id) - (SELECT CAST(COALESCE(SUM(c.bytes), 0) AS BIGINT) FROM index_log c
		WHERE c.workspace = atlases.workspace AND c.atlas = atlases.row_id) `
)

// checkCounters compares the memories and bytes of each atlas with its counters. A Query of all atlases would exceed
// its time limit.
func (w *workspaceCheck) checkCounters() error {
	w.countsMore = false
	if !w.canScanAll() {
		return nil
	}
	atlases, err := listRows(w.t, "atlases", w.workspace)
	for _, atlas := range atlases {
		var id loci.ID
		var isWrong, countsMore bool
		if err == nil {
			err = w.t.QueryRow(`SELECT id, memories <>`+countedMemories+`OR bytes <>`+countedBytes+`,
				memories >`+countedMemories+`FROM atlases WHERE row_id = ?1`, []any{atlas},
				[]any{&id, &isWrong, &countsMore})
		}
		w.countsMore = w.countsMore || countsMore
		if isWrong {
			w.differ(InconsistentCounters, "the atlas %s counts other memories or bytes than it has", id)
		}
	}
	return err
}

// recount counts the memories and bytes of atlases again. No flush may move counts from the log meanwhile.
func recount(_ *Checker, t *sqldb.Tx, atlases []int64) error {
	for _, atlas := range atlases {
		var workspace int64
		if err := t.QueryRow(`SELECT COALESCE(max(workspace), 0) FROM atlases WHERE row_id = ?1`, []any{atlas},
			[]any{&workspace}); err != nil {
			return err
		}
		if err := indexdb.RaiseVersion(t, workspace); err != nil {
			return err
		}
		if _, err := t.Exec(`UPDATE atlases SET memories =`+countedMemories+`, bytes =`+countedBytes+
			`WHERE row_id = ?1`, atlas); err != nil {
			return err
		}
	}
	return nil
}

// sessionBatchSize is the number of sessions that one query counts.
const sessionBatchSize = 200

// checkSessions compares the counters of the sessions of the workspace, and the places of their candidates, with their
// rows.
func (w *workspaceCheck) checkSessions() error {
	err := w.checkSome("sessions", "created_at", sessionBatchSize, func(rowIDs []int64) error {
		list, err := sessiondb.CountSessions(w.t, rowIDs)
		for _, c := range list {
			switch {
			case c.HasLostRows():
				w.report(InconsistentSessions, c.ID, "the session counts other rows than it has")
			case c.Stored != c.Counted:
				w.differ(InconsistentSessions, "the session %s counts other rows than it has", c.ID)
			}
			if c.Misplaced > 0 {
				w.differ(InconsistentSessions, "a candidate of the session %s names another place", c.ID)
			}
		}
		if err != nil {
			return err
		}
		titles, err := wrongTitles(w.t, rowIDs)
		for _, c := range titles {
			w.differ(InconsistentSessions, "the title of the candidate %s is not that of its text", c.id)
		}
		return err
	})
	if err != nil {
		return err
	}
	return w.t.Query(`SELECT s.id FROM sessions s JOIN atlases a ON a.row_id = s.atlas WHERE s.workspace = ?1
		AND a.workspace <> s.workspace ORDER BY s.id LIMIT ?2`, []any{w.workspace, maxReported}, func(r sqldb.Row) error {
		var id loci.ID
		err := r.Scan(&id)
		w.report(InconsistentSessions, id, "its atlas is not one of its workspace")
		return err
	})
}

// A wrongTitle is a candidate whose derived title is not that of its text.
type wrongTitle struct {
	id    loci.ID
	right string
}

// wrongTitles returns the candidates of sessions with another derived title than that of their text.
func wrongTitles(t *sqldb.Tx, sessions []int64) (list []wrongTitle, err error) {
	err = t.Query(`SELECT c.id, c.title, c.content FROM candidates c WHERE c.title_derived AND `+
		fmt.Sprintf(t.Dialect.InList, "c.session", 1)+` AND NOT`+
		sqldb.ChecksumTables()["candidates"].DamageCondition(t.Dialect, "c")+`ORDER BY c.row_id`,
		[]any{sqldb.EncodeInts(sessions)}, func(r sqldb.Row) error {
			var c wrongTitle
			var stored, content string
			err := r.Scan(&c.id, &stored, &content)
			if c.right = titleOf(stored, content); c.right != stored {
				list = append(list, c)
			}
			return err
		})
	return list, err
}

// rebuildSessions counts the rows of sessions again, and gives candidates the place of their session and the title of
// their text.
func rebuildSessions(_ *Checker, t *sqldb.Tx, rowIDs []int64) error {
	list, err := sessiondb.CountSessions(t, rowIDs)
	for _, c := range list {
		if err == nil && c.Misplaced > 0 {
			err = sessiondb.PlaceCandidates(t, c.RowID)
		}
		if err == nil && c.Stored != c.Counted && !c.HasLostRows() {
			err = sessiondb.Recount(t, c.RowID)
		}
	}
	if err != nil {
		return err
	}
	titles, err := wrongTitles(t, rowIDs)
	for _, c := range titles {
		if err == nil {
			_, err = t.Exec(`UPDATE candidates SET title = ?2 WHERE id = ?1`, c.id, c.right)
		}
	}
	return err
}
