package store

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
)

// A Inconsistency is a place where what is derived from rows is not what the rows say, or
// where rows disagree. It never holds a text of a memory.
type Inconsistency struct {
	Kind   string `json:"kind"`             // see the constants
	ID     string `json:"id"`               // of the memory, atlas or workspace, or the name of a table or index
	Detail string `json:"what"`             // is wrong
	Repair string `json:"repair,omitempty"` // what was done about it, or why nothing

	Repaired bool `json:"repaired"`

	repair func(*SystemTx) (string, error) // nil where nothing is derived: only a backup has it
}

// The kinds of flaws.
const (
	InconsistentStructure  = "structure" // the file itself: pages, tables and the indexes of the database
	InconsistentIndex      = "index"     // the keyword index: documents, attributes, segments
	InconsistentCounters   = "counters"  // memories and bytes of an atlas
	InconsistentVersions   = "versions"  // what a memory was; derived from nothing
	InconsistentSignatures = "sketches"  // what near duplicates are found by
	InconsistentVectors    = "vectors"   // what a memory is found by its meaning by
	InconsistentLinks      = "links"     // superseded_by and supersedes
	InconsistentRows       = "rows"      // a row by itself
)

// IntegrityReport says what an inspection looked at and found.
type IntegrityReport struct {
	Workspaces      int64           `json:"workspaces"`
	Memories        int64           `json:"memories"`
	Found           int64           `json:"found"`
	Repaired        int64           `json:"repaired"`
	Inconsistencies []Inconsistency `json:"flaws"` // the first maxFlaws
}

// maxReported is how many flaws are told one by one, and repaired in one round.
const maxReported = 1000

// An IntegrityOptions says how to inspect.
type IntegrityOptions struct {
	Repair   bool
	Progress func(rows int64) // nil for nobody; told now and then how many rows were looked at

	bandWindow int // of how many memories the bands are held at once; 0 is inspectWindow
}

// Flaws that samples found in this process, and those of them that only a backup can
// make good.
var inconsistencyCount, unrepairableCount atomic.Int64

// InconsistencyCount returns how many flaws samples have found in this process.
func InconsistencyCount() int64 { return inconsistencyCount.Load() }

// UnrepairableCount returns how many of those flaws nothing is left to repair from: texts
// that differ from their checksum, versions and rows that cannot be read.
func UnrepairableCount() int64 { return unrepairableCount.Load() }

// CheckIntegrity compares everything derived with the rows. It sees each workspace as it
// is at one moment, and needs memory for a number for each memory of the largest
// and for some thousand texts, whatever there is. With Repair it writes what is
// derived anew where it is wrong.
func (s *Store) CheckIntegrity(ctx context.Context, o IntegrityOptions) (sum IntegrityReport, err error) {
	sum.Inconsistencies = []Inconsistency{}
	looked := int64(0)
	saw := func(rows int) {
		if looked += int64(rows); o.Progress != nil {
			o.Progress(looked)
		}
	}
	if err = s.checkStructure(ctx, &sum, o); err == nil {
		err = s.reportUnreadable(s.index.ReindexOutdated(ctx), &sum, "the keyword index cannot be brought up to date")
	}
	if err == nil {
		err = s.reportUnreadable(s.checkUnowned(ctx, &sum, o), &sum, "what belongs to no workspace cannot be looked at")
	}
	for after := int64(0); err == nil; {
		var list []integrityChecker
		if list, err = s.nextWorkspaces(ctx, after); err != nil || len(list) == 0 {
			return sum, s.reportUnreadable(err, &sum, "the workspaces cannot be listed")
		}
		for _, i := range list {
			i.progress, i.bandWindow = saw, o.bandWindow
			if err = s.checkWorkspace(ctx, i, &sum, o); err != nil {
				return sum, err
			}
			after = i.workspace
			sum.Workspaces++
		}
	}
	return sum, err
}

// reportUnreadable makes a flaw of what the database cannot read, so that an inspection goes on.
func (s *Store) reportUnreadable(err error, sum *IntegrityReport, what string) error {
	why := sqldb.UnreadableReason(err)
	if why == "" {
		return err
	}
	sum.Found++
	sum.Inconsistencies = append(sum.Inconsistencies,
		Inconsistency{Kind: InconsistentStructure, Detail: what + ": " + why})
	return nil
}

// restoreAdvice is said of a flaw that nothing is left to repair from.
const restoreAdvice = "restore it from a backup: nothing else says what it should be"

func (s *Store) nextWorkspaces(ctx context.Context, after int64) (list []integrityChecker, err error) {
	return SystemRead(ctx, s, "list workspaces to inspect", func(t *SystemTx) (list []integrityChecker, err error) {
		err = t.t.conn.Query(`SELECT row_id, id FROM workspaces WHERE row_id > ?1 ORDER BY row_id LIMIT 1000`,
			[]any{after}, func(r sqldb.Row) error {
				var i integrityChecker
				err := r.Scan(&i.workspace, &i.id)
				list = append(list, i)
				return err
			})
		return list, err
	})
}

// checkWorkspace inspects a workspace, and again where there was more to repair than
// one round takes.
func (s *Store) checkWorkspace(ctx context.Context, i integrityChecker, sum *IntegrityReport,
	o IntegrityOptions) error {
	for found := int64(math.MaxInt64); ; {
		i := i // a round starts anew
		_, err := SystemRead(ctx, s, "inspect a workspace", func(t *SystemTx) (loci.Empty, error) {
			return loci.Empty{}, i.check(t.t)
		})
		if err != nil {
			return err
		}
		before, last := sum.Repaired, found
		if err := s.reportAndRepair(ctx, i.found, sum, o); err != nil {
			return err
		}
		found = int64(len(i.found)) + i.omitted
		// A damaged table can lose what a repair writes: a round that leaves as many flaws is the last.
		if len(i.found) < maxReported || !o.Repair || sum.Repaired == before || found >= last {
			sum.Memories += int64(len(i.selected()))
			sum.Found += i.omitted
			return nil
		}
	}
}

// reportAndRepair tells of flaws, and repairs them if that is wanted.
func (s *Store) reportAndRepair(ctx context.Context, flaws []Inconsistency, sum *IntegrityReport,
	o IntegrityOptions) error {
	for _, f := range flaws {
		sum.Found++
		switch {
		case !o.Repair:
		case f.repair == nil:
			f.Repair = restoreAdvice
		default:
			done, err := System(ctx, s, "repair derived data", f.repair)
			if why := sqldb.UnreadableReason(err); why != "" {
				f.Repair = "could not be repaired: " + why
				break
			}
			if err != nil {
				return err
			}
			f.Repair, f.Repaired = done, true
			sum.Repaired++
		}
		if len(sum.Inconsistencies) < maxReported {
			sum.Inconsistencies = append(sum.Inconsistencies, f)
		}
	}
	return nil
}

// checkUnowned looks at what belongs to no workspace.
func (s *Store) checkUnowned(ctx context.Context, sum *IntegrityReport, o IntegrityOptions) error {
	due, err := s.purgePending(ctx)
	if err != nil {
		return err
	}
	if due {
		f := Inconsistency{Kind: InconsistentRows, Detail: "a purge was cut off: bytes of what it erased may be in " +
			"free " +
			"space"}
		if sum.Found++; o.Repair {
			if err := s.finishPurge(ctx); err != nil {
				return err
			}
			f.Repair, f.Repaired = "finished it", true
			sum.Repaired++
		}
		sum.Inconsistencies = append(sum.Inconsistencies, f)
	}
	if err := s.inspectCommits(ctx, sum, o); err != nil {
		return err
	}
	flaws, err := SystemRead(ctx, s, "inspect rows without a workspace",
		func(t *SystemTx) (flaws []Inconsistency, err error) {
			const stray = ` FROM minhash_bands WHERE workspace NOT IN (SELECT row_id FROM workspaces)`
			var n int64
			if err := t.t.conn.QueryRow(`SELECT count(*)`+stray, nil, []any{&n}); err != nil || n == 0 {
				return nil, err
			}
			return []Inconsistency{{Kind: InconsistentSignatures,
				Detail: fmt.Sprintf("%d rows are of workspaces that are gone", n),
				repair: func(t *SystemTx) (string, error) {
					_, err := t.t.exec(`DELETE` + stray)
					return "removed them", err
				}}}, nil
		})
	if err != nil {
		return err
	}
	return s.reportAndRepair(ctx, flaws, sum, o)
}

// SampleIntegrity inspects some memories from a random one on, those of its workspace
// next to it, and counts what it finds in SeenFlaws. It costs one look at each
// segment that holds them.
func (s *Store) SampleIntegrity(ctx context.Context, memories int) (sum IntegrityReport, err error) {
	sum.Inconsistencies = []Inconsistency{}
	i, err := SystemRead(ctx, s, "choose memories to inspect", func(t *SystemTx) (i integrityChecker, err error) {
		var minimum, maximum int64
		err = t.t.conn.QueryRow(
			`SELECT COALESCE((SELECT min(row_id) FROM memories), 0), COALESCE((SELECT max(row_id) FROM memories), 0)`,
			nil, []any{&minimum, &maximum})
		if err != nil {
			return i, err
		}
		i.sampleSize, i.sampleFrom = memories, minimum+rand.Int64N(maximum-minimum+1)
		var analyzer int
		err = t.t.conn.QueryRow(
			`SELECT w.row_id, w.id, x.analyzer FROM memories e JOIN workspaces w ON w.row_id = e.workspace
				JOIN keyword_indexes x ON x.workspace = e.workspace
			WHERE e.row_id >= ?1 ORDER BY e.row_id LIMIT 1`, []any{i.sampleFrom}, []any{&i.workspace, &i.id, &analyzer})
		if err == nil && analyzer != analysis.Version {
			err = sqldb.ErrNoRows // it is not what it will be
		}
		return i, err
	})
	if errors.Is(err, sqldb.ErrNoRows) {
		return sum, nil
	}
	if err == nil {
		sum.Workspaces, i.progress = 1, func(int) {}
		err = s.checkWorkspace(ctx, i, &sum, IntegrityOptions{})
	}
	inconsistencyCount.Add(sum.Found)
	for _, f := range sum.Inconsistencies {
		if f.repair == nil {
			unrepairableCount.Add(1)
		}
	}
	return sum, err
}
