package indexdb

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/index"
	"github.com/loci-memory/loci/internal/sqldb"
)

// Rows of the log at which a workspace is flushed, while it is written and once it is idle.
const (
	flushThreshold     = 512
	idleFlushThreshold = 64
)

// maxFlushAttempts bounds the attempts of a Flush while other processes change the index.
const maxFlushAttempts = 10

// Flush flushes the rows that the log of a workspace has now, and merges segments. It returns CodeUnavailable if the
// index changes often.
func (x *Index) Flush(ctx context.Context, workspace int64) error {
	last, steps := int64(math.MaxInt64), -1
	for stale := 0; stale < maxFlushAttempts; {
		rows, err := sqldb.SystemRead(ctx, x.db, "find rows to flush", func(t *sqldb.Tx) (rows int, err error) {
			err = t.QueryRow(
				`SELECT count(*), COALESCE(max(seq), 0) FROM index_log WHERE workspace = ?1 AND seq <= ?2`,
				[]any{workspace, last}, []any{&rows, &last})
			return rows, err
		})
		if err != nil {
			return err
		}
		// With a steady writer there is always another row. In an empty log SQLite uses the numbers of rows again, so
		// the number of steps is limited too.
		if steps < 0 {
			steps = rows/maxFlushRows + 2
		}
		if rows == 0 || steps == 0 {
			return x.compact(ctx, flushRequest{workspace, math.MaxInt, index.FanIn})
		}
		flushed, err := x.step(ctx, flushRequest{workspace, 1, index.FanIn})
		if err != nil && !errors.Is(err, ErrStale) {
			return err
		}
		if flushed {
			steps--
		} else {
			stale++
		}
	}
	return sqldb.NewBusyError(ErrStale)
}

// compact flushes the log of a workspace where that is due, and then merges segments until none is due. It ends early
// if the index is stale: another process compacts it, or pages of it are lost.
func (x *Index) compact(ctx context.Context, w flushRequest) error {
	for {
		more, err := x.step(ctx, w)
		if err != nil && !errors.Is(err, ErrStale) {
			return err
		}
		if !more || err != nil || ctx.Err() != nil {
			return nil
		}
	}
}

// A compactionStep is a flush or a merge that was prepared outside of a write transaction.
type compactionStep struct {
	state      State // on which it was prepared
	encoded    index.EncodedSegment
	merged     []*index.Segment // replaced by encoded
	tombstoned []*index.Segment // segments with new tombstones
	flushed    []int64          // the seq of rows in encoded
	atlases    map[int64]Counters
}

// Counters are the counters of an atlas, or what is added to them.
type Counters struct{ Memories, Bytes int64 }

func (c Counters) plus(d Counters) Counters {
	return Counters{c.Memories + d.Memories, c.Bytes + d.Bytes}
}

// maxFlushRows bounds the rows of one flush.
const maxFlushRows = 4096

// step flushes or merges once and reports whether more may be due.
func (x *Index) step(ctx context.Context, w flushRequest) (bool, error) {
	next, err := sqldb.SystemRead(ctx, x.db, "prepare a flush or a merge", func(t *sqldb.Tx) (*compactionStep, error) {
		return x.planStep(t, w)
	})
	if err != nil || next == nil {
		return false, err
	}
	_, err = sqldb.System(ctx, x.db, "write a flush or a merge", func(t *sqldb.Tx) (loci.Empty, error) {
		if err := next.applySegments(t); err != nil {
			return loci.Empty{}, err
		}
		return loci.Empty{}, addCounters(t, next.atlases)
	})
	if err == nil {
		x.Invalidate(w.workspace) // its memtable has rows that the new version lacks
	}
	return err == nil, err
}

// planStep returns nil where nothing is due.
func (x *Index) planStep(t *sqldb.Tx, w flushRequest) (*compactionStep, error) {
	n, changes := &compactionStep{}, 0
	err := t.QueryRow(`SELECT`+stateColumns(`count(*)`)+`FROM keyword_indexes x WHERE x.workspace = ?1`,
		[]any{w.workspace}, []any{&n.state.Workspace, &n.state.version, &changes})
	if err != nil {
		if errors.Is(err, sqldb.ErrNoRows) {
			return nil, nil // the workspace is gone
		}
		return nil, err
	}
	segments, err := x.Segments(t, w.workspace)
	if err != nil {
		return nil, err
	}
	if changes >= w.minRows {
		return n, n.planFlush(t, segments)
	}
	docs := make([]int, len(segments))
	for i, s := range segments {
		docs[i] = s.LiveDocs()
	}
	picked := index.SelectMerge(docs, w.fanIn)
	if picked == nil {
		return nil, nil
	}
	for _, i := range picked {
		n.merged = append(n.merged, segments[i])
	}
	n.encoded, err = index.Merge(t.Ctx, FetchPages(t), n.merged)
	return n, err
}

// planFlush prepares a segment of rows of the log, and the tombstones of their memories in the other segments.
func (n *compactionStep) planFlush(t *sqldb.Tx, segments []*index.Segment) (err error) {
	n.atlases = map[int64]Counters{}
	var changes []index.DocUpdate
	var memories []int64
	err = t.Query(`SELECT`+logColumns+
		`, memories, bytes FROM index_log WHERE workspace = ?1 ORDER BY seq LIMIT ?2`,
		[]any{n.state.Workspace, maxFlushRows}, func(r sqldb.Row) error {
			var add Counters
			c, err := scanLogRow(r, &add.Memories, &add.Bytes)
			changes, memories, n.flushed = append(changes, c), append(memories, c.Memory), append(n.flushed, c.Seq)
			n.atlases[c.Atlas] = n.atlases[c.Atlas].plus(add)
			return err
		})
	if err != nil {
		return err
	}
	for _, s := range segments {
		if after, changed := s.MarkDeleted(memories); changed {
			n.tombstoned = append(n.tombstoned, after)
		}
	}
	n.encoded = index.Build(changes)
	return nil
}

// applySegments writes the segments of a step, if the state on which it was prepared is still the state. It deletes the
// flushed rows, whose counters the caller adds.
func (n *compactionStep) applySegments(t *sqldb.Tx) error {
	updated, err := t.Exec(`UPDATE keyword_indexes SET version = version + 1 WHERE workspace = ?1 AND version = ?2`,
		n.state.Workspace, n.state.version)
	if err != nil {
		return err
	}
	if updated == 0 {
		return ErrStale
	}
	for _, s := range n.merged {
		if err := DropSegment(t, s.ID()); err != nil {
			return err
		}
	}
	for _, s := range n.tombstoned {
		if err := saveTombstones(t, s); err != nil {
			return err
		}
	}
	err = insertSegment(t, n.state.Workspace, n.encoded)
	if err == nil && len(n.flushed) > 0 {
		_, err = t.Exec(`DELETE FROM index_log WHERE `+fmt.Sprintf(t.Dialect.InList, "seq", 1),
			sqldb.EncodeInts(n.flushed))
	}
	return err
}

// addCounters adds to the counters of atlases what rows of the log have added.
func addCounters(t *sqldb.Tx, atlases map[int64]Counters) error {
	for _, atlas := range slices.Sorted(maps.Keys(atlases)) { // in the order in which writers lock them
		add := atlases[atlas]
		if _, err := t.Exec(`UPDATE atlases SET memories = memories + ?2, bytes = bytes + ?3 WHERE row_id = ?1`,
			atlas, add.Memories, add.Bytes); err != nil {
			return err
		}
	}
	return nil
}
