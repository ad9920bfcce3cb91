package integrity

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
)

// A workspaceCheck checks one workspace in one snapshot.
type workspaceCheck struct {
	checker    *Checker
	workspace  int64
	id         loci.ID
	sampleSize int   // memories of a sample; 0 checks all
	sampleFrom int64 // row id near the first of them
	analyzer   int   // of its index; 0 if that has none
	progress   func(rows int)
	known      map[loci.ID]bool // records that a sample of rows has reported

	t          *sqldb.Tx
	rowIDs     []int64          // of the memories, ascending
	documents  []indexedDocs    // of the memories; nil if the index is not compared
	bands      []uint64         // digests of the memories' bands; nil if they are not compared
	unreadable map[int64]string // reasons, by memory
	deleted    map[int64]bool   // memories of deleted atlases
	damaged    map[string]bool  // tables with damaged or lost rows
	gone       []orphanDocument // of memories that the index names, and that have no row
	misplaced  map[uint64]bool  // digests of the documents that memories lack in the index
	countsMore bool             // an atlas counts more memories than it has
	lost       bool             // memories are lost: both index and counters, or other rows, know more

	differences map[string]difference // of derived data, by kind
	found       []Inconsistency       // of source data
	omitted     int64                 // inconsistencies of source data that are only counted
}

// Limits of data in memory at once.
const (
	rowBatchSize  = 128    // rows with their texts
	listBatchSize = 20_000 // rows without texts, from one query
)

// check runs all steps in one snapshot. A workspace without members is deleted: its rows are erased in parts.
func (w *workspaceCheck) check(t *sqldb.Tx) error {
	w.t = t
	return t.ReadWithoutTimeout(func() error {
		w.unreadable, w.differences, w.found, w.omitted = map[int64]string{}, map[string]difference{}, nil, 0
		var hasMembers bool
		unreadable, err := w.withSavepoint(func() error {
			return t.QueryRow(`SELECT EXISTS (SELECT 1 FROM members m WHERE m.workspace = ?1)`, []any{w.workspace},
				[]any{&hasMembers})
		})
		if err != nil || unreadable == "" && !hasMembers {
			return err
		}
		for _, s := range w.steps() {
			if err := w.runStep(s); err != nil {
				return err
			}
		}
		lost, err := w.listLost()
		if w.lost = len(lost) > 0; w.lost {
			w.reportLost(lost)
		}
		return err
	})
}

// A orphanDocument is one in the index of a memory without a row.
type orphanDocument struct {
	memory int64
	digest uint64
}

// listLost returns the memories that the index names and that are lost, ascending. A deletion removes both. Not lost is
// a memory whose document another one lacks, or that has an undamaged row elsewhere: the index names a wrong one.
func (w *workspaceCheck) listLost() (lost []int64, err error) {
	for _, d := range w.gone {
		if !w.misplaced[d.digest] && (w.countsMore || w.damaged["memories"]) {
			lost = append(lost, d.memory)
		}
	}
	if len(lost) == 0 {
		return nil, nil
	}
	var elsewhere []int64
	_, err = w.withSavepoint(func() error {
		return w.t.Query(`SELECT e.row_id FROM memories e WHERE NOT`+damagedMemory(w.t)+`AND `+
			fmt.Sprintf(w.t.Dialect.InList, "e.row_id", 1), []any{sqldb.EncodeInts(lost)}, sqldb.ScanInts(&elsewhere))
	})
	slices.Sort(lost)
	return slices.DeleteFunc(slices.Compact(lost), func(m int64) bool { return slices.Contains(elsewhere, m) }), err
}

// reportLost reports lost memories.
func (w *workspaceCheck) reportLost(lost []int64) {
	if w.damaged != nil { // in no sample
		w.damaged["memories"] = true // that no object of theirs is deleted
	}
	for _, rowID := range lost {
		w.report(InconsistentReferences, w.id, "the index names the memory of row %d, which is not there", rowID)
	}
}

// report adds an inconsistency of source data, which only a backup can restore.
func (w *workspaceCheck) report(kind string, id loci.ID, detail string, args ...any) {
	if len(w.found) == maxReported {
		w.omitted++
		return
	}
	w.found = append(w.found, Inconsistency{Kind: kind, ID: string(id), Detail: fmt.Sprintf(detail, args...)})
}

// selected returns the memories that are checked one by one.
func (w *workspaceCheck) selected() []int64 {
	if w.sampleSize == 0 || len(w.rowIDs) <= w.sampleSize {
		return w.rowIDs
	}
	at, _ := slices.BinarySearch(w.rowIDs, w.sampleFrom)
	at = min(at, len(w.rowIDs)-w.sampleSize)
	return w.rowIDs[at : at+w.sampleSize]
}

// canScanAll reports whether the check may read the whole workspace. A sample may only if that is small.
func (w *workspaceCheck) canScanAll() bool {
	return w.sampleSize == 0 || len(w.rowIDs) <= listBatchSize
}

// A checkStep is a part of a check. A failed step does not stop the others.
type checkStep struct {
	name string
	do   func() error
}

func (w *workspaceCheck) steps() []checkStep {
	return []checkStep{
		{"list of memories", w.listMemories},
		{"list of deleted memories", w.listDeleted},
		{"keyword index", w.readIndex},
		{"near duplicates", w.readBands},
		{"accounts", w.checkAccounts},
		{"counters", w.checkCounters},
		{"sessions", w.checkSessions},
		{"messages", w.checkMessages},
		{"memories", w.checkMemories},
		{"memories that cannot be read", w.reportUnreadable},
	}
}

// runStep runs a step. If the database cannot read the data, it reports that and continues.
func (w *workspaceCheck) runStep(s checkStep) error {
	reason, err := w.withSavepoint(s.do)
	if reason != "" {
		w.report(InconsistentStructure, w.id, "the %s of the workspace cannot be read: %s", s.name, reason)
	}
	return err
}

// listDeleted lists the memories of deleted atlases. The keyword index and the counters do not have them any more, and
// their links may end.
func (w *workspaceCheck) listDeleted() error {
	w.deleted = map[int64]bool{}
	return w.t.Query(`SELECT e.row_id FROM atlases a JOIN memories e ON e.atlas = a.row_id AND e.workspace = ?1
		WHERE a.workspace IS NULL`, []any{w.workspace}, func(r sqldb.Row) error {
		var rowID int64
		err := r.Scan(&rowID)
		w.deleted[rowID] = true
		return err
	})
}

// rowSampleSize is the number of sessions or messages of a sample.
const rowSampleSize = 10

// checkSome calls f with batches of the rows of a source table, or with those of a sample. An index has the rows of a
// workspace in the order of the column.
func (w *workspaceCheck) checkSome(table, column string, size int, f func(rowIDs []int64) error) error {
	var rowIDs []int64
	var err error
	if w.sampleSize > 0 {
		rowIDs, err = sampleRows(w.t, table, column, w.workspace)
	} else {
		rowIDs, err = listRows(w.t, table, w.workspace)
	}
	if err != nil {
		return err
	}
	for part := range slices.Chunk(rowIDs, size) {
		if err := f(part); err != nil {
			return err
		}
		w.progress(len(part))
	}
	return nil
}

// sampleRows returns rows of a workspace that follow a random value of a column, or the last ones if few do.
func sampleRows(t *sqldb.Tx, table, column string, workspace int64) (list []int64, err error) {
	var first, last int64
	from := ` FROM ` + table + ` WHERE workspace = ?1 `
	if err := t.QueryRow(`SELECT COALESCE((SELECT min(`+column+`)`+from+`), 0),
		COALESCE((SELECT max(`+column+`)`+from+`), 0)`, []any{workspace}, []any{&first, &last}); err != nil {
		return nil, err
	}
	if distance := last - first; distance > 0 { // damaged values may be further apart
		first += rand.Int64N(distance)
	}
	err = t.Query(`SELECT row_id`+from+`AND `+column+` >= ?2 ORDER BY `+column+` LIMIT ?3`,
		[]any{workspace, first, rowSampleSize}, sqldb.ScanInts(&list))
	if err == nil && len(list) < rowSampleSize {
		list = nil
		err = t.Query(`SELECT row_id`+from+`ORDER BY `+column+` DESC LIMIT ?2`, []any{workspace, rowSampleSize},
			sqldb.ScanInts(&list))
	}
	return list, err
}
