package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/index"
	"github.com/loci-memory/loci/internal/sqldb"
)

// foldAt is how many rows of changes a workspace gathers before they are
// folded into a segment of its keyword index and into the counters of its
// atlases; of one that rests, less are.
const (
	flushThreshold     = 512
	idleFlushThreshold = 64
)

// Flush folds what a workspace has gathered, however little.
func (s *Store) Flush(ctx context.Context, workspaceID string) error {
	rowID, err := SystemRead(ctx, s, "find a workspace to fold", func(t *SystemTx) (int64, error) {
		return t.workspaceRowID(workspaceID)
	})
	if err != nil {
		return err
	}
	return s.flush(ctx, flushRequest{rowID, 1, index.FanIn})
}

// flush folds the changes of a workspace if there are enough of them, and then
// merges segments until none should be.
func (s *Store) flush(ctx context.Context, w flushRequest) error {
	for {
		more, err := s.compact(ctx, w)
		if err != nil && !errors.Is(err, errStale) {
			return err
		}
		if !more || err != nil || ctx.Err() != nil {
			return nil
		}
	}
}

// A plan of one step: what goes, what comes, and on which state it was made.
type compactionStep struct {
	state      indexState
	encoded    index.EncodedSegment
	merged     []*index.Segment // merged into the blob
	tombstoned []*index.Segment // segments of which more is dead
	flushed    []int64          // the seq of changes in the blob
	atlases    map[int64]atlasCounters
}

// atlasCounters is what changes add to the counters of an atlas.
type atlasCounters struct{ memories, bytes int64 }

// maxFlushRows bounds the changes of one step.
const maxFlushRows = 4096

// compact does the next thing that is to do and reports whether there may be more.
func (s *Store) compact(ctx context.Context, w flushRequest) (bool, error) {
	var next *compactionStep
	_, err := SystemRead(ctx, s, "read what is to fold", func(t *SystemTx) (_ loci.Empty, err error) {
		next, err = t.planStep(w)
		return loci.Empty{}, err
	})
	if err != nil || next == nil {
		return false, err
	}
	_, err = System(ctx, s, "fold changes into the keyword index", func(t *SystemTx) (loci.Empty, error) {
		return loci.Empty{}, t.applyStep(next)
	})
	return err == nil, err
}

func (t *SystemTx) planStep(w flushRequest) (*compactionStep, error) {
	n, changes := &compactionStep{}, 0
	err := t.t.conn.QueryRow(`SELECT`+stateColumns(`count(*)`)+`FROM keyword_indexes x WHERE x.workspace = ?1`,
		[]any{w.workspace}, []any{&n.state.workspace, &n.state.version, &changes})
	if err != nil {
		if errors.Is(err, sqldb.ErrNoRows) {
			return nil, nil // the workspace is gone
		}
		return nil, err
	}
	segments, err := t.t.segments(w.workspace)
	if err != nil {
		return nil, err
	}
	if changes >= w.minRows {
		return n, t.planFlush(n, segments)
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
	n.encoded, err = index.Merge(t.t.conn.Ctx, t.t.segmentPage, n.merged)
	return n, err
}

// planFlush plans a new segment of the changes, and what dies of the others.
func (t *SystemTx) planFlush(n *compactionStep, segments []*index.Segment) (err error) {
	n.atlases = map[int64]atlasCounters{}
	var changes []index.DocUpdate
	var memories []int64
	err = t.t.conn.Query(`SELECT`+logColumns+
		`, memories, bytes FROM index_log WHERE workspace = ?1 ORDER BY seq LIMIT ?2`,
		[]any{n.state.workspace, maxFlushRows}, func(r sqldb.Row) error {
			var add atlasCounters
			c, err := scanLogRow(r, &add.memories, &add.bytes)
			changes, memories, n.flushed = append(changes, c), append(memories, c.Memory), append(n.flushed, c.Seq)
			sum := n.atlases[c.Atlas]
			n.atlases[c.Atlas] = atlasCounters{sum.memories + add.memories, sum.bytes + add.bytes}
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
	n.encoded, err = index.Build(changes)
	return err
}

// applyStep writes a step, if its state is still the state.
func (t *SystemTx) applyStep(n *compactionStep) error {
	moved, err := t.t.exec(`UPDATE keyword_indexes SET version = version + 1 WHERE workspace = ?1 AND version = ?2`,
		n.state.workspace, n.state.version)
	if err != nil {
		return err
	}
	if moved == 0 {
		return errStale
	}
	for _, s := range n.merged {
		if err := t.dropSegment(s.ID()); err != nil {
			return err
		}
	}
	for _, s := range n.tombstoned {
		if _, err := t.t.exec(`UPDATE segments SET tombstones = ?2 WHERE row_id = ?1`, s.ID(),
			s.Tombstones()); err != nil {
			return err
		}
	}
	if err := t.insertSegment(n.state.workspace, n.encoded); err != nil {
		return err
	}
	return t.applyFlushed(n)
}

func (t *SystemTx) insertSegment(workspace int64, b index.EncodedSegment) error {
	if b.Docs == 0 {
		return nil
	}
	rowID, err := t.t.conn.Insert(
		`INSERT INTO segments (workspace, doc_count, header, tombstones) VALUES (?1, ?2, ?3, ?4)`,
		[]any{workspace, b.Docs, b.Header, []byte{}})
	if err != nil {
		return err
	}
	for i, page := range b.Pages {
		if _, err := t.t.exec(`INSERT INTO segment_pages (segment, page, data) VALUES (?1, ?2, ?3)`, rowID, i,
			page); err != nil {
			return err
		}
	}
	return nil
}

// applyFlushed takes the folded changes off the log and into the counters.
func (t *SystemTx) applyFlushed(n *compactionStep) error {
	if len(n.flushed) > 0 {
		if _, err := t.t.exec(`DELETE FROM index_log WHERE `+fmt.Sprintf(t.t.conn.Dialect.InList, "seq", 1),
			sqldb.EncodeInts(n.flushed)); err != nil {
			return err
		}
	}
	for _, atlas := range slices.Sorted(maps.Keys(n.atlases)) { // in the order in which writers lock them
		add := n.atlases[atlas]
		if _, err := t.t.exec(`UPDATE atlases SET memories = memories + ?2, bytes = bytes + ?3 WHERE row_id = ?1`,
			atlas, add.memories, add.bytes); err != nil {
			return err
		}
	}
	return nil
}
