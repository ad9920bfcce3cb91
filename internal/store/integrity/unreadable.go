package integrity

import (
	"errors"
	"maps"
	"math"
	"slices"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/index"
	"github.com/loci-memory/loci/internal/sqldb"
)

// withSavepoint runs f. It returns the reason if the data are unreadable, and any other error as an error. Later
// statements of the transaction still work.
func (w *workspaceCheck) withSavepoint(f func() error) (reason string, err error) {
	isUnreadable := func(err error) bool {
		if reason = sqldb.UnreadableReason(err); errors.Is(err, index.ErrCorrupt) {
			reason = index.ErrCorrupt.Error()
		}
		return reason != ""
	}
	if w.t.Dialect.Postgres {
		_, err = w.t.Attempt(isUnreadable, f)
	} else if err = f(); err != nil && isUnreadable(err) { // the transaction survives a failed statement
		err = nil
	}
	return reason, err
}

// readInBatches calls f with batches of memories. If a batch cannot be read, it calls f with each memory alone, and
// records the unreadable ones.
func (w *workspaceCheck) readInBatches(rowIDs []int64, f func(part []int64) error) error {
	for part := range slices.Chunk(rowIDs, rowBatchSize) {
		found, omitted, differences := len(w.found), w.omitted, maps.Clone(w.differences)
		reason, err := w.withSavepoint(func() error { return f(part) })
		if err != nil {
			return err
		}
		if reason == "" {
			continue
		}
		// The second attempt finds them again.
		w.found, w.omitted, w.differences = w.found[:found], omitted, differences
		for _, rowID := range part {
			reason, err := w.withSavepoint(func() error { return f([]int64{rowID}) })
			if err != nil {
				return err
			}
			if _, known := w.unreadable[rowID]; reason != "" && !known {
				w.unreadable[rowID] = reason
			}
		}
	}
	return nil
}

// reportUnreadable reports the unreadable memories. Their ids come from an index, which is elsewhere in the file.
func (w *workspaceCheck) reportUnreadable() error {
	if len(w.unreadable) == 0 {
		return nil
	}
	ids := map[int64]loci.ID{}
	_, err := w.withSavepoint(func() error {
		return w.walkMemoryIndex(func(rowID int64, id loci.ID) {
			if _, ok := w.unreadable[rowID]; ok {
				ids[rowID] = id
			}
		})
	})
	for _, rowID := range slices.Sorted(maps.Keys(w.unreadable)) {
		if ids[rowID] != "" {
			w.report(InconsistentRows, ids[rowID], "it cannot be read: %s", w.unreadable[rowID])
		} else {
			w.report(InconsistentRows, w.id, "row %d of the memories cannot be read: %s", rowID,
				w.unreadable[rowID])
		}
	}
	return err
}

// listMemories lists the memories by a covering index, or by the rows if that is damaged.
func (w *workspaceCheck) listMemories() error {
	w.rowIDs = nil
	reason, err := w.withSavepoint(func() error {
		return w.walkMemoryIndex(func(rowID int64, _ loci.ID) { w.rowIDs = append(w.rowIDs, rowID) })
	})
	if err != nil {
		return err
	}
	if reason != "" {
		w.report(InconsistentStructure, w.id, "an index of the table memories cannot be read: %s", reason)
		w.rowIDs = nil
		last := int64(math.MinInt64)
		for n := listBatchSize; n == listBatchSize; {
			n = 0
			err := w.t.Query(
				`SELECT row_id FROM memories WHERE +workspace = ?1 AND row_id > ?2 ORDER BY row_id LIMIT ?3`,
				[]any{w.workspace, last, listBatchSize}, func(r sqldb.Row) error {
					err := r.Scan(&last)
					w.rowIDs = append(w.rowIDs, last)
					n++
					return err
				})
			if err != nil {
				return err
			}
		}
	}
	slices.Sort(w.rowIDs)
	return nil
}

// walkMemoryIndex calls f with each memory of the workspace, in the order of a covering index.
func (w *workspaceCheck) walkMemoryIndex(f func(rowID int64, id loci.ID)) error {
	status, at, id := -1<<31, int64(math.MinInt64), ""
	for n := listBatchSize; n == listBatchSize; {
		n = 0
		err := w.t.Query(
			`SELECT row_id, status, created_at, id FROM memories WHERE workspace = ?1
				AND (status, created_at, id) > (?2, ?3, ?4)
			ORDER BY status, created_at, id LIMIT ?5`, []any{w.workspace, status, at, id, listBatchSize},
			func(r sqldb.Row) error {
				var rowID int64
				err := r.Scan(&rowID, &status, &at, &id)
				f(rowID, loci.ID(id))
				n++
				return err
			})
		if err != nil {
			return err
		}
	}
	return nil
}
