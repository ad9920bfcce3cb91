// Package jobdb keeps background jobs in a table. A job is added in the transaction of the operation that asks for it.
// It survives the process, is retried until it succeeds, and runs on one of the servers of the database.
//
// A store has one queue. A new kind of job takes two lines. The transaction of an operation adds a job:
//
//	err := tx.AddJob("mail_invitation", invitationID)
//
// Function service.New registers the handler of the kind:
//
//	s.Store.Jobs().Handle("mail_invitation", s.mailHandler(s.invitationMail))
//
// Servers and local processes start the queue after that, and the close of the store stops it. The commands of an
// operator do not start it: their jobs run on the servers, or by RunNow. Metrics and log show each kind by its name.
//
// A job belongs to the user whose transaction added it. The owners of the due jobs of a kind take turns, so that a user
// with thousands of jobs delays one of another user by a few. The service itself is one more owner. The oldest job of
// an owner is first.
package jobdb

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/job"
	"github.com/loci-memory/loci/internal/sqldb"
)

// A Job is a row of the table.
type Job struct {
	Kind     string
	Subject  string // its object, such as an id; it must hold no secret
	AddedAt  loci.Time
	Attempts int // including this one

	rowID    int64
	leaseEnd loci.Time // identifies the attempt
}

// A Handler runs a job once. It returns ErrMore after a part of the work, and a DroppedError where no retry can help.
// After any other error the job is retried. It may run twice: after a kill, or if it takes longer than its context.
type Handler func(ctx context.Context, j Job) error

// ErrMore is the result of a job that has done a part of its work and continues at once.
var ErrMore = errors.New("jobdb: more work is due")

// A DroppedError ends a job that can never succeed.
type DroppedError struct{ Err error }

func (e *DroppedError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *DroppedError) Unwrap() error { return e.Err }

// A PauseError postpones the job and the other due jobs of its kind: a limit of the kind is reached. They are due again
// after the pause, or after an hour where that is shorter. With a reason it is a failed attempt, and else none.
type PauseError struct {
	Pause  time.Duration
	Reason error
}

func (e *PauseError) Error() string {
	if e.Reason == nil {
		return "paused"
	}
	return e.Reason.Error()
}

// Unwrap returns the reason.
func (e *PauseError) Unwrap() error { return e.Reason }

// ErrLeaseLost is the error of Finish for a job that another attempt runs or has finished.
var ErrLeaseLost = errors.New("jobdb: the lease of the job has ended")

// Times of the queue.
const (
	leaseDuration = 2 * time.Minute // after a kill the job runs again
	runTimeout    = leaseDuration - 10*time.Second
	minRetryDelay = 5 * time.Second // doubled with each attempt
	maxRetryDelay = time.Hour
	pollInterval  = 2 * time.Second // for jobs that other servers have added
	drainTimeout  = 5 * time.Second // for due jobs when the server stops
	maxErrorBytes = 500
)

// A Queue runs the jobs of a database.
type Queue struct {
	db      *sqldb.Handle
	kinds   map[string]*kindState
	runner  *job.Runner
	started bool
}

// kindState is the state of a kind in this process.
type kindState struct {
	handler Handler
	wake    func() // begins the next round of its runner
	served  string // the owner whose turn was last; its runner alone uses it
	dropped atomic.Int64
}

// New returns a queue without handlers. It can add jobs, which other processes run.
func New(db *sqldb.Handle) *Queue {
	return &Queue{db: db, kinds: map[string]*kindState{}, runner: job.New(db.Log)}
}

// Handle registers the handler of a kind, before Start. Kinds do not wait for each other.
func (q *Queue) Handle(kind string, h Handler) {
	q.kinds[kind] = &kindState{handler: h, wake: q.runner.Add(job.Job{Name: kind, Every: pollInterval,
		Drain: drainTimeout, Run: func(ctx context.Context) error { return q.runDue(ctx, kind, h) }})}
}

// Start runs jobs until Stop or the end of ctx.
func (q *Queue) Start(ctx context.Context) {
	q.started = true
	q.runner.Start(ctx)
}

// Stop finishes the jobs that are due, within a limit. Others stay in the table. It does nothing before Start.
func (q *Queue) Stop() {
	if q.started {
		q.runner.Stop()
	}
}

// Status returns the states of the kinds.
func (q *Queue) Status() []job.Status { return q.runner.Status() }

// Dropped counts the jobs that this process has given up, for each kind that it runs.
func (q *Queue) Dropped() map[string]int64 {
	counts := map[string]int64{}
	for kind, k := range q.kinds {
		counts[kind] = k.dropped.Load()
	}
	return counts
}

// Add adds a job to the transaction. It is due at once.
func (q *Queue) Add(t *sqldb.Tx, kind, subject string) error { return q.AddAt(t, kind, subject, t.Now) }

// AddAt adds a job to the transaction that is due at a time, within an hour.
func (q *Queue) AddAt(t *sqldb.Tx, kind, subject string, due loci.Time) error {
	_, err := t.Insert(`INSERT INTO jobs (kind, owner, subject, due, attempts, error, created_at)
		VALUES (?1, ?5, ?2, ?4, 0, '', ?3)`, []any{kind, subject, t.Now, due, t.User})
	q.wakeAfter(t, kind)
	return err
}

// AddAll adds a job for each of the subjects to the transaction.
func (q *Queue) AddAll(t *sqldb.Tx, kind string, subjects []loci.ID) error {
	if len(subjects) == 0 {
		return nil
	}
	_, err := t.Exec(`INSERT INTO jobs (kind, owner, subject, due, attempts, error, created_at)
		SELECT CAST(?1 AS TEXT), CAST(?4 AS TEXT), list.value, CAST(?2 AS BIGINT), 0, '', CAST(?2 AS BIGINT) FROM `+
		fmt.Sprintf(t.Dialect.StringRows, 3), kind, t.Now, sqldb.EncodeStrings(subjects), t.User)
	q.wakeAfter(t, kind)
	return err
}

// wakeAfter begins the next round of a kind after the commit, if this process runs it.
func (q *Queue) wakeAfter(t *sqldb.Tx, kind string) {
	if k := q.kinds[kind]; k != nil {
		t.OnCommit(k.wake)
	}
}
