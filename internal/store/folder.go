package store

import (
	"context"
	"sync"
	"time"

	"github.com/loci-memory/loci/internal/search"
)

// checkEvery is after how many changes of this process a workspace is looked at.
const checkEvery = 128

// A folder folds in the background. Several processes may: whoever comes
// second finds another version and leaves it.
type folder struct {
	s       *Store
	mu      sync.Mutex
	seen    map[int64]int
	changed map[int64]time.Time // workspaces that may have something to tidy, and when each changed
	due     chan folding
	ended   chan struct{}
	cancel  context.CancelFunc
	done    sync.WaitGroup
}

// A folding is a workspace that is looked at, how many changes are to be folded at
// least, and how many segments of a size are to be merged into one.
type folding struct {
	workspace    int64
	least, fanIn int
}

func (f *folder) start(s *Store, quiet time.Duration) {
	ctx, cancel := context.WithCancel(context.Background())
	f.s, f.seen, f.changed, f.cancel = s, map[int64]int{}, map[int64]time.Time{}, cancel
	f.due, f.ended = make(chan folding, 256), make(chan struct{})
	f.done.Go(func() {
		for w := range f.due {
			if err := f.s.fold(ctx, w); err != nil && ctx.Err() == nil {
				f.s.log.Error("fold", "err", err)
			}
		}
	})
	f.done.Go(func() { f.watch(quiet) })
}

// stop does what is due first, within reason: a program that runs for one
// command folds here or never.
func (f *folder) stop() {
	f.mu.Lock()
	close(f.ended)
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
	now := time.Now()
	f.mu.Lock()
	defer f.mu.Unlock()
	if closed(f.ended) {
		return
	}
	for _, w := range workspaces {
		n, known := f.seen[w]
		if n++; (!known || n >= checkEvery) && f.ask(folding{w, foldAt, search.FanIn}) {
			n = 0
		}
		if len(f.seen) > maxViews {
			clear(f.seen)
			clear(f.changed)
		}
		f.seen[w], f.changed[w] = n, now
	}
}

// closed reports whether a channel is closed on which nothing is sent.
func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// ask has a workspace looked at, unless there is much to do: the next change asks again.
func (f *folder) ask(w folding) bool {
	select {
	case f.due <- w:
		return true
	default:
		return false
	}
}

// quietAfter is for how long nothing has changed in a workspace whose segments are
// worth the work of a merge that writing would soon undo.
const quietAfter = 10 * time.Second

// watch has workspaces tidied in which nothing changes any more.
func (f *folder) watch(quiet time.Duration) {
	t := time.NewTicker(quiet / 2)
	defer t.Stop()
	for {
		select {
		case <-f.ended:
			return
		case now := <-t.C:
			f.tidy(now.Add(-quiet))
		}
	}
}

// tidy has workspaces looked at that changed before a time for the last time.
func (f *folder) tidy(before time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if closed(f.ended) {
		return
	}
	for w, at := range f.changed {
		if at.Before(before) && f.ask(folding{w, foldQuietAt, search.QuietFanIn}) {
			delete(f.changed, w)
		}
	}
}
