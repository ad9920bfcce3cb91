package sqlite

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/loci-memory/loci/internal/limit"
	"github.com/loci-memory/loci/internal/sqldb"
)

// A writer runs the closures of writes on the one writing connection, and commits many of them together (group
// commit). While a commit waits for the disk, closures gather for the next one. A caller gets its result after the
// commit of its closure is durable. Users take turns in each commit, so a user with many closures does not delay
// others.
type writer struct {
	mu      sync.Mutex                     // guards jobs and ending
	jobs    limit.Queue[string, *writeJob] // by user
	ending  bool                           // no more jobs are accepted
	arrived chan struct{}                  // holds a value after a job was queued, or stop was called

	done         chan struct{}
	conn         *conn
	busyTimeout  time.Duration
	txErr        error        // why the current transaction cannot be committed
	beforeCommit func() error // an error prevents the commit; may be nil
	commits      commitCounter
}

type writeJob struct {
	ctx     context.Context
	f       func(sqldb.Conn) error
	err     chan error
	claimed atomic.Bool // by the writer, or by its caller, which left before
}

// Limits of one commit. It waits for as many jobs as the last commit had, whose callers probably write again.
const (
	maxBatch      = 64
	maxBatchDelay = 2 * time.Millisecond
)

func newWriter(c *conn, busyTimeout time.Duration) *writer {
	return &writer{jobs: limit.NewQueue[string, *writeJob](), arrived: make(chan struct{}, 1),
		done: make(chan struct{}), conn: c, busyTimeout: busyTimeout}
}

// submit queues f and waits for its commit. It removes the job of a caller that leaves before its turn. Once f runs,
// its end is awaited. A caller without a turn within the busy timeout gets CodeUnavailable.
func (w *writer) submit(ctx context.Context, user string, f func(sqldb.Conn) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	j := &writeJob{ctx: ctx, f: f, err: make(chan error, 1)}
	if !w.enqueue(user, j) {
		return errClosed
	}
	wait := time.NewTimer(w.busyTimeout)
	defer wait.Stop()
	var left error
	select {
	case err := <-j.err:
		return err
	case <-w.done:
		return w.awaitResult(j)
	case <-ctx.Done():
		left = ctx.Err()
	case <-wait.C:
		left = sqldb.NewBusyError(errBusy)
	}
	if j.claimed.CompareAndSwap(false, true) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.jobs.Remove(user, j)
		return left
	}
	return w.awaitResult(j)
}

// enqueue adds a job, and reports false if the writer is stopping.
func (w *writer) enqueue(user string, j *writeJob) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ending {
		return false
	}
	w.jobs.Push(user, 1, j)
	w.signal()
	return true
}

func (w *writer) signal() {
	select {
	case w.arrived <- struct{}{}:
	default:
	}
}

// first returns the first job of a commit, or nil. It reports ended after stop if the queue is empty.
func (w *writer) first() (j *writeJob, ended bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.jobs.ReleaseAll() // turns count within one commit
	j, ok := w.jobs.Pop(anybody)
	return j, !ok && w.ending
}

// next returns the next job of the current commit, or nil.
func (w *writer) next() *writeJob {
	w.mu.Lock()
	defer w.mu.Unlock()
	j, _ := w.jobs.Pop(anybody)
	return j
}

func anybody(string, int) bool { return true }

// queued returns how many jobs wait for their turn.
func (w *writer) queued() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.jobs.Len()
}

// awaitResult waits for the result of a claimed job, or for the end of the loop.
func (w *writer) awaitResult(j *writeJob) error {
	select {
	case err := <-j.err:
		return err
	case <-w.done: // the result may have come before
	}
	select {
	case err := <-j.err:
		return err
	default:
		return errClosed
	}
}

var (
	errClosed = sqldb.NewBusyError(errors.New("sqldb: closed"))
	errBusy   = errors.New("sqldb: the writer is busy")
)

// stop ends the loop after all queued jobs.
func (w *writer) stop() {
	w.mu.Lock()
	w.ending = true
	w.signal()
	w.mu.Unlock()
	<-w.done
}

// run commits jobs until stop, and calls after between commits.
func (w *writer) run(after func()) {
	defer close(w.done)
	for last := 1; ; {
		first, ended := w.first()
		switch {
		case ended:
			return
		case first == nil:
			<-w.arrived
		case !first.claimed.Load():
			last = w.commitBatch(first, last)
			after()
		}
	}
}

// commitBatch runs first and the jobs that follow, commits, and sends all results. It waits at most maxBatchDelay for
// the expected number of jobs. It returns the number of jobs that it ran.
func (w *writer) commitBatch(first *writeJob, expected int) int {
	if _, err := w.conn.Exec(`BEGIN IMMEDIATE`, nil); err != nil {
		w.conn.Exec(`ROLLBACK`, nil) // a transaction may still be open after an earlier failure
		first.err <- err
		return 1
	}
	w.txErr = nil
	batch := make([]*writeJob, 0, expected+1)
	errs := make([]error, 0, expected+1)
	var wait <-chan time.Time // of the whole batch
	for j := first; j != nil; {
		batch, errs = append(batch, j), append(errs, w.runInSavepoint(j))
		if len(batch) == maxBatch || w.txErr != nil {
			break
		}
		if j = w.next(); j == nil && len(batch) < expected {
			if wait == nil {
				wait = time.After(maxBatchDelay)
			}
			j = w.waitForNext(wait)
		}
	}
	failed := w.endTx()
	for i, j := range batch {
		if failed != nil && errs[i] == nil {
			errs[i] = failed
		}
		j.err <- errs[i]
	}
	return len(batch)
}

// waitForNext returns the next job of the current commit, or nil if none arrives in time.
func (w *writer) waitForNext(late <-chan time.Time) *writeJob {
	for {
		select {
		case <-w.arrived:
		case <-late:
			return nil
		}
		if j := w.next(); j != nil {
			return j
		}
	}
}

// endTx commits the transaction, or rolls it back.
func (w *writer) endTx() (failed error) {
	if failed = w.txErr; failed == nil && w.beforeCommit != nil {
		failed = w.beforeCommit()
	}
	if failed == nil {
		failed = w.commits.increment(w.conn)
	}
	if failed == nil {
		_, failed = w.conn.Exec(`COMMIT`, nil)
	}
	if failed == nil {
		w.commits.save()
	} else {
		w.conn.Exec(`ROLLBACK`, nil) // SQLite may have rolled back already
	}
	return failed
}

// runInSavepoint runs one closure in a savepoint. Some errors, such as a full disk, make SQLite roll back the whole
// transaction. Then the savepoint is gone, and so are the changes of the other jobs.
func (w *writer) runInSavepoint(j *writeJob) (err error) {
	if !j.claimed.CompareAndSwap(false, true) {
		return nil // its caller left
	}
	if err := j.ctx.Err(); err != nil {
		return err
	}
	if _, err := w.conn.Exec(`SAVEPOINT closure`, nil); err != nil {
		return err
	}
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
		var end error
		if err != nil {
			_, end = w.conn.Exec(`ROLLBACK TO closure`, nil)
		}
		if end == nil {
			_, end = w.conn.Exec(`RELEASE closure`, nil)
		}
		if end != nil {
			w.txErr = sqldb.NewBusyError(end) // the other jobs did not fail: their callers may repeat them
		}
	}()
	w.conn.ctx = context.WithoutCancel(j.ctx)
	return j.f(w.conn)
}
