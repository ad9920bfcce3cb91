package indexdb

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/index"
	"github.com/loci-memory/loci/internal/sqldb"
)

// A workspace rests when its log has not changed for restAge. All of its log is then flushed, however short: a row of
// the log costs a snapshot fifty times the memory of a document in a segment. While the logs of all workspaces would
// take more than a share of the budget of the caches, it rests as soon as it is idle.
const (
	restAge       = time.Hour
	pressureShare = 8
	logRowBytes   = 4 << 10 // of a snapshot
)

// RestInterval is the pause between two calls of FlushResting.
const RestInterval = time.Minute

// Bounds of a group of workspaces that are flushed in one transaction, so that other writers wait for milliseconds.
const (
	maxGroup     = 16
	maxGroupRows = 1024
)

// maxRestingLogs bounds the workspaces whose logs are watched. Others follow when these are flushed.
const maxRestingLogs = 100_000

// A restingLog is the log of a workspace as it has been since a time.
type restingLog struct {
	workspace int64
	rows      int
	last      int64 // the last seq
	since     time.Time
}

// FlushResting flushes the logs of the workspaces that rest. Several servers may do so: the second finds another
// version and leaves the workspace alone. Only one call may run at a time.
func (x *Index) FlushResting(ctx context.Context) error {
	logs, err := x.readLogs(ctx)
	if err != nil {
		return err
	}
	age, rows := restAge, 0
	for _, l := range logs {
		rows += l.rows
	}
	x.waitingRows.Store(int64(rows))
	if rows*logRowBytes > x.caches.Limit()/pressureShare {
		age = x.compactor.idle
	}
	now, due := x.db.Clock(), []restingLog(nil)
	for _, l := range logs {
		if now.Sub(l.since) >= age {
			due = append(due, l)
		}
	}
	var failed []error
	for len(due) > 0 && ctx.Err() == nil {
		n := groupSize(due)
		failed = append(failed, x.flushGroup(ctx, due[:n]))
		due = due[n:]
	}
	return errors.Join(failed...)
}

// WaitingRows returns the rows of all logs that the last call of FlushResting found, or -1 before the first.
func (x *Index) WaitingRows() int64 { return x.waitingRows.Load() }

// readLogs returns the logs that have rows, by workspace, with the times since which they have not changed.
func (x *Index) readLogs(ctx context.Context) ([]restingLog, error) {
	now, seen := x.db.Clock(), map[int64]restingLog{}
	_, err := sqldb.SystemRead(ctx, x.db, "find resting workspaces", func(t *sqldb.Tx) (loci.Empty, error) {
		return loci.Empty{}, t.Query(`SELECT workspace, count(*), max(seq) FROM index_log
			GROUP BY workspace ORDER BY workspace LIMIT ?1`, []any{maxRestingLogs}, func(r sqldb.Row) error {
			l := restingLog{since: now}
			err := r.Scan(&l.workspace, &l.rows, &l.last)
			before, known := x.resting[l.workspace]
			if known && before.rows == l.rows && before.last == l.last && !before.since.After(now) {
				l.since = before.since
			}
			seen[l.workspace] = l
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	x.resting = seen
	return slices.SortedFunc(maps.Values(seen), func(a, b restingLog) int {
		return cmp.Compare(a.workspace, b.workspace)
	}), nil
}

// groupSize returns how many of the first logs make a group.
func groupSize(logs []restingLog) (n int) {
	for rows := 0; n < min(len(logs), maxGroup); n++ {
		if rows += logs[n].rows; n > 0 && rows > maxGroupRows {
			break
		}
	}
	return n
}

// flushGroup flushes workspaces in one transaction. It leaves those out that another process changes meanwhile.
func (x *Index) flushGroup(ctx context.Context, group []restingLog) error {
	steps, err := sqldb.SystemRead(ctx, x.db, "prepare the flush of resting workspaces",
		func(t *sqldb.Tx) (steps []*compactionStep, err error) {
			for _, l := range group {
				step, err := x.planStep(t, flushRequest{l.workspace, 1, index.IdleFanIn})
				if errors.Is(err, ErrStale) || err == nil && step == nil {
					continue
				}
				if err != nil {
					return nil, err
				}
				steps = append(steps, step)
			}
			return steps, nil
		})
	if err != nil || len(steps) == 0 {
		return err
	}
	_, err = sqldb.System(ctx, x.db, "flush resting workspaces", func(t *sqldb.Tx) (loci.Empty, error) {
		return loci.Empty{}, applySteps(t, steps)
	})
	for _, step := range steps {
		x.Invalidate(step.state.Workspace)
	}
	return err
}

// applySteps applies those steps of several workspaces whose states are still those on which they were prepared.
func applySteps(t *sqldb.Tx, steps []*compactionStep) error {
	atlases := map[int64]Counters{}
	for _, n := range steps {
		err := n.applySegments(t)
		if errors.Is(err, ErrStale) {
			continue
		}
		if err != nil {
			return err
		}
		for atlas, add := range n.atlases {
			atlases[atlas] = atlases[atlas].plus(add)
		}
	}
	return addCounters(t, atlases)
}
