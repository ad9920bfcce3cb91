package integrity

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store/indexdb"
)

// A difference counts the derived data of a kind in a workspace that are not what the source rows say.
type difference struct {
	count int64
	first string // description of the first one
}

// differ records derived data that are not what the source rows say.
func (w *workspaceCheck) differ(kind, what string, args ...any) {
	d := w.differences[kind]
	if d.count++; d.count == 1 {
		d.first = fmt.Sprintf(what, args...)
	}
	w.differences[kind] = d
}

func (w *workspaceCheck) countDifferences() (n int64) {
	for _, d := range w.differences {
		n += d.count
	}
	return n
}

// A derivation rebuilds one kind of derived data of a workspace from its source rows, by the code that also keeps them
// in ordinary operation. It may run beside writers: a transaction rebuilds the data of some rows, or one segment.
type derivation struct {
	kind    string
	rebuild func(ctx context.Context, c *Checker, workspace int64) error
	from    []string // tables that are counted or joined: a damaged row of one may belong to any record
	names   bool     // whether the data name memories, also lost ones
}

// keepAdvice is the reason why a repair rebuilds nothing from tables with damaged or lost rows.
const keepAdvice = "rows that it follows from are damaged or lost, so nothing proves which of both is right, and " +
	"both stay"

// derivations rebuild every kind, in this order.
var derivations = []derivation{
	{InconsistentAccounts, rebuildAccounts, []string{"benefits", "grants", "invitations", "users"}, false},
	{InconsistentRows, inBatches("memories", rebuildBatchSize, rebuildRows), nil, false},
	{InconsistentLinks, inBatches("memories", rebuildBatchSize, rebuildLinks), nil, false},
	{InconsistentAttachments, inBatches("memories", rebuildBatchSize, rebuildAttachments),
		[]string{"atlases", "attachments", "memories"}, false},
	{InconsistentIndex, func(ctx context.Context, c *Checker, workspace int64) error {
		return c.index.Rebuild(ctx, workspace)
	}, nil, true},
	{InconsistentCounters, inBatches("atlases", 1, recount), []string{"memories"}, true},
	{InconsistentBands, rebuildBands, nil, true},
	{InconsistentVectors, inBatches("memories", rebuildBatchSize, rebuildVectors), nil, false},
	{InconsistentSessions, inBatches("sessions", rebuildBatchSize, rebuildSessions), []string{"candidates",
		"checkpoints", "compilations", "redaction_audits", "session_events", "sessions", "units"}, false},
	{InconsistentMessages, rebuildMessages, []string{"agents", "messages", "receipts"}, false},
}

// rebuildBatchSize is the number of source rows whose derived data one transaction rebuilds.
const rebuildBatchSize = 100

// inBatches returns a rebuild in transactions, each for some rows of a source table. It skips unreadable rows.
func inBatches(table string, size int, f func(c *Checker, t *sqldb.Tx, rowIDs []int64) error) func(context.Context,
	*Checker, int64) error {
	return func(ctx context.Context, c *Checker, workspace int64) error {
		rowIDs, err := sqldb.SystemRead(ctx, c.db, "list rows to rebuild", func(t *sqldb.Tx) (list []int64, err error) {
			return listRows(t, table, workspace)
		})
		if err != nil {
			return err
		}
		return sqldb.InReadableBatches(rowIDs, size, func(batch []int64) error {
			_, err := sqldb.System(ctx, c.db, "rebuild derived data", func(t *sqldb.Tx) (loci.Empty, error) {
				return loci.Empty{}, f(c, t, batch)
			})
			return err
		})
	}
}

// listRows lists the rows of a workspace in a table, ascending.
func listRows(t *sqldb.Tx, table string, workspace int64) (list []int64, err error) {
	err = t.Query(`SELECT row_id FROM `+table+` WHERE workspace = ?1 ORDER BY row_id`, []any{workspace},
		sqldb.ScanInts(&list))
	return list, err
}

// lockProved returns the rows of memories that match their checksums, which stay as they are until the commit.
func lockProved(t *sqldb.Tx, rowIDs []int64) (list []indexdb.MemoryRow, err error) {
	for _, rowID := range rowIDs {
		m, err := indexdb.LockMemoryRow(t, rowID)
		if err == nil && !m.IsDamaged {
			list = append(list, m)
		} else if err != nil && !errors.Is(err, sqldb.ErrNoRows) {
			return nil, err
		}
	}
	return list, nil
}

// rebuildDifferent rebuilds the kinds of derived data that differ. It returns why some could not be read or written.
func (w *workspaceCheck) rebuildDifferent(ctx context.Context) (failed map[string]string, err error) {
	failed = map[string]string{}
	for _, d := range derivations {
		if w.differences[d.kind].count == 0 {
			continue
		}
		if w.lost && d.names || slices.ContainsFunc(d.from, func(table string) bool { return w.damaged[table] }) {
			failed[d.kind] = keepAdvice
			continue
		}
		err := d.rebuild(ctx, w.checker, w.workspace)
		if errors.Is(err, indexdb.ErrNewerAnalyzer) { // since the check
			failed[d.kind], err = newerAdvice, nil
		} else if reason := sqldb.UnreadableReason(err); reason != "" {
			failed[d.kind], err = reason, nil
		}
		if err != nil {
			return nil, err
		}
	}
	return failed, nil
}

// reportDifferences adds one inconsistency for each kind that differed. Those that are left were not repaired.
func (w *workspaceCheck) reportDifferences(sum *Report, left map[string]difference, failed map[string]string,
	o Options) {
	for _, d := range derivations {
		x := w.differences[d.kind]
		if x.count == 0 {
			x = left[d.kind]
		}
		if x.count == 0 {
			continue
		}
		f := Inconsistency{Kind: d.kind, ID: string(w.id), Detail: x.first, derived: true}
		if x.count > 1 {
			f.Detail += fmt.Sprintf("; and %d more", x.count-1)
		}
		switch {
		case !o.Repair:
		case failed[d.kind] != "":
			f.Repair = "could not be repaired: " + failed[d.kind]
		case left[d.kind].count > 0:
			f.Repair = "could not be repaired: what was written is not there"
		default:
			f.Repair, f.Repaired = "rebuilt", true
		}
		sum.add(f)
	}
}
