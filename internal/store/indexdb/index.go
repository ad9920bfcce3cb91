package indexdb

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/loci-memory/loci/internal/cache"
	"github.com/loci-memory/loci/internal/index"
	"github.com/loci-memory/loci/internal/job"
	"github.com/loci-memory/loci/internal/sqldb"
)

// An Index is the keyword indexes of all workspaces of a database. Its cache may be older than a transaction. So a
// transaction reads the state of an index first, and brings a snapshot of another state up to date.
type Index struct {
	Pages *index.Cache // of segments

	db        *sqldb.Handle
	caches    *cache.Budget
	cached    *cache.Cache[int64, *cachedIndex] // by workspace
	compactor *compactor
	resting   map[int64]restingLog // by workspace; used by FlushResting alone

	waitingRows atomic.Int64 // of the logs at the last call of FlushResting, or negative

	jobs      *job.Runner
	wakeIndex func() // starts reindexing
}

// A Snapshot is the index of one workspace in a state.
type Snapshot struct {
	*index.Snapshot
	State State
}

// A State identifies the contents of an index. The version rises with every flush and merge. Between those, writes only
// add rows to the log.
type State struct {
	Workspace           int64
	version, logVersion int64
}

// A cachedIndex is what is cached of the index of a workspace. It is replaced, never changed.
type cachedIndex struct {
	segments map[int64]cachedSegment // by row id
	snapshot *Snapshot               // nil if there is none
}

func (x *cachedIndex) size() (n int) {
	for _, o := range x.segments {
		if n += cachedSegmentBytes + cap(o.tombstones); o.segment != nil {
			n += o.segment.SizeBytes()
		}
	}
	if x.snapshot != nil {
		n += x.snapshot.SizeBytes()
	}
	return n
}

// New returns the index of a database, whose caches have a budget. It merges the segments of a workspace in which
// nothing has changed for idle; 0 is 10 seconds.
func New(db *sqldb.Handle, caches *cache.Budget, idle time.Duration) *Index {
	if idle == 0 {
		idle = 10 * time.Second
	}
	x := &Index{db: db, caches: caches, Pages: index.NewSharedCache(caches), jobs: job.New(db.Log),
		cached:    cache.New(caches, "indexes", func(_ int64, c *cachedIndex) int { return c.size() }),
		resting:   map[int64]restingLog{},
		compactor: &compactor{idle: idle, workspaces: map[int64]*activity{}}}
	x.waitingRows.Store(-1)
	x.compactor.wake = x.jobs.Add(job.Job{Name: "compact", Every: idle / 2, Drain: drainTimeout, Run: x.compactDue})
	x.wakeIndex = x.jobs.Add(job.Job{Name: "reindex", Run: x.ReindexOutdated})
	return x
}

// Start begins to flush and merge, and to reindex where that is due. The index of a newer analyzer is an error.
func (x *Index) Start(ctx context.Context) error {
	if err := x.rejectNewer(ctx); err != nil {
		return err
	}
	outdated, err := x.listOutdated(ctx)
	if err != nil {
		return err
	}
	if len(outdated) > 0 {
		x.wakeIndex()
	}
	x.jobs.Start(context.WithoutCancel(ctx))
	return nil
}

// Stop ends the background work, after the due flushes that end within drainTimeout.
func (x *Index) Stop() { x.jobs.Stop() }

// Jobs returns the states of the background work.
func (x *Index) Jobs() []job.Status { return x.jobs.Status() }

// Invalidate drops the snapshot of a workspace.
func (x *Index) Invalidate(workspace int64) { x.keepSnapshot(workspace, nil) }

// keepSnapshot replaces the cached snapshot of a workspace. A concurrent change of the entry may be lost: every use of
// it compares the state with that of the database.
func (x *Index) keepSnapshot(workspace int64, s *Snapshot) {
	next := new(cachedIndex)
	if have := x.cached.Get(workspace); have != nil {
		next.segments = have.segments
	} else if s == nil {
		return
	}
	next.snapshot = s
	x.cached.Put(workspace, next)
}

// ErrStale reports that an index was flushed or merged while it was read.
var ErrStale = errors.New("indexdb: the index has changed meanwhile")

// stateColumns end with an aggregate of the log c.
func stateColumns(ofLog string) string {
	return ` x.workspace, x.version, (SELECT ` + ofLog + ` FROM index_log c WHERE c.workspace = x.workspace) `
}

func (s *State) scan() []any { return []any{&s.Workspace, &s.version, &s.logVersion} }

// logVersionOf returns what Dialect.LogVersion returns of a log with these rows.
func logVersionOf(d *sqldb.Dialect, seqs []int64) int64 {
	switch {
	case d.Postgres:
		return int64(len(seqs))
	case len(seqs) == 0:
		return 0
	}
	return slices.Max(seqs)
}

// States reads the states of the indexes of workspaces, in their order.
func States(t *sqldb.Tx, workspaces []int64) (states []State, err error) {
	q := `SELECT` + stateColumns(t.Dialect.LogVersion) + `FROM keyword_indexes x WHERE ` +
		fmt.Sprintf(t.Dialect.InList, "x.workspace", 1) + ` ORDER BY x.workspace`
	var s State
	into := s.scan()
	err = t.QueryFew(q, []any{sqldb.EncodeInts(workspaces)}, func(row sqldb.Row) error {
		err := row.Scan(into...)
		states = append(states, s)
		return err
	})
	return states, err
}

// Snapshot returns the snapshot of an index in a state, or in a newer state of the same version.
func (x *Index) Snapshot(t *sqldb.Tx, state State) (*Snapshot, error) {
	var have *Snapshot
	if c := x.cached.Get(state.Workspace); c != nil {
		have = c.snapshot
	}
	if have != nil && have.State == state {
		return have, nil
	}
	next := &Snapshot{State: state}
	if have != nil && have.State.version == state.version {
		next.Snapshot = have.Snapshot
	} else {
		segments, err := x.Segments(t, state.Workspace)
		if err != nil {
			return nil, err
		}
		next.Snapshot = index.NewSnapshot(segments)
	}
	if err := next.catchUp(t); err != nil {
		return nil, err
	}
	if t.ReadOnly {
		x.keepSnapshot(state.Workspace, next)
	}
	return next, nil
}

// catchUp applies the rows of the log that a snapshot does not have yet. Other processes write while it reads, so it
// checks at the end that the version is still the same.
func (s *Snapshot) catchUp(t *sqldb.Tx) error {
	w := s.State.Workspace
	held := map[int64]bool{}
	for _, seq := range s.AppliedSeqs() {
		held[seq] = true
	}
	var missing []int64
	err := t.Query(`SELECT seq FROM index_log WHERE workspace = ?1 ORDER BY seq`, []any{w},
		func(r sqldb.Row) error {
			var seq int64
			err := r.Scan(&seq)
			if !held[seq] {
				missing = append(missing, seq)
			}
			return err
		})
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		changes, err := ReadLog(t, w, missing)
		if err != nil {
			return err
		}
		s.Snapshot = s.Apply(changes)
	}
	var now State
	if err := t.QueryRow(`SELECT`+stateColumns(t.Dialect.LogVersion)+
		`FROM keyword_indexes x WHERE x.workspace = ?1`, []any{w}, now.scan()); err != nil {
		return err
	}
	if now.version != s.State.version {
		return ErrStale
	}
	s.State.logVersion = logVersionOf(t.Dialect, s.AppliedSeqs())
	return nil
}
