package integrity

import (
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
			if c.Stored != c.Counted {
				w.report(InconsistentSessions, c.ID, "the session counts other rows than it has")
			}
			if c.Misplaced > 0 {
				w.differ(InconsistentSessions, "a candidate of the session %s names another place", c.ID)
			}
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

// placeCandidates gives candidates the place of their sessions.
func placeCandidates(_ *Checker, t *sqldb.Tx, rowIDs []int64) error {
	list, err := sessiondb.CountSessions(t, rowIDs)
	for _, c := range list {
		if err == nil && c.Misplaced > 0 {
			err = sessiondb.PlaceCandidates(t, c.RowID)
		}
	}
	return err
}
