package store

import (
	"context"
	"sync"
	"time"

	"github.com/loci-memory/loci/internal/index"
)

// updatesPerCheck is after how many changes of this process a workspace is looked at.
const updatesPerCheck = 128

// A compactor flushes and merges in the background. Several processes may run
// one: the second finds another version and does nothing.
type compactor struct {
	store        *Store
	mu           sync.Mutex
	updateCounts map[int64]int
	lastUpdated  map[int64]time.Time // workspaces that may have something to tidy, and when each changed
	requests     chan flushRequest
	stopping     chan struct{}
	cancel       context.CancelFunc
	done         sync.WaitGroup
}

// A flushRequest is a workspace that is looked at, how many changes are to be folded at
// least, and how many segments of a size are to be merged into one.
type flushRequest struct {
	workspace      int64
	minRows, fanIn int
}

func (f *compactor) start(s *Store, quiet time.Duration) {
	ctx, cancel := context.WithCancel(context.Background())
	f.store, f.updateCounts, f.lastUpdated, f.cancel = s, map[int64]int{}, map[int64]time.Time{}, cancel
	f.requests, f.stopping = make(chan flushRequest, 256), make(chan struct{})
	f.done.Go(func() {
		for w := range f.requests {
			if err := f.store.flush(ctx, w); err != nil && ctx.Err() == nil {
				f.store.db.Log.Error("fold", "err", err)
			}
		}
	})
	f.done.Go(func() { f.watchIdle(quiet) })
}

// stop does what is due first, within reason: a program that runs for one
// command folds here or never.
func (f *compactor) stop() {
	f.mu.Lock()
	close(f.stopping)
	close(f.requests)
	f.mu.Unlock()
	late := time.AfterFunc(5*time.Second, f.cancel)
	f.done.Wait()
	late.Stop()
	f.cancel()
}

// noteUpdate counts a change of a workspace and requests a look at one with many.
// The first change of a process counts as many: it does not know how many were
// there before.
func (f *compactor) noteUpdate(workspace int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if isClosed(f.stopping) {
		return
	}
	n, known := f.updateCounts[workspace]
	if n++; (!known || n >= updatesPerCheck) && f.request(flushRequest{workspace, flushThreshold, index.FanIn}) {
		n = 0
	}
	if len(f.updateCounts) > maxSnapshots {
		clear(f.updateCounts)
		clear(f.lastUpdated)
	}
	f.updateCounts[workspace], f.lastUpdated[workspace] = n, time.Now()
}

// isClosed reports whether a channel is closed on which nothing is sent.
func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// request has a workspace looked at, unless there is much to do: the next change asks again.
func (f *compactor) request(w flushRequest) bool {
	select {
	case f.requests <- w:
		return true
	default:
		return false
	}
}

// idleDelay is for how long nothing has changed in a workspace whose segments are
// worth the work of a merge that writing would soon undo.
const idleDelay = 10 * time.Second

// watchIdle has workspaces tidied in which nothing changes any more.
func (f *compactor) watchIdle(quiet time.Duration) {
	t := time.NewTicker(quiet / 2)
	defer t.Stop()
	for {
		select {
		case <-f.stopping:
			return
		case now := <-t.C:
			f.mergeIdle(now.Add(-quiet))
		}
	}
}

// mergeIdle has workspaces looked at that changed before a time for the last time.
func (f *compactor) mergeIdle(before time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if isClosed(f.stopping) {
		return
	}
	for w, at := range f.lastUpdated {
		if at.Before(before) && f.request(flushRequest{w, idleFlushThreshold, index.IdleFanIn}) {
			delete(f.lastUpdated, w)
		}
	}
}
