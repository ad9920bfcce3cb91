package integrity

import (
	"bytes"
	"maps"
	"math"
	"reflect"
	"slices"

	"github.com/loci-memory/loci/internal/index"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store/indexdb"
)

// loadLog reads the memories in the log.
func (w *workspaceCheck) loadLog() error {
	w.lastLogged, w.logEntries = map[int64]loggedUpdate{}, nil
	seq := int64(math.MinInt64)
	for n := listBatchSize; n == listBatchSize; {
		n = 0
		err := w.t.Query(
			`SELECT seq, memory, deleted FROM index_log WHERE workspace = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3`,
			[]any{w.workspace, seq, listBatchSize}, func(r sqldb.Row) error {
				var memory int64
				var deleted bool
				err := r.Scan(&seq, &memory, &deleted)
				w.logEntries = append(w.logEntries, loggedUpdate{seq, memory, deleted})
				w.lastLogged[memory] = w.logEntries[len(w.logEntries)-1]
				n++
				return err
			})
		if err != nil {
			return err
		}
	}
	for _, memory := range slices.Sorted(maps.Keys(w.lastLogged)) {
		if !w.lastLogged[memory].deleted && !w.exists(memory) {
			w.report(InconsistentIndex, w.id, w.repairByReindex(memory),
				"the log of changes holds a document of row %d, which is gone", memory)
		}
	}
	return nil
}

func (w *workspaceCheck) repairByReindex(rowID int64) func(*sqldb.Tx) (string, error) {
	return func(t *sqldb.Tx) (string, error) {
		return reindexed, w.checker.index.Reindex(t, w.workspace, rowID)
	}
}

// checkLog compares the documents of the log with documents built from the rows.
func (w *workspaceCheck) checkLog() error {
	for part := range slices.Chunk(w.logEntries, rowBatchSize) {
		last := map[int64]index.DocUpdate{}
		list, err := w.readableUpdates(part)
		if err != nil {
			return err
		}
		for _, c := range list {
			if c.Seq == w.lastLogged[c.Memory].seq {
				last[c.Memory] = c
			}
		}
		err = w.readRows(slices.Sorted(maps.Keys(last)), func(m indexdb.MemoryRow) error {
			c := last[m.RowID]
			if c.Deleted && w.deleted[m.RowID] {
				return nil
			}
			if c.Deleted {
				w.report(InconsistentIndex, m.ID, w.repairByReindex(m.RowID), "the log of changes says that it is gone")
			} else if corruption(&m) == "" && (!reflect.DeepEqual(c.DocAttributes, m.DocAttributes()) ||
				!bytes.Equal(c.Document.Encode(), index.AnalyzeEncoded(m.Title, m.Content))) {
				w.report(InconsistentIndex, m.ID, w.repairByReindex(m.RowID),
					"its document in the log of changes is not that of its row")
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// readableUpdates returns the readable rows of the log, and reports the others. One unreadable row makes the whole
// index unreadable.
func (w *workspaceCheck) readableUpdates(part []loggedUpdate) (list []index.DocUpdate, err error) {
	read := func(part []loggedUpdate) (reason string, err error) {
		seqs := make([]int64, len(part))
		for n, l := range part {
			seqs[n] = l.seq
		}
		return w.withSavepoint(func() error {
			some, err := indexdb.ReadLog(w.t, w.workspace, seqs)
			if err == nil {
				list = append(list, some...)
			}
			return err
		})
	}
	reason, err := read(part)
	if err != nil || reason == "" {
		return list, err
	}
	for n, l := range part {
		if reason, err = read(part[n : n+1]); err != nil {
			return nil, err
		}
		if reason != "" {
			w.report(InconsistentIndex, w.id, w.repairByReindex(l.memory),
				"the log of changes has a row of row %d that cannot be read", l.memory)
		}
	}
	return list, nil
}

// checkIndexed reports the memories that are missing in the index, or in it twice.
func (w *workspaceCheck) checkIndexed() error {
	for _, rowID := range w.selected() {
		what := ""
		if _, ok := w.lastLogged[rowID]; !ok && w.segmentCounts[rowID] == 0 && !w.deleted[rowID] {
			what = "it is not in the index"
		} else if w.segmentCounts[rowID] > 1 {
			what = "it is in the index more than once"
		}
		if what != "" {
			if err := w.reportStaleDocument(rowID, what); err != nil {
				return err
			}
		}
	}
	return nil
}
