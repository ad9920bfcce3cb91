package store

import (
	"bytes"
	"maps"
	"math"
	"slices"

	"github.com/loci-memory/loci/internal/index"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store/indexdb"
)

// loadLog reads which changes there are.
func (i *integrityChecker) loadLog() error {
	i.lastLogged, i.logEntries = map[int64]loggedUpdate{}, nil
	seq := int64(math.MinInt64)
	for n := listBatchSize; n == listBatchSize; {
		n = 0
		err := i.t.conn.Query(
			`SELECT seq, memory, deleted FROM index_log WHERE workspace = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3`,
			[]any{i.workspace, seq, listBatchSize}, func(r sqldb.Row) error {
				var memory int64
				var gone bool
				err := r.Scan(&seq, &memory, &gone)
				i.logEntries = append(i.logEntries, loggedUpdate{seq, memory, gone})
				i.lastLogged[memory] = i.logEntries[len(i.logEntries)-1]
				n++
				return err
			})
		if err != nil {
			return err
		}
	}
	for _, memory := range slices.Sorted(maps.Keys(i.lastLogged)) {
		if !i.lastLogged[memory].deleted && !i.exists(memory) {
			i.report(InconsistentIndex, i.id, i.repairByReindex(memory),
				"the log of changes holds a document of row %d, which is gone", memory)
		}
	}
	return nil
}

func (i *integrityChecker) repairByReindex(rowID int64) func(*SystemTx) (string, error) {
	return func(t *SystemTx) (string, error) {
		return reindexed, t.t.store.index.Reindex(t.t.conn, i.workspace, rowID)
	}
}

// checkLog compares the documents of the log with those that the rows make.
func (i *integrityChecker) checkLog() error {
	for part := range slices.Chunk(i.logEntries, rowBatchSize) {
		last := map[int64]index.DocUpdate{}
		for _, c := range i.readableUpdates(part) {
			if c.Seq == i.lastLogged[c.Memory].seq {
				last[c.Memory] = c
			}
		}
		err := i.readRows(slices.Sorted(maps.Keys(last)), func(m indexdb.MemoryRow) error {
			c := last[m.RowID]
			if c.Deleted {
				i.report(InconsistentIndex, m.ID, i.repairByReindex(m.RowID), "the log of changes says that it is gone")
			} else if !equalUpdates(c, m.DocUpdate()) && corruption(&m) == "" {
				i.report(InconsistentIndex, m.ID, i.repairByReindex(m.RowID),
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

// readableUpdates returns the changes that can be read, and tells of the others, each
// of which makes the whole index one that cannot be.
func (i *integrityChecker) readableUpdates(part []loggedUpdate) (list []index.DocUpdate) {
	seqs := make([]int64, len(part))
	for n, l := range part {
		seqs[n] = l.seq
	}
	list, err := indexdb.ReadLog(i.t.conn, i.workspace, seqs)
	if err == nil {
		return list
	}
	list = nil
	for _, l := range part {
		one, err := indexdb.ReadLog(i.t.conn, i.workspace, []int64{l.seq})
		if err == nil {
			list = append(list, one...)
		} else if i.t.conn.Ctx.Err() == nil {
			i.report(InconsistentIndex, i.id, i.repairByReindex(l.memory),
				"the log of changes has a row of row %d that cannot be read", l.memory)
		}
	}
	return list
}

func equalUpdates(a, b index.DocUpdate) bool {
	return a.Atlas == b.Atlas && a.Created == b.Created && a.ValidUntil == b.ValidUntil && a.Kind == b.Kind &&
		a.Status == b.Status &&
		a.Verified == b.Verified && slices.Equal(a.Tags, b.Tags) &&
		bytes.Equal(a.Document.Encode(), b.Document.Encode())
}

// checkIndexed tells of memories that no search finds, or any finds twice.
func (i *integrityChecker) checkIndexed() error {
	for _, rowID := range i.selected() {
		what := ""
		if _, ok := i.lastLogged[rowID]; !ok && i.segmentCounts[rowID] == 0 {
			what = "it is not in the index"
		} else if i.segmentCounts[rowID] > 1 {
			what = "it is in the index more than once"
		}
		if what != "" {
			if err := i.reportStaleDocument(rowID, what); err != nil {
				return err
			}
		}
	}
	return nil
}
