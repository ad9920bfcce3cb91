package integrity

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync/atomic"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/analysis"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/embeddb"
	"github.com/loci-memory/loci/internal/store/erasedb"
	"github.com/loci-memory/loci/internal/store/indexdb"
	"github.com/loci-memory/loci/internal/store/jobdb"
)

// A Checker checks and repairs a database, and purges records from it.
type Checker struct {
	db         *sqldb.Handle
	index      *indexdb.Index
	embedder   *embeddb.Worker
	eraser     *erasedb.Eraser
	jobs       *jobdb.Queue
	invalidate func(workspace int64) // drops cached data of a workspace
}

// New returns a checker of a store.
func New(s *store.Store) *Checker {
	return &Checker{db: s.DB(), index: s.Index(), embedder: s.Embedder(), eraser: s.Eraser(), jobs: s.Jobs(),
		invalidate: s.Invalidate}
}

// An Inconsistency is derived data that do not match the rows, or rows that contradict each other. It never holds the
// text of a memory.
type Inconsistency struct {
	Kind   string `json:"kind"`             // a constant below
	ID     string `json:"id"`               // of the record, or the name of a table or index
	Detail string `json:"what"`             // description of the damage
	Repair string `json:"repair,omitempty"` // result of the repair, or the reason for none

	Repaired bool `json:"repaired"`

	repair func(*sqldb.Tx) (string, error) // nil if only a backup can restore it
}

// Kinds of inconsistencies.
const (
	InconsistentStructure = "structure" // pages, tables and indexes in the file of the database
	InconsistentIndex     = "index"     // documents, attributes and segments of the keyword index
	InconsistentCounters  = "counters"  // memories and bytes of an atlas
	InconsistentVersions  = "versions"  // earlier versions of memories; not derived
	InconsistentBands     = "sketches"  // LSH bands of near duplicates
	InconsistentVectors   = "vectors"   // vectors of semantic search
	InconsistentLinks     = "links"     // superseded_by and supersedes
	InconsistentSessions  = "sessions"  // counters of sessions and places of candidates
	InconsistentMessages  = "messages"  // messages between agents, their receipts, last numbers of agents
	InconsistentRows      = "rows"      // a single row

	InconsistentAttachments = "attachments" // attachments, and the lists of them in memories
	InconsistentObjects     = "objects"     // objects of attachments, and objects without one
)

// A Report summarizes a check.
type Report struct {
	Workspaces      int64           `json:"workspaces"`
	Memories        int64           `json:"memories"`
	Found           int64           `json:"found"`
	Repaired        int64           `json:"repaired"`
	Inconsistencies []Inconsistency `json:"inconsistencies"` // the first maxReported
}

// add counts an inconsistency, and lists it while there is room.
func (r *Report) add(f Inconsistency) {
	if r.Found++; f.Repaired {
		r.Repaired++
	}
	if len(r.Inconsistencies) < maxReported {
		r.Inconsistencies = append(r.Inconsistencies, f)
	}
}

// maxReported limits the listed inconsistencies, and the repairs of one round.
const maxReported = 1000

// Options configure a check.
type Options struct {
	Repair   bool
	Progress func(rows int64) // called now and then with the number of rows read, once for each step; may be nil

	Objects Objects // of attachments; nil checks none

	bandWindow int // memories whose bands are in memory at once; 0 is bandWindowSize
}

// Inconsistencies that samples and starts found in this process, and those of them that only a backup can restore.
var inconsistencyCount, unrepairableCount atomic.Int64

// InconsistencyCount returns how many inconsistencies samples and starts have found in this process. An inconsistency
// that is found twice counts twice.
func InconsistencyCount() int64 { return inconsistencyCount.Load() }

// UnrepairableCount returns how many of these only a backup can restore. They are damaged texts and versions,
// unreadable rows and lost commits.
func UnrepairableCount() int64 { return unrepairableCount.Load() }

// Check compares all derived data with the rows, each workspace in one snapshot. It needs RAM for the row ids of the
// largest workspace and for some thousand texts. With Repair it rebuilds wrong derived data.
func (c *Checker) Check(ctx context.Context, o Options) (sum Report, err error) {
	sum.Inconsistencies = []Inconsistency{}
	checked := int64(0)
	progress := func(rows int) {
		if checked += int64(rows); o.Progress != nil {
			o.Progress(checked)
		}
	}
	if err = c.checkStructure(ctx, &sum, o); err == nil {
		err = c.reportUnreadable(c.index.ReindexOutdated(ctx), &sum, "the keyword index cannot be brought up to date")
	}
	if err == nil {
		err = c.reportUnreadable(c.checkUnowned(ctx, &sum, o), &sum, "rows of no workspace cannot be read")
	}
	for after := int64(0); err == nil; {
		var list []workspaceCheck
		if list, err = c.nextWorkspaces(ctx, after); err != nil || len(list) == 0 {
			err = c.reportUnreadable(err, &sum, "the workspaces cannot be listed")
			break
		}
		for _, w := range list {
			w.progress, w.bandWindow = progress, o.bandWindow
			if err = c.checkWorkspace(ctx, w, &sum, o); err != nil {
				return sum, err
			}
			after = w.workspace
			sum.Workspaces++
		}
	}
	if err == nil && o.Objects != nil {
		err = c.checkObjects(ctx, &sum, o, progress)
	}
	return sum, err
}

// reportUnreadable reports an unreadable part of the database as an inconsistency, so that the check continues.
func (c *Checker) reportUnreadable(err error, sum *Report, what string) error {
	reason := sqldb.UnreadableReason(err)
	if reason == "" {
		return err
	}
	sum.add(Inconsistency{Kind: InconsistentStructure, Detail: what + ": " + reason})
	return nil
}

// restoreAdvice is the Repair of an inconsistency that only a backup can restore.
const restoreAdvice = "restore it from a backup: nothing else says what it should be"

func (c *Checker) nextWorkspaces(ctx context.Context, after int64) (list []workspaceCheck, err error) {
	return sqldb.SystemRead(ctx, c.db, "list workspaces to inspect",
		func(t *sqldb.Tx) (list []workspaceCheck, err error) {
			err = t.Query(`SELECT w.row_id, w.id, COALESCE(x.analyzer, 0) FROM workspaces w
				LEFT JOIN keyword_indexes x ON x.workspace = w.row_id WHERE w.row_id > ?1 ORDER BY w.row_id LIMIT 1000`,
				[]any{after}, func(r sqldb.Row) error {
					w := workspaceCheck{checker: c}
					err := r.Scan(&w.workspace, &w.id, &w.analyzer)
					list = append(list, w)
					return err
				})
			return list, err
		})
}

// checkWorkspace checks a workspace, and repeats that after each round of maxReported repairs.
func (c *Checker) checkWorkspace(ctx context.Context, w workspaceCheck, sum *Report, o Options) error {
	for found := int64(math.MaxInt64); ; {
		w := w // each round starts from the beginning
		_, err := sqldb.SystemRead(ctx, c.db, "inspect a workspace", func(t *sqldb.Tx) (loci.Empty, error) {
			return loci.Empty{}, w.check(t)
		})
		if err != nil {
			return err
		}
		repaired, err := c.repair(ctx, w.found, o)
		last := found
		found = int64(len(w.found)) + w.omitted
		// A damaged table can lose repaired rows. A round that does not reduce the inconsistencies is the last.
		done := err == nil && (len(w.found) < maxReported || repaired == 0 || found >= last)
		for _, f := range w.found {
			if f.Repaired || done { // the next round finds the others again
				sum.add(f)
			}
		}
		if done {
			sum.Memories += int64(len(w.selected()))
			sum.Found += w.omitted
		}
		if done || err != nil {
			return err
		}
	}
}

// A notRepaired is the reason for which a repair changes nothing.
type notRepaired string

func (e notRepaired) Error() string { return string(e) }

// repair repairs inconsistencies if o.Repair is set, and returns the number of repaired ones.
func (c *Checker) repair(ctx context.Context, list []Inconsistency, o Options) (repaired int, err error) {
	if !o.Repair {
		return 0, nil
	}
	for i := range list {
		f := &list[i]
		if f.repair == nil {
			f.Repair = restoreAdvice
			continue
		}
		done, err := sqldb.System(ctx, c.db, "repair derived data", f.repair)
		reason := sqldb.UnreadableReason(err)
		if refused, ok := errors.AsType[notRepaired](err); ok {
			reason = string(refused)
		}
		if reason != "" {
			f.Repair = "could not be repaired: " + reason
			continue
		}
		if err != nil {
			return repaired, err
		}
		f.Repair, f.Repaired = done, true
		repaired++
	}
	return repaired, nil
}

// checkUnowned checks the data that belong to no workspace.
func (c *Checker) checkUnowned(ctx context.Context, sum *Report, o Options) error {
	mark, err := c.pendingPurge(ctx)
	if err != nil {
		return err
	}
	if mark != "" {
		f := Inconsistency{Kind: InconsistentRows, Detail: "a purge was cut off: bytes of what it erased may be in " +
			"free space"}
		if o.Repair {
			if err := c.finishPurge(ctx); err != nil {
				return err
			}
			f.Repair, f.Repaired = "finished it", true
		}
		sum.add(f)
	}
	if err := c.inspectCommits(ctx, sum, o); err != nil {
		return err
	}
	list, err := sqldb.SystemRead(ctx, c.db, "inspect rows without a workspace",
		func(t *sqldb.Tx) ([]Inconsistency, error) {
			const orphaned = ` FROM minhash_bands WHERE NOT EXISTS (SELECT 1 FROM workspaces w
				WHERE w.row_id = minhash_bands.workspace)`
			var n int64
			err := readWithoutTimeout(t, func() error {
				return t.QueryRow(`SELECT count(*)`+orphaned, nil, []any{&n})
			})
			if err != nil {
				return nil, err
			}
			list, err := c.checkDeleted(t)
			if n == 0 {
				return list, err
			}
			return append(list, Inconsistency{Kind: InconsistentBands,
				Detail: fmt.Sprintf("%d rows are of workspaces that are gone", n),
				repair: func(t *sqldb.Tx) (string, error) {
					_, err := t.Exec(`DELETE` + orphaned)
					return "removed them", err
				}}), err
		})
	if err == nil {
		_, err = c.repair(ctx, list, o)
	}
	for _, f := range list {
		sum.add(f)
	}
	return err
}

// Sample checks a random memory and its neighbours in the workspace, and adds to InconsistencyCount. It reads each
// segment that holds them once.
func (c *Checker) Sample(ctx context.Context, memories int) (sum Report, err error) {
	sum.Inconsistencies = []Inconsistency{}
	w, err := sqldb.SystemRead(ctx, c.db, "choose memories to inspect",
		func(t *sqldb.Tx) (w workspaceCheck, err error) {
			var minimum, maximum int64
			err = t.QueryRow(
				`SELECT COALESCE((SELECT min(row_id) FROM memories), 0),
					COALESCE((SELECT max(row_id) FROM memories), 0)`,
				nil, []any{&minimum, &maximum})
			if err != nil {
				return w, err
			}
			w.sampleSize, w.sampleFrom = memories, minimum+rand.Int64N(maximum-minimum+1)
			var analyzer int
			err = t.QueryRow(
				`SELECT w.row_id, w.id, x.analyzer FROM memories e JOIN workspaces w ON w.row_id = e.workspace
				JOIN keyword_indexes x ON x.workspace = e.workspace
			WHERE e.row_id >= ?1 ORDER BY e.row_id LIMIT 1`, []any{w.sampleFrom}, []any{&w.workspace, &w.id, &analyzer})
			if err == nil && analyzer != analysis.Version {
				err = sqldb.ErrNoRows // the index is about to be rebuilt
			}
			return w, err
		})
	if errors.Is(err, sqldb.ErrNoRows) {
		return sum, nil
	}
	if err == nil {
		sum.Workspaces, w.checker, w.progress = 1, c, func(int) {}
		err = c.checkWorkspace(ctx, w, &sum, Options{})
	}
	inconsistencyCount.Add(sum.Found)
	for _, f := range sum.Inconsistencies {
		if f.repair == nil {
			unrepairableCount.Add(1)
		}
	}
	return sum, err
}
