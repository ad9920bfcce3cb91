package integrity

import (
	"fmt"
	"slices"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/analysis"
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
	bandWindow int // memories whose bands are in memory at once

	t             *sqldb.Tx
	rowIDs        []int64                // of the memories, ascending
	lastLogged    map[int64]loggedUpdate // last row of the log by memory
	logEntries    []loggedUpdate         // all rows of the log
	segmentCounts map[int64]int          // segments with a live document, by memory
	unreadable    map[int64]string       // reasons, by memory
	deleted       map[int64]bool         // memories of deleted atlases
	found         []Inconsistency
	omitted       int64 // inconsistencies that are only counted
}

type loggedUpdate struct {
	seq, memory int64
	deleted     bool
}

// Limits of data in memory at once.
const (
	rowBatchSize  = 128     // rows with their texts
	docBatchSize  = 4096    // documents
	docBatchBytes = 8 << 20 // texts of these documents
	listBatchSize = 20_000  // rows without texts, from one query
)

// check runs all steps in one snapshot. A workspace without members is deleted: its rows are erased in parts.
func (w *workspaceCheck) check(t *sqldb.Tx) error {
	w.t = t
	return readWithoutTimeout(t, func() error {
		w.unreadable = map[int64]string{}
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
		return nil
	})
}

// readWithoutTimeout runs f in one snapshot, without the statement timeout of PostgreSQL: a large table takes longer.
func readWithoutTimeout(t *sqldb.Tx, f func() error) error {
	return t.RepeatableRead(func() error {
		if t.Dialect.Postgres {
			if _, err := t.Exec(`SET LOCAL statement_timeout = 0`); err != nil {
				return err
			}
		}
		return f()
	})
}

// report adds an inconsistency. A nil repair means that only a backup can restore the data.
func (w *workspaceCheck) report(kind string, id loci.ID, repair func(*sqldb.Tx) (string, error), detail string,
	args ...any) {
	if len(w.found) == maxReported {
		w.omitted++
		return
	}
	w.found = append(w.found, Inconsistency{Kind: kind, ID: string(id), Detail: fmt.Sprintf(detail, args...),
		repair: repair})
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

func (w *workspaceCheck) exists(rowID int64) bool {
	_, ok := slices.BinarySearch(w.rowIDs, rowID)
	return ok
}

// A checkStep is a part of a check. A failed step does not stop the others.
type checkStep struct {
	name  string
	funcs []func() error // each needs the ones before
}

func (w *workspaceCheck) steps() []checkStep {
	index := []func() error{w.loadLog, w.checkSegments, w.checkLog, w.checkIndexed}
	if w.analyzer > analysis.Version {
		index = []func() error{w.reportNewerAnalyzer}
	}
	return []checkStep{
		{"list of memories", []func() error{w.listMemories, w.listDeleted}},
		{"keyword index", index},
		{"counters", []func() error{w.checkCounters}},
		{"sessions", []func() error{w.checkSessions}},
		{"messages", []func() error{w.checkMessages}},
		{"near duplicates", []func() error{w.checkBands}},
		{"vectors", []func() error{w.checkVectors}},
		{"memories", []func() error{w.checkRows}},
		{"attachments", []func() error{w.checkAttachments}},
		{"memories that cannot be read", []func() error{w.reportUnreadable}},
	}
}

// reportNewerAnalyzer reports that this program cannot build the documents of an index. A repair would damage it. A
// newer server may have reindexed since the store was opened.
func (w *workspaceCheck) reportNewerAnalyzer() error {
	w.report(InconsistentIndex, w.id, func(*sqldb.Tx) (string, error) {
		return "", notRepaired("use the newer program")
	}, "the index is of analyzer %d and cannot be read: this program has %d", w.analyzer, analysis.Version)
	return nil
}

// runStep runs a step. If the database cannot read the data, it reports that and continues.
func (w *workspaceCheck) runStep(s checkStep) error {
	reason, err := w.withSavepoint(func() error {
		for _, do := range s.funcs {
			if err := do(); err != nil {
				return err
			}
		}
		return nil
	})
	if reason != "" {
		w.report(InconsistentStructure, w.id, nil, "the %s of the workspace cannot be read: %s", s.name, reason)
	}
	return err
}

// Results of repairs.
const (
	alreadyDeleted = "nothing: it is gone meanwhile"
	reindexed      = "indexed again"
)
