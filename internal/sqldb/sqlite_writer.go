package sqldb

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
)

// A sqliteWriter runs closures one after another on the one connection that
// writes, and commits many of them together (group commit): a commit waits for the
// disk, and closures that come meanwhile share the next one. Nobody is answered
// before the commit that holds his closure is durable. Users take turns in each
// commit, so that one with many closures does not keep others out of it.
type sqliteWriter struct {
	mu      sync.Mutex // guards jobs and ending
	jobs    turns[*writeJob]
	ending  bool          // no more jobs are taken in
	arrived chan struct{} // holds a value after a job or the end came

	done         chan struct{}
	conn         *sqliteConn
	busyTimeout  time.Duration
	txErr        error        // the transaction under way is not what it was; nil is well
	beforeCommit func() error // nil, or what may forbid a commit
	mark         commitMark
}

type writeJob struct {
	ctx     context.Context
	f       func(Conn) error
	err     chan error
	claimed atomic.Bool // by its turn, or by its caller, who left before it
}

// Bounds of one commit. The wait is for those who wrote together the last
// time and are probably about to write again; nobody waits alone.
const (
	maxBatch      = 64
	maxBatchDelay = 2 * time.Millisecond
)

func newWriter(c *sqliteConn, patience time.Duration) *sqliteWriter {
	return &sqliteWriter{jobs: newTurns[*writeJob](), arrived: make(chan struct{}, 1), done: make(chan struct{}),
		conn: c, busyTimeout: patience}
}

// submit queues f and waits for its commit. A caller that leaves before its
// turn is removed from the queue; one that leaves later interrupts nothing. A
// caller without a turn within the writer's timeout gets Unavailable.
func (w *sqliteWriter) submit(ctx context.Context, user string, f func(Conn) error) error {
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
		left = BusyError(errBusy)
	}
	if j.claimed.CompareAndSwap(false, true) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.jobs.leave(user, j)
		return left
	}
	return w.awaitResult(j)
}

// enqueue adds a job, and reports false where the writer is ending.
func (w *sqliteWriter) enqueue(user string, j *writeJob) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ending {
		return false
	}
	w.jobs.wait(user, j)
	w.signal()
	return true
}

func (w *sqliteWriter) signal() {
	select {
	case w.arrived <- struct{}{}:
	default:
	}
}

// first returns the job that begins a commit, or nil; ended reports that none will come.
func (w *sqliteWriter) first() (j *writeJob, ended bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	clear(w.jobs.held) // users hold turns of one commit
	j, ok := w.jobs.next(anybody)
	return j, !ok && w.ending
}

// next returns the job whose turn it is in the commit under way, or nil.
func (w *sqliteWriter) next() *writeJob {
	w.mu.Lock()
	defer w.mu.Unlock()
	j, _ := w.jobs.next(anybody)
	return j
}

func anybody(string) bool { return true }

// queued returns how many jobs wait for their turn.
func (w *sqliteWriter) queued() (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, own := range w.jobs.waiting {
		n += len(own)
	}
	return n
}

// awaitResult waits for the answer to a job whose turn has come, or for the end of
// the loop, before which the answer may have come.
func (w *sqliteWriter) awaitResult(j *writeJob) error {
	select {
	case err := <-j.err:
		return err
	case <-w.done:
	}
	select {
	case err := <-j.err:
		return err
	default:
		return errClosed
	}
}

var (
	errClosed = BusyError(errors.New("sqldb: closed"))
	errBusy   = errors.New("sqldb: the writer is busy")
)

// stop ends the loop after all jobs that wait.
func (w *sqliteWriter) stop() {
	w.mu.Lock()
	w.ending = true
	w.signal()
	w.mu.Unlock()
	<-w.done
}

// run runs until it is stopped, and does after each commit what there is to do.
func (w *sqliteWriter) run(after func()) {
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

// commitBatch runs first and the jobs that come along, commits, and answers them all. It
// returns how many there were.
func (w *sqliteWriter) commitBatch(first *writeJob, last int) int {
	if _, err := w.conn.Exec(`BEGIN IMMEDIATE`, nil); err != nil {
		w.conn.Exec(`ROLLBACK`, nil) // where an earlier one failed, there is something to end
		first.err <- err
		return 1
	}
	w.txErr = nil
	batch := make([]*writeJob, 0, last+1)
	errs := make([]error, 0, last+1)
	var wait *time.Timer
	for j := first; j != nil; {
		batch, errs = append(batch, j), append(errs, w.runInSavepoint(j))
		if len(batch) == maxBatch || w.txErr != nil {
			break
		}
		for j = w.next(); j == nil && len(batch) < last; j = w.next() {
			if wait == nil {
				wait = time.NewTimer(maxBatchDelay)
				defer wait.Stop()
			}
			if !w.comes(wait) {
				break
			}
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

// comes waits for another job, and reports false where none came in time.
func (w *sqliteWriter) comes(wait *time.Timer) bool {
	select {
	case <-w.arrived:
		return true
	case <-wait.C:
		return false
	}
}

// endTx commits, or rolls back what cannot be committed.
func (w *sqliteWriter) endTx() (failed error) {
	if failed = w.txErr; failed == nil && w.beforeCommit != nil {
		failed = w.beforeCommit()
	}
	if failed == nil {
		failed = w.mark.step(w.conn)
	}
	if failed == nil {
		_, failed = w.conn.Exec(`COMMIT`, nil)
	}
	if failed == nil {
		w.mark.note()
	} else {
		w.conn.Exec(`ROLLBACK`, nil) // it may have rolled back already
	}
	return failed
}

// runInSavepoint runs one closure in a savepoint of its own. Some errors, a full disk
// for one, make SQLite roll back all of the transaction: then the savepoint is
// gone, and whoever shares the transaction has lost his part.
func (w *sqliteWriter) runInSavepoint(j *writeJob) (err error) {
	if !j.claimed.CompareAndSwap(false, true) {
		return nil // nobody waits for it
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
		if err != nil {
			_, w.txErr = w.conn.Exec(`ROLLBACK TO closure`, nil)
		}
		if _, end := w.conn.Exec(`RELEASE closure`, nil); end != nil {
			w.txErr = end
		}
	}()
	w.conn.ctx = context.WithoutCancel(j.ctx)
	return j.f(w.conn)
}
