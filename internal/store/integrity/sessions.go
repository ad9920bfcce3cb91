package integrity

import (
	"math"
	"math/rand/v2"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store/sessiondb"
)

// Sessions that one query counts, and those of a sample.
const (
	sessionBatchSize  = 200
	sessionSampleSize = 10
)

// checkSessions compares the counters of the sessions of the workspace with their rows.
func (w *workspaceCheck) checkSessions() error {
	at, id, err := w.firstSession()
	for n := sessionBatchSize; n == sessionBatchSize && err == nil; {
		size := sessionBatchSize
		if w.sampleSize > 0 {
			size = sessionSampleSize
		}
		n, at, id, err = w.checkSessionBatch(at, id, size)
		w.progress(n)
	}
	if err == nil {
		err = w.checkSessionPlaces()
	}
	return err
}

// firstSession returns a place before the first session, or before a random one for a sample.
func (w *workspaceCheck) firstSession() (at int64, id loci.ID, err error) {
	if w.sampleSize == 0 {
		return math.MinInt64, "", nil
	}
	var oldest, newest int64
	err = w.t.QueryRow(`SELECT COALESCE(min(created_at), 0), COALESCE(max(created_at), 0) FROM sessions
		WHERE workspace = ?1`, []any{w.workspace}, []any{&oldest, &newest})
	return oldest + rand.Int64N(newest-oldest+1), "", err
}

// checkSessionBatch checks some sessions after a place. It returns their number and the place of the last.
func (w *workspaceCheck) checkSessionBatch(at int64, id loci.ID,
	size int) (n int, lastAt int64, last loci.ID, err error) {
	var rowIDs []int64
	lastAt, last = at, id
	err = w.t.Query(`SELECT s.row_id, s.created_at, s.id FROM sessions s WHERE s.workspace = ?1
		AND (s.created_at, s.id) > (?2, ?3) ORDER BY s.created_at, s.id LIMIT ?4`, []any{w.workspace, at, id, size},
		func(r sqldb.Row) error {
			var rowID int64
			err := r.Scan(&rowID, &lastAt, &last)
			rowIDs = append(rowIDs, rowID)
			return err
		})
	if err != nil || len(rowIDs) == 0 {
		return 0, lastAt, last, err
	}
	list, err := sessiondb.CountSessions(w.t, rowIDs)
	for _, c := range list {
		repair := func(t *sqldb.Tx) (string, error) { return "counted again", sessiondb.Recount(t, c.RowID) }
		if what := c.Difference(); what != "" {
			w.report(InconsistentSessions, c.ID, repair, "the session counts %s", what)
		}
		if c.Misplaced > 0 {
			w.report(InconsistentSessions, c.ID, repair,
				"%d of its candidates have another workspace, atlas or user", c.Misplaced)
		}
	}
	return len(rowIDs), lastAt, last, err
}

// checkSessionPlaces reports the sessions whose atlas is one of another workspace.
func (w *workspaceCheck) checkSessionPlaces() error {
	return w.t.Query(`SELECT s.id FROM sessions s JOIN atlases a ON a.row_id = s.atlas WHERE s.workspace = ?1
		AND a.workspace <> s.workspace ORDER BY s.id LIMIT ?2`, []any{w.workspace, maxReported}, func(r sqldb.Row) error {
		var id loci.ID
		err := r.Scan(&id)
		w.report(InconsistentSessions, id, nil, "its atlas is not one of its workspace")
		return err
	})
}
