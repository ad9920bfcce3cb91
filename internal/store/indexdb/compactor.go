package indexdb

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/index"
)

// updatesPerRequest is the number of changes of this process in a workspace that request a flush of its log.
const updatesPerRequest = 128

// drainTimeout bounds the flushes of a process that ends: one that runs for one command flushes then or never.
const drainTimeout = 5 * time.Second

// A compactor knows which workspaces are to be flushed and merged. Several processes may run one: the second finds
// another version and does nothing.
type compactor struct {
	idle time.Duration
	wake func()

	mu         sync.Mutex
	workspaces map[int64]*activity
	due        []flushRequest
}

// activity counts the changes of this process in a workspace.
type activity struct {
	updates int       // since the last request
	last    time.Time // of the last change; zero once its segments were merged after that
}

// A flushRequest is a workspace to compact.
type flushRequest struct {
	workspace int64
	minRows   int // of the log, for a flush
	fanIn     int // segments of about one size that are merged
}

// noteUpdate counts a change of a workspace and requests a flush after many. The first change of a workspace requests
// one at once: earlier processes may have left rows.
func (c *compactor) noteUpdate(workspace int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a := c.workspaces[workspace]
	if a == nil {
		if len(c.workspaces) >= maxWorkspaces {
			clear(c.workspaces)
		}
		a = &activity{updates: updatesPerRequest}
		c.workspaces[workspace] = a
	}
	a.last = time.Now()
	if a.updates++; a.updates >= updatesPerRequest && c.request(flushRequest{workspace, flushThreshold, index.FanIn}) {
		a.updates = 0
		c.wake()
	}
}

// maxWorkspaces bounds the workspaces whose activity is known. The others are merged after their next changes.
const maxWorkspaces = 10_000

// maxRequests bounds the requests that wait. The next change of the workspace repeats a refused request.
const maxRequests = 256

func (c *compactor) request(w flushRequest) bool {
	if len(c.due) == maxRequests {
		return false
	}
	c.due = append(c.due, w)
	return true
}

// takeDue removes and returns the requests that wait, with one for each workspace that has become idle. Merges of few
// segments wait until then, because more writes would soon repeat them.
func (c *compactor) takeDue() []flushRequest {
	c.mu.Lock()
	defer c.mu.Unlock()
	idleSince := time.Now().Add(-c.idle)
	for w, a := range c.workspaces {
		if !a.last.IsZero() && a.last.Before(idleSince) &&
			c.request(flushRequest{w, idleFlushThreshold, index.IdleFanIn}) {
			a.last = time.Time{}
		}
	}
	due := c.due
	c.due = nil
	return due
}

// compactDue serves the requests. It repeats those that meet a busy database, as an idle workspace requests no more.
func (x *Index) compactDue(ctx context.Context) error {
	var failed []error
	for _, w := range x.compactor.takeDue() {
		err := x.compact(ctx, w)
		failed = append(failed, err)
		if loci.Is(err, loci.CodeUnavailable) {
			x.compactor.mu.Lock()
			x.compactor.request(w)
			x.compactor.mu.Unlock()
		}
	}
	return errors.Join(failed...)
}
