package store

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync/atomic"

	"github.com/loci-memory/loci/internal/index"
	"github.com/loci-memory/loci/internal/sqldb"
)

// corruptIndexReads counts the transactions that met a damaged keyword index.
var corruptIndexReads atomic.Int64

// CorruptIndexReads returns how many searches and jobs of this process failed because
// a keyword index is damaged, which a repair makes anew.
func CorruptIndexReads() int64 { return corruptIndexReads.Load() }

// countCorruptIndex counts err where it says that a keyword index is damaged.
func countCorruptIndex(err error) {
	if errors.Is(err, index.ErrCorrupt) {
		corruptIndexReads.Add(1)
	}
}

// withSavepoint runs f. It returns the reason if the database could not read
// the data, and any other error as an error. Later statements can still read.
func (i *integrityChecker) withSavepoint(f func() error) (why string, err error) {
	mark := func(q string) error {
		if !i.t.conn.Dialect.RowLocks {
			return nil // a failed statement of SQLite leaves its transaction as it was
		}
		_, err := i.t.exec(q)
		return err
	}
	if err := mark(`SAVEPOINT attempt`); err != nil {
		return "", err
	}
	if err = f(); err == nil {
		return "", mark(`RELEASE SAVEPOINT attempt`)
	}
	if why = sqldb.UnreadableReason(err); why == "" {
		return "", err
	}
	return why, errors.Join(mark(`ROLLBACK TO SAVEPOINT attempt`), mark(`RELEASE SAVEPOINT attempt`))
}

// readInBatches calls f with some memories at a time. Where it cannot read them it is called
// with each alone, and those that it still cannot read are kept for unreadable.
func (i *integrityChecker) readInBatches(rowIDs []int64, f func(part []int64) error) error {
	for part := range slices.Chunk(rowIDs, rowBatchSize) {
		told, more := len(i.found), i.omitted
		why, err := i.withSavepoint(func() error { return f(part) })
		if err != nil {
			return err
		}
		if why == "" {
			continue
		}
		i.found, i.omitted = i.found[:told], more // they are found again
		for _, rowID := range part {
			why, err := i.withSavepoint(func() error { return f([]int64{rowID}) })
			if err != nil {
				return err
			}
			if _, known := i.unreadable[rowID]; why != "" && !known {
				i.unreadable[rowID] = why
			}
		}
	}
	return nil
}

// reportUnreadable tells of the memories that could not be read as a whole. Their ids come
// from an index, which is another place in the file.
func (i *integrityChecker) reportUnreadable() error {
	if len(i.unreadable) == 0 {
		return nil
	}
	ids := map[int64]string{}
	_, err := i.withSavepoint(func() error {
		return i.walkMemoryIndex(func(rowID int64, id string) {
			if _, ok := i.unreadable[rowID]; ok {
				ids[rowID] = id
			}
		})
	})
	for _, rowID := range slices.Sorted(maps.Keys(i.unreadable)) {
		if ids[rowID] != "" {
			i.report(InconsistentRows, ids[rowID], nil, "it cannot be read: %s", i.unreadable[rowID])
		} else {
			i.report(InconsistentRows, i.id, nil, "row %d of the memories cannot be read: %s", rowID,
				i.unreadable[rowID])
		}
	}
	return err
}

// listMemories lists the memories, by an index that has all it needs, or where that cannot be
// read by the rows themselves.
func (i *integrityChecker) listMemories() error {
	i.rowIDs = nil
	why, err := i.withSavepoint(func() error {
		return i.walkMemoryIndex(func(rowID int64, _ string) { i.rowIDs = append(i.rowIDs, rowID) })
	})
	if err != nil {
		return err
	}
	if why != "" {
		i.report(InconsistentStructure, i.id, nil, "an index of the table memories cannot be read: %s", why)
		i.rowIDs = nil
		last := int64(math.MinInt64)
		for n := listBatchSize; n == listBatchSize; {
			n = 0
			err := i.t.conn.Query(
				`SELECT row_id FROM memories WHERE +workspace = ?1 AND row_id > ?2 ORDER BY row_id LIMIT ?3`,
				[]any{i.workspace, last, listBatchSize}, func(r sqldb.Row) error {
					err := r.Scan(&last)
					i.rowIDs = append(i.rowIDs, last)
					n++
					return err
				})
			if err != nil {
				return err
			}
		}
	}
	slices.Sort(i.rowIDs)
	return nil
}

// walkMemoryIndex calls f with each memory of the workspace, in the order of an index.
func (i *integrityChecker) walkMemoryIndex(f func(rowID int64, id string)) error {
	status, at, id := -1<<31, int64(math.MinInt64), ""
	for n := listBatchSize; n == listBatchSize; {
		n = 0
		err := i.t.conn.Query(
			`SELECT row_id, status, created_at, id FROM memories WHERE workspace = ?1
				AND (status, created_at, id) > (?2, ?3, ?4)
			ORDER BY status, created_at, id LIMIT ?5`, []any{i.workspace, status, at, id, listBatchSize},
			func(r sqldb.Row) error {
				var rowID int64
				err := r.Scan(&rowID, &status, &at, &id)
				f(rowID, id)
				n++
				return err
			})
		if err != nil {
			return err
		}
	}
	return nil
}

// A checkStep is a part of an inspection that goes on without the others.
type checkStep struct {
	name  string
	funcs []func() error // each needs those before it
}

func (i *integrityChecker) steps() []checkStep {
	return []checkStep{
		{"list of memories", []func() error{i.listMemories}},
		{"keyword index", []func() error{i.loadLog, i.checkSegments, i.checkLog, i.checkIndexed}},
		{"counters", []func() error{i.checkCounters}},
		{"near duplicates", []func() error{i.checkSignatures}},
		{"vectors", []func() error{i.checkVectors}},
		{"memories", []func() error{i.checkRows}},
		{"memories that cannot be read", []func() error{i.reportUnreadable}},
	}
}

// runStep takes a step. Where the database cannot read what it needs, that is a flaw, and
// the next step follows.
func (i *integrityChecker) runStep(s checkStep) error {
	why, err := i.withSavepoint(func() error {
		for _, do := range s.funcs {
			if err := do(); err != nil {
				return err
			}
		}
		return nil
	})
	if why != "" {
		i.report(InconsistentStructure, i.id, nil, "%s",
			fmt.Sprintf("the %s of the workspace cannot be looked at: %s", s.name, why))
	}
	return err
}
