package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/search"
)

// foldAt is how many rows of changes a workspace gathers before they are
// folded into a segment of its keyword index and into the counters of its
// atlases; of one that rests, less are.
const (
	foldAt      = 512
	foldQuietAt = 64
)

// Fold folds what a workspace has gathered, however little.
func (s *Store) Fold(ctx context.Context, workspaceID string) error {
	rid, err := SystemRead(ctx, s, "find a workspace to fold", func(t *SystemTx) (int64, error) { return t.workspaceOf(workspaceID) })
	if err != nil {
		return err
	}
	return s.fold(ctx, folding{rid, 1, search.FanIn})
}

// fold folds the changes of a workspace if there are enough of them, and then
// merges segments until none should be.
func (s *Store) fold(ctx context.Context, w folding) error {
	for {
		more, err := s.step(ctx, w)
		if err != nil && !errors.Is(err, errStale) {
			return err
		}
		if !more || err != nil || ctx.Err() != nil {
			return nil
		}
	}
}

// A plan of one step: what goes, what comes, and on which state it was made.
type foldStep struct {
	state   indexState
	blob    search.Blob
	old     []*search.Segment // merged into the blob
	dead    []*search.Segment // segments of which more is dead
	folded  []int64           // the seq of changes in the blob
	atlases map[int64]tally
}

// tally is what changes add to the counters of an atlas.
type tally struct{ memories, bytes int64 }

// maxFold bounds the changes of one step.
const maxFold = 4096

// step does the next thing that is to do and reports whether there may be more.
func (s *Store) step(ctx context.Context, w folding) (bool, error) {
	var next *foldStep
	_, err := SystemRead(ctx, s, "read what is to fold", func(t *SystemTx) (_ loci.Nothing, err error) {
		next, err = t.nextStep(w)
		return loci.Nothing{}, err
	})
	if err != nil || next == nil {
		return false, err
	}
	_, err = System(ctx, s, "fold changes into the keyword index", func(t *SystemTx) (loci.Nothing, error) {
		return loci.Nothing{}, t.apply(next)
	})
	return err == nil, err
}

func (t *SystemTx) nextStep(w folding) (*foldStep, error) {
	n, changes := &foldStep{}, 0
	err := t.t.c.one(`SELECT`+stateColumns(`count(*)`)+`FROM indexes x WHERE x.workspace = ?1`,
		[]any{w.workspace}, []any{&n.state.workspace, &n.state.version, &changes})
	if err != nil {
		if errors.Is(err, errNoRow) {
			return nil, nil // the workspace is gone
		}
		return nil, err
	}
	segments, err := t.t.segments(w.workspace)
	if err != nil {
		return nil, err
	}
	if changes >= w.least {
		return n, t.foldChanges(n, segments)
	}
	docs := make([]int, len(segments))
	for i, s := range segments {
		docs[i] = s.Live()
	}
	picked := search.Tiers(docs, w.fanIn)
	if picked == nil {
		return nil, nil
	}
	for _, i := range picked {
		n.old = append(n.old, segments[i])
	}
	n.blob, err = search.Merge(t.t.ctx, t.t.page, n.old)
	return n, err
}

// foldChanges plans a new segment of the changes, and what dies of the others.
func (t *SystemTx) foldChanges(n *foldStep, segments []*search.Segment) (err error) {
	n.atlases = map[int64]tally{}
	var changes []search.Change
	var memories []int64
	err = t.t.c.each(`SELECT`+changeColumns+`, memories, bytes FROM changes WHERE workspace = ?1 ORDER BY seq LIMIT ?2`,
		[]any{n.state.workspace, maxFold}, func(r row) error {
			var add tally
			c, err := scanChange(r, &add.memories, &add.bytes)
			changes, memories, n.folded = append(changes, c), append(memories, c.Memory), append(n.folded, c.Seq)
			sum := n.atlases[c.Atlas]
			n.atlases[c.Atlas] = tally{sum.memories + add.memories, sum.bytes + add.bytes}
			return err
		})
	if err != nil {
		return err
	}
	for _, s := range segments {
		if after, changed := s.Kill(memories); changed {
			n.dead = append(n.dead, after)
		}
	}
	n.blob, err = search.Build(changes)
	return err
}

// apply writes a step, if its state is still the state.
func (t *SystemTx) apply(n *foldStep) error {
	moved, err := t.t.exec(`UPDATE indexes SET version = version + 1 WHERE workspace = ?1 AND version = ?2`, n.state.workspace, n.state.version)
	if err != nil {
		return err
	}
	if moved == 0 {
		return errStale
	}
	for _, s := range n.old {
		if err := t.dropSegment(s.ID()); err != nil {
			return err
		}
	}
	for _, s := range n.dead {
		if _, err := t.t.exec(`UPDATE segments SET dead = ?2 WHERE rid = ?1`, s.ID(), s.Dead()); err != nil {
			return err
		}
	}
	if err := t.addSegment(n.state.workspace, n.blob); err != nil {
		return err
	}
	return t.settle(n)
}

func (t *SystemTx) addSegment(workspace int64, b search.Blob) error {
	if b.Docs == 0 {
		return nil
	}
	rid, err := t.t.c.insert(`INSERT INTO segments (workspace, documents, head, dead) VALUES (?1, ?2, ?3, ?4)`,
		[]any{workspace, b.Docs, b.Head, []byte{}})
	if err != nil {
		return err
	}
	for i, page := range b.Pages {
		if _, err := t.t.exec(`INSERT INTO pages (segment, number, bytes) VALUES (?1, ?2, ?3)`, rid, i, page); err != nil {
			return err
		}
	}
	return nil
}

// settle takes the folded changes off the log and into the counters.
func (t *SystemTx) settle(n *foldStep) error {
	if len(n.folded) > 0 {
		if _, err := t.t.exec(`DELETE FROM changes WHERE `+fmt.Sprintf(t.t.s.db.dialect().in, "seq", 1), integers(n.folded)); err != nil {
			return err
		}
	}
	for _, atlas := range slices.Sorted(maps.Keys(n.atlases)) { // in the order in which writers lock them
		add := n.atlases[atlas]
		if _, err := t.t.exec(`UPDATE atlases SET memories = memories + ?2, bytes = bytes + ?3 WHERE rid = ?1`, atlas, add.memories, add.bytes); err != nil {
			return err
		}
	}
	return nil
}
