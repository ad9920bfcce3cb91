package integrity

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/analysis"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/embeddb"
	"github.com/loci-memory/loci/internal/store/erasedb"
	"github.com/loci-memory/loci/internal/store/indexdb"
	"github.com/loci-memory/loci/internal/store/purge"
)

// A Checker checks and repairs a database. A purge that was cut off is finished by a repair.
type Checker struct {
	purger   *purge.Purger
	db       *sqldb.Handle
	index    *indexdb.Index
	embedder *embeddb.Worker
	eraser   *erasedb.Eraser

	sampling sync.Mutex
	sampled  map[string][]any // keys of the rows that samples have read last, by table
}

// New returns a checker of a store.
func New(s *store.Store) *Checker {
	return &Checker{purger: purge.New(s), db: s.DB(), index: s.Index(), embedder: s.Embedder(), eraser: s.Eraser(),
		sampled: map[string][]any{}}
}

// An Inconsistency is derived data that do not match the rows, or rows that contradict each other. It never holds the
// text of a memory.
type Inconsistency struct {
	Kind   string `json:"kind"`             // a constant below
	ID     string `json:"id"`               // of the record, or the name of a table or index
	Detail string `json:"what"`             // description of the damage
	Repair string `json:"repair,omitempty"` // result of the repair, or the reason for none

	Repaired bool `json:"repaired"`

	derived bool   // a repair can restore it without a backup
	advice  string // the reason for no repair, if that is not restoreAdvice
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
	InconsistentAccounts  = "accounts"  // folded addresses, ends of plans, and users of grants in a workspace
	InconsistentRows      = "rows"      // a single row

	InconsistentReferences = "references" // rows that are gone, and that others still name; not derived

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
	NotChecked      []string        `json:"notChecked,omitempty"`
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

// maxReported limits the listed inconsistencies.
const maxReported = 1000

// Options configure a check.
type Options struct {
	Repair   bool
	Accept   []string         // ids of findings: a repair accepts the damaged rows with one as they are
	Progress func(rows int64) // called now and then with the number of rows read, once for each step; may be nil

	Objects Objects // of attachments; nil checks none

	damaged map[string]bool             // tables with damaged, unreadable or lost rows, as the check has found them
	orphans map[string][]sqldb.WrongRow // derived rows that refer to rows that are not there, by table
}

// Inconsistencies that samples and starts found in this process, by kind, and those of them that only a backup can
// restore.
var (
	countsMutex        sync.Mutex
	inconsistencyCount = map[string]int64{InconsistentStructure: 0, InconsistentIndex: 0, InconsistentCounters: 0,
		InconsistentVersions: 0, InconsistentBands: 0, InconsistentVectors: 0, InconsistentLinks: 0,
		InconsistentSessions: 0, InconsistentMessages: 0, InconsistentRows: 0, InconsistentReferences: 0,
		InconsistentAttachments: 0, InconsistentObjects: 0, InconsistentAccounts: 0}
	unrepairableCount atomic.Int64
)

// count counts an inconsistency that a sample or a start has found.
func (f Inconsistency) count() {
	countsMutex.Lock()
	defer countsMutex.Unlock()
	if inconsistencyCount[f.Kind]++; !f.derived {
		unrepairableCount.Add(1)
	}
}

// InconsistencyCounts returns how many inconsistencies of each kind samples and starts have found in this process. An
// inconsistency that is found twice counts twice.
func InconsistencyCounts() map[string]int64 {
	countsMutex.Lock()
	defer countsMutex.Unlock()
	return maps.Clone(inconsistencyCount)
}

// UnrepairableCount returns how many of these only a backup can restore. They are damaged, unreadable and lost
// rows, and lost commits.
func UnrepairableCount() int64 { return unrepairableCount.Load() }

// Check verifies source data and compares all derived data with them, each workspace in one snapshot. It needs RAM for
// some 32 bytes for each memory of the largest workspace, and for some hundred texts. With Repair it rebuilds each kind
// of derived data that differs, for the whole workspace.
func (c *Checker) Check(ctx context.Context, o Options) (sum Report, err error) {
	sum.Inconsistencies = []Inconsistency{}
	checked := int64(0)
	progress := func(rows int) {
		if checked += int64(rows); o.Progress != nil {
			o.Progress(checked)
		}
	}
	o.damaged, o.orphans = map[string]bool{}, map[string][]sqldb.WrongRow{}
	if err = c.checkRows(ctx, &sum, o); err == nil {
		err = c.checkStructure(ctx, &sum, o)
	}
	if err == nil {
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
			w.progress, w.damaged = progress, o.damaged
			if err = c.checkWorkspace(ctx, w, &sum, o); err != nil {
				return sum, err
			}
			after = w.workspace
			sum.Workspaces++
		}
	}
	if err == nil {
		err = c.reportUnreadable(c.checkOrphans(ctx, &sum, o), &sum, "derived rows cannot be read")
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
			err = t.Query(`SELECT w.row_id, w.id FROM workspaces w WHERE w.row_id > ?1 ORDER BY w.row_id LIMIT 1000`,
				[]any{after}, func(r sqldb.Row) error {
					w := workspaceCheck{checker: c}
					err := r.Scan(&w.workspace, &w.id)
					list = append(list, w)
					return err
				})
			return list, err
		})
}

// checkWorkspace checks a workspace. A repair rebuilds the derived data that differ, and compares them again until they
// are equal, or no more of them are.
func (c *Checker) checkWorkspace(ctx context.Context, w workspaceCheck, sum *Report, o Options) error {
	inspect := func(w *workspaceCheck) error {
		_, err := sqldb.SystemRead(ctx, c.db, "inspect a workspace", func(t *sqldb.Tx) (loci.Empty, error) {
			return loci.Empty{}, w.check(t)
		})
		return err
	}
	if err := inspect(&w); err != nil {
		return err
	}
	after, failed := w, map[string]string(nil)
	for left := w.countDifferences() + 1; o.Repair && after.countDifferences() > 0 &&
		after.countDifferences() < left; {
		left = after.countDifferences()
		var err error
		if failed, err = after.rebuildDifferent(ctx); err != nil {
			return err
		}
		if err := inspect(&after); err != nil {
			return err
		}
	}
	for _, f := range w.found {
		if o.Repair {
			f.Repair = cmp.Or(f.advice, restoreAdvice)
		}
		sum.add(f)
	}
	w.reportDifferences(sum, after.differences, failed, o)
	sum.Memories += int64(len(w.selected()))
	sum.Found += w.omitted
	return nil
}

// sampledRows is the number of rows of each table that a sample compares with their checksums.
const sampledRows = 100

// Sample checks a random memory and its neighbours in the workspace, and the next rows of all tables, and adds to
// InconsistencyCounts. It reads each segment that holds the memories once. The samples of one Checker reach every row.
func (c *Checker) Sample(ctx context.Context, memories int) (sum Report, err error) {
	sum.Inconsistencies = []Inconsistency{}
	if err = c.sampleRows(ctx, sampledRows, &sum); err != nil {
		return sum, err
	}
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
	switch {
	case errors.Is(err, sqldb.ErrNoRows):
		err = nil
	case err == nil:
		sum.Workspaces, w.checker, w.progress, w.known = 1, c, func(int) {}, map[loci.ID]bool{}
		for _, f := range sum.Inconsistencies {
			w.known[loci.ID(f.ID)] = true
		}
		err = c.checkWorkspace(ctx, w, &sum, Options{})
	}
	for _, f := range sum.Inconsistencies {
		f.count()
	}
	return sum, err
}
