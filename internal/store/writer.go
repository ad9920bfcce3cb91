package store

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"
)

// A sqliteWriter runs closures one after another on the one connection that
// writes, and commits many of them together: a commit waits for the disk, and
// who comes meanwhile shares the next one. Nobody is answered before the
// commit that holds his closure is durable.
type sqliteWriter struct {
	jobs     chan *job
	done     chan struct{}
	conn     *sqliteConn
	patience time.Duration
	lost     error        // the transaction under way is not what it was; nil is well
	guard    func() error // nil, or what may forbid a commit
}

type job struct {
	ctx   context.Context
	f     func(conn) error
	err   chan error
	taken atomic.Bool // by its turn, or by its caller, who left before it
}

// Bounds of one commit. The wait is for those who wrote together the last
// time and are probably about to write again; nobody waits alone.
const (
	maxBatch = 64
	maxWait  = 2 * time.Millisecond
)

func newWriter(c *sqliteConn, patience time.Duration) *sqliteWriter {
	return &sqliteWriter{jobs: make(chan *job, maxBatch), done: make(chan struct{}), conn: c, patience: patience}
}

// do hands f over and waits for its commit. A caller that leaves before its
// turn is forgotten; one that leaves later interrupts nobody. Who has no turn
// within the writer's patience is told that the service is busy.
func (w *sqliteWriter) do(ctx context.Context, f func(conn) error) error {
	j := &job{ctx: ctx, f: f, err: make(chan error, 1)}
	wait := time.NewTimer(w.patience)
	defer wait.Stop()
	select {
	case w.jobs <- j:
	case <-w.done:
		return errClosed
	case <-ctx.Done():
		return ctx.Err()
	case <-wait.C:
		return busy(errBusy)
	}
	select {
	case err := <-j.err:
		return err
	case <-w.done:
	case <-ctx.Done():
		if j.taken.CompareAndSwap(false, true) {
			return ctx.Err()
		}
	case <-wait.C:
		if j.taken.CompareAndSwap(false, true) {
			return busy(errBusy)
		}
	}
	return w.answer(j)
}

// answer waits for the answer to a job whose turn has come, or for the end of
// the loop, before which the answer may have come.
func (w *sqliteWriter) answer(j *job) error {
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
	errClosed = busy(errors.New("store: closed"))
	errBusy   = errors.New("store: the writer is busy")
)

// stop ends the loop after the commit under way.
func (w *sqliteWriter) stop() {
	end := &job{ctx: context.Background(), err: make(chan error, 1)}
	w.jobs <- end
	<-w.done
}

// run runs until it is stopped, and does after each commit what there is to do.
func (w *sqliteWriter) run(after func()) {
	defer close(w.done)
	last := 1
	for {
		first := <-w.jobs
		if first.f == nil {
			return
		}
		if first.taken.Load() {
			continue
		}
		batch, ended := w.commit(first, last)
		if ended {
			return
		}
		last = batch
		after()
	}
}

// commit runs first and whoever comes along, commits, and answers them all. It
// returns how many there were, and whether the end was asked for.
func (w *sqliteWriter) commit(first *job, last int) (n int, ended bool) {
	if _, err := w.conn.exec(`BEGIN IMMEDIATE`, nil); err != nil {
		w.conn.exec(`ROLLBACK`, nil) // where an earlier one failed, there is something to end
		first.err <- err
		return 1, false
	}
	w.lost = nil
	batch := make([]*job, 0, last+1)
	errs := make([]error, 0, last+1)
	take := func(j *job) {
		if ended = j.f == nil; !ended {
			batch, errs = append(batch, j), append(errs, w.attempt(j))
		}
	}
	take(first)
	var wait *time.Timer
	for len(batch) < maxBatch && !ended && w.lost == nil {
		select {
		case j := <-w.jobs:
			take(j)
			continue
		default:
		}
		if len(batch) >= last {
			break
		}
		if wait == nil {
			wait = time.NewTimer(maxWait)
			defer wait.Stop()
		}
		select {
		case j := <-w.jobs:
			take(j)
			continue
		case <-wait.C:
		}
		break
	}
	failed := w.end()
	for i, j := range batch {
		if failed != nil && errs[i] == nil {
			errs[i] = failed
		}
		j.err <- errs[i]
	}
	return len(batch), ended
}

// end commits, or rolls back what cannot be committed.
func (w *sqliteWriter) end() (failed error) {
	if failed = w.lost; failed == nil && w.guard != nil {
		failed = w.guard()
	}
	if failed == nil {
		_, failed = w.conn.exec(`COMMIT`, nil)
	}
	if failed != nil {
		w.conn.exec(`ROLLBACK`, nil) // it may have rolled back already
	}
	return failed
}

// attempt runs one closure in a savepoint of its own. Some errors, a full disk
// for one, make SQLite roll back all of the transaction: then the savepoint is
// gone, and whoever shares the transaction has lost his part.
func (w *sqliteWriter) attempt(j *job) (err error) {
	if !j.taken.CompareAndSwap(false, true) {
		return nil // nobody waits for it
	}
	if err := j.ctx.Err(); err != nil {
		return err
	}
	if _, err := w.conn.exec(`SAVEPOINT closure`, nil); err != nil {
		return err
	}
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
		if err != nil {
			_, w.lost = w.conn.exec(`ROLLBACK TO closure`, nil)
		}
		if _, end := w.conn.exec(`RELEASE closure`, nil); end != nil {
			w.lost = end
		}
	}()
	w.conn.ctx = context.WithoutCancel(j.ctx)
	return j.f(w.conn)
}
