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
// operator do not start it: their jobs run on the servers. Metrics and log show each kind by its name.
package jobdb

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
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
	wake    func() // begins the next round of its runner
	dropped atomic.Int64
}

// New returns a queue without handlers. It can add jobs, which other processes run.
func New(db *sqldb.Handle) *Queue {
	return &Queue{db: db, kinds: map[string]*kindState{}, runner: job.New(db.Log)}
}

// Handle registers the handler of a kind, before Start. Kinds do not wait for each other.
func (q *Queue) Handle(kind string, h Handler) {
	q.kinds[kind] = &kindState{wake: q.runner.Add(job.Job{Name: kind, Every: pollInterval, Drain: drainTimeout,
		Run: func(ctx context.Context) error { return q.runDue(ctx, kind, h) }})}
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
func (q *Queue) Add(t *sqldb.Tx, kind, subject string) error {
	_, err := t.Insert(`INSERT INTO jobs (kind, subject, due, attempts, error, created_at)
		VALUES (?1, ?2, ?3, 0, '', ?3)`, []any{kind, subject, t.Now})
	if k := q.kinds[kind]; k != nil {
		t.OnCommit(k.wake)
	}
	return err
}

// runDue runs the jobs of a kind that are due. The result is the pause until the next one, or an error of the database.
func (q *Queue) runDue(ctx context.Context, kind string, h Handler) error {
	for ctx.Err() == nil {
		j, err := q.lease(ctx, kind)
		if errors.Is(err, sqldb.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := q.run(ctx, j, h); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// lease takes the oldest due job of a kind, or returns ErrNoRows. A kind without due jobs costs no write. The
// scalar subquery runs once: PostgreSQL may run one after IN for each row, and lease them all.
//
// A job beyond the longest pause is due too: its time comes from a clock that was ahead. The condition repeats the
// kind, so that both parts use the index.
func (q *Queue) lease(ctx context.Context, kind string) (Job, error) {
	found, err := sqldb.SystemRead(ctx, q.db, "look for a due job", func(t *sqldb.Tx) (due loci.Time, err error) {
		return due, t.QueryRow(`SELECT due FROM jobs
			WHERE kind = ?1 AND due <= ?2 OR kind = ?1 AND due > ?3 LIMIT 1`,
			[]any{kind, t.Now, maxDue(t)}, []any{&due})
	})
	if err != nil {
		return Job{}, err
	}
	return sqldb.System(ctx, q.db, "lease a job", func(t *sqldb.Tx) (Job, error) {
		skip := ""
		if t.Dialect.Postgres {
			skip = " FOR UPDATE SKIP LOCKED"
		}
		first, last := loci.Time(0), t.Now
		if found > t.Now {
			first, last = maxDue(t), found
		}
		j := Job{Kind: kind, leaseEnd: loci.TimeOf(t.Now.Std().Add(leaseDuration))}
		err := t.QueryRow(`UPDATE jobs SET due = ?4, attempts = attempts + 1 WHERE row_id = (SELECT row_id FROM jobs
			WHERE kind = ?1 AND due BETWEEN ?2 AND ?3 ORDER BY due, row_id LIMIT 1`+skip+`)
			RETURNING row_id, subject, attempts, created_at`, []any{kind, first, last, j.leaseEnd},
			[]any{&j.rowID, &j.Subject, &j.Attempts, &j.AddedAt})
		return j, err
	})
}

// maxDue returns the latest time that a clock like this one gives to a job.
func maxDue(t *sqldb.Tx) loci.Time {
	return loci.TimeOf(t.Now.Std().Add(maxRetryDelay + leaseDuration))
}

// run runs a leased job and saves the result. A job whose server was killed in between runs again.
func (q *Queue) run(ctx context.Context, j Job, h Handler) error {
	limited, cancel := context.WithTimeout(ctx, runTimeout)
	failed := runHandler(limited, j, h)
	cancel()
	_, dropped := errors.AsType[*DroppedError](failed)
	if dropped {
		q.kinds[j.Kind].dropped.Add(1)
	}
	if failed != nil && !errors.Is(failed, ErrMore) && ctx.Err() == nil {
		q.db.Log.Warn("job", "kind", j.Kind, "subject", j.Subject, "attempts", j.Attempts, "dropped", dropped,
			"err", failed)
	}
	_, err := sqldb.System(context.WithoutCancel(ctx), q.db, "save the result of a job",
		func(t *sqldb.Tx) (loci.Empty, error) {
			due, text := t.Now, ""
			switch {
			case failed == nil || dropped:
				_, err := t.Exec(`DELETE FROM jobs WHERE row_id = ?1 AND due = ?2`, j.rowID, j.leaseEnd)
				return loci.Empty{}, err
			case !errors.Is(failed, ErrMore):
				text = strings.ToValidUTF8(failed.Error()[:min(len(failed.Error()), maxErrorBytes)], "")
				due = loci.TimeOf(t.Now.Std().Add(retryDelay(j.Attempts)))
			}
			_, err := t.Exec(
				`UPDATE jobs SET due = ?3, error = ?4, attempts = CASE WHEN ?4 = '' THEN 0 ELSE attempts END
				WHERE row_id = ?1 AND due = ?2`, j.rowID, j.leaseEnd, due, text)
			return loci.Empty{}, err
		})
	return err
}

// runHandler turns a panic of a handler into an error.
func runHandler(ctx context.Context, j Job, h Handler) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("jobdb: %s panicked: %T", j.Kind, p)
		}
	}()
	return h(ctx, j)
}

func retryDelay(attempts int) time.Duration {
	d := float64(minRetryDelay) * math.Pow(2, float64(attempts-1))
	return time.Duration(min(d, float64(maxRetryDelay)))
}

// Stats count the jobs of a kind.
type Stats struct {
	Kind     string
	Waiting  int64     // including failed ones
	Failed   int64     // that wait for a retry
	OldestAt loci.Time // when the oldest was added
}

// ReadStats returns the figures of each kind that has jobs.
func ReadStats(t *sqldb.Tx) (list []Stats, err error) {
	err = t.Query(`SELECT kind, count(*), CAST(SUM(CASE WHEN error = '' THEN 0 ELSE 1 END) AS BIGINT), MIN(created_at)
		FROM jobs GROUP BY kind ORDER BY kind`, nil, func(r sqldb.Row) error {
		var s Stats
		err := r.Scan(&s.Kind, &s.Waiting, &s.Failed, &s.OldestAt)
		list = append(list, s)
		return err
	})
	return list, err
}
