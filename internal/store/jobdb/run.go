package jobdb

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
)

// Finish ends a leased job in the transaction with its effect, so that the effect happens once, although a job may run
// twice. It returns ErrLeaseLost where another attempt has the job: the transaction must not commit.
func (q *Queue) Finish(t *sqldb.Tx, j Job) error {
	n, err := t.Exec(`DELETE FROM jobs WHERE row_id = ?1 AND due = ?2`, j.rowID, j.leaseEnd)
	if err == nil && n == 0 {
		err = ErrLeaseLost
	}
	return err
}

// runDue runs the jobs of a kind that are due. The result is an error of the database.
func (q *Queue) runDue(ctx context.Context, kind string, h Handler) error {
	for ctx.Err() == nil {
		j, err := q.lease(ctx, kind)
		if errors.Is(err, sqldb.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		if _, err := q.run(ctx, j, h); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// RunNow runs all jobs of a kind in this process, without a started queue. Jobs that wait for a retry, or that another
// process runs, run too: the handler must permit that. It returns the failure of a job. That one and the rest stay in
// the table. Without a handler of the kind no job runs.
func (q *Queue) RunNow(ctx context.Context, kind string) error {
	k := q.kinds[kind]
	if k == nil {
		return nil
	}
	last, err := sqldb.SystemRead(ctx, q.db, "look for the newest job", func(t *sqldb.Tx) (last int64, err error) {
		return last, t.QueryRow(`SELECT COALESCE(max(row_id), 0) FROM jobs WHERE kind = ?1`, []any{kind}, []any{&last})
	})
	for err == nil {
		var left int64
		left, err = sqldb.System(ctx, q.db, "make jobs due", func(t *sqldb.Tx) (int64, error) {
			return t.Exec(`UPDATE jobs SET due = ?2 WHERE kind = ?1 AND row_id <= ?3`, kind, t.Now, last)
		})
		if err != nil || left == 0 {
			return err
		}
		if err = q.runDueOnce(ctx, kind, k.handler); err == nil {
			select { // another process may have leased the rest
			case <-ctx.Done():
				err = ctx.Err()
			case <-time.After(20 * time.Millisecond):
			}
		}
	}
	return err
}

// runDueOnce runs the jobs of a kind that are due, until one fails.
func (q *Queue) runDueOnce(ctx context.Context, kind string, h Handler) error {
	for ctx.Err() == nil {
		j, err := q.lease(ctx, kind)
		if errors.Is(err, sqldb.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		failed, err := q.run(ctx, j, h)
		if err == nil && isFailure(failed) {
			err = failed
		}
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}

// maxDue returns the latest time that a clock like this one gives to a job.
func maxDue(t *sqldb.Tx) loci.Time {
	return loci.TimeOf(t.Now.Std().Add(maxRetryDelay + leaseDuration))
}

// run runs a leased job and saves the result, which it returns. A job whose server was killed in between runs again.
func (q *Queue) run(ctx context.Context, j Job, h Handler) (failed, err error) {
	limited, cancel := context.WithTimeout(ctx, runTimeout)
	failed = runHandler(limited, j, h)
	cancel()
	_, dropped := errors.AsType[*DroppedError](failed)
	if dropped {
		q.kinds[j.Kind].dropped.Add(1)
	}
	if isFailure(failed) && ctx.Err() == nil {
		q.db.Log.Warn("job", "kind", j.Kind, "subject", j.Subject, "attempts", j.Attempts, "dropped", dropped,
			"err", failed)
	}
	_, err = sqldb.System(context.WithoutCancel(ctx), q.db, "save the result of a job",
		func(t *sqldb.Tx) (loci.Empty, error) {
			if failed == nil || dropped {
				if err := q.Finish(t, j); !errors.Is(err, ErrLeaseLost) {
					return loci.Empty{}, err
				}
				return loci.Empty{}, nil
			}
			return loci.Empty{}, q.saveResult(t, j, failed)
		})
	return failed, err
}

// isFailure reports whether an attempt failed, and was not only interrupted on purpose.
func isFailure(result error) bool {
	pause, paused := errors.AsType[*PauseError](result)
	return result != nil && !errors.Is(result, ErrMore) && !errors.Is(result, ErrLeaseLost) &&
		!(paused && pause.Reason == nil)
}

// saveResult writes when the job is due again, and why it failed.
func (q *Queue) saveResult(t *sqldb.Tx, j Job, result error) error {
	due, text := t.Now, ""
	if isFailure(result) {
		text = strings.ToValidUTF8(result.Error()[:min(len(result.Error()), maxErrorBytes)], "")
		due = loci.TimeOf(t.Now.Std().Add(retryDelay(j.Attempts)))
	}
	if pause, paused := errors.AsType[*PauseError](result); paused {
		due = max(due, loci.TimeOf(t.Now.Std().Add(min(pause.Pause, maxRetryDelay))))
		if err := postpone(t, j.Kind, due); err != nil {
			return err
		}
	}
	_, err := t.Exec(`UPDATE jobs SET due = ?3, error = ?4, attempts = CASE WHEN ?4 = '' THEN 0 ELSE attempts END
		WHERE row_id = ?1 AND due = ?2`, j.rowID, j.leaseEnd, due, text)
	return err
}

// postpone moves the due jobs of a kind. Those that other servers have locked are left to them.
func postpone(t *sqldb.Tx, kind string, due loci.Time) error {
	skip := ""
	if t.Dialect.Postgres {
		skip = " FOR UPDATE SKIP LOCKED"
	}
	_, err := t.Exec(`UPDATE jobs SET due = ?3 WHERE row_id IN (SELECT row_id FROM jobs
		WHERE kind = ?1 AND due <= ?2`+skip+`)`, kind, t.Now, due)
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
