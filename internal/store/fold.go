package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/search"
)

// foldAt is how many rows of changes a workspace gathers before they are
// folded into a segment of its keyword index and into the counters of its
// atlases.
const foldAt = 512

// checkEvery is after how many changes of this process a workspace is looked at.
const checkEvery = 128

// A folder folds in the background. Several processes may: whoever comes
// second finds another version and leaves it.
type folder struct {
	s      *Store
	mu     sync.Mutex
	seen   map[int64]int
	due    chan int64
	closed bool
	cancel context.CancelFunc
	done   sync.WaitGroup
}

func (f *folder) start(s *Store) {
	ctx, cancel := context.WithCancel(context.Background())
	f.s, f.seen, f.due, f.cancel = s, map[int64]int{}, make(chan int64, 256), cancel
	f.done.Go(func() {
		for w := range f.due {
			if err := f.s.fold(ctx, w, foldAt); err != nil && ctx.Err() == nil {
				f.s.log.Error("fold", "err", err)
			}
		}
	})
}

// stop does what is due first, within reason: a program that runs for one
// command folds here or never.
func (f *folder) stop() {
	f.mu.Lock()
	f.closed = true
	close(f.due)
	f.mu.Unlock()
	late := time.AfterFunc(5*time.Second, f.cancel)
	f.done.Wait()
	late.Stop()
	f.cancel()
}

// noticed counts the changes of workspaces and has a look at those with many.
// The first change of a process counts as many: it does not know how many were
// there before.
func (f *folder) noticed(workspaces []int64) {
	if len(workspaces) == 0 {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return
	}
	for _, w := range workspaces {
		n, known := f.seen[w]
		if n++; !known || n >= checkEvery {
			select {
			case f.due <- w:
				n = 0
			default: // there is much to do; the next change asks again
			}
		}
		if len(f.seen) > maxViews {
			clear(f.seen)
		}
		f.seen[w] = n
	}
}

// Fold folds what a workspace has gathered, however little.
func (s *Store) Fold(ctx context.Context, workspaceID string) error {
	rid, err := SystemRead(ctx, s, "find a workspace to fold", func(t *SystemTx) (int64, error) { return t.workspaceOf(workspaceID) })
	if err != nil {
		return err
	}
	return s.fold(ctx, rid, 1)
}

// fold folds the changes of a workspace if there are least of them, and then
// merges segments until none should be.
func (s *Store) fold(ctx context.Context, workspace int64, least int) error {
	for {
		more, err := s.step(ctx, workspace, least)
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
func (s *Store) step(ctx context.Context, workspace int64, least int) (bool, error) {
	var next *foldStep
	_, err := SystemRead(ctx, s, "read what is to fold", func(t *SystemTx) (_ loci.Nothing, err error) {
		next, err = t.nextStep(workspace, least)
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

func (t *SystemTx) nextStep(workspace int64, least int) (*foldStep, error) {
	n := &foldStep{}
	if err := t.t.c.one(`SELECT`+stateColumns+`FROM indexes x WHERE x.workspace = ?1`, []any{workspace}, n.state.scan()); err != nil {
		if errors.Is(err, errNoRow) {
			return nil, nil // the workspace is gone
		}
		return nil, err
	}
	segments, err := t.t.segments(workspace)
	if err != nil {
		return nil, err
	}
	if n.state.changes >= int64(least) {
		return n, t.foldChanges(n, segments)
	}
	docs := make([]int, len(segments))
	for i, s := range segments {
		docs[i] = s.Live()
	}
	picked := search.Tiers(docs)
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
