package embeddb

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
)

// enqueueSQL adds memories to the queue; a condition follows. Turns depend on the owner of the workspace and on the
// length of the text. More than 12,288 characters rarely fit into one turn.
const enqueueSQL = `INSERT INTO embedding_queue (memory, workspace, owner, is_long, due, attempts, error, failed_at)
	SELECT e.row_id, e.workspace, COALESCE(u.row_id, 0), length(e.content) > 12288, CAST(?1 AS BIGINT), 0, '', 0
	FROM memories e LEFT JOIN members m ON m.workspace = e.workspace AND m.role = 'owner'
	LEFT JOIN users u ON u.id = m.user_id `

// Enqueue adds a memory to the queue, and wakes the worker after the commit. A worker that embeds an earlier text of
// the memory loses its lease.
func (w *Worker) Enqueue(t *sqldb.Tx, memory int64) error {
	_, err := t.Exec(enqueueSQL+`WHERE e.row_id = ?2
		ON CONFLICT (memory) DO UPDATE SET owner = excluded.owner, is_long = excluded.is_long, due = excluded.due,
		attempts = 0, error = ''`, t.Now, memory)
	t.OnCommit(w.notifyWritten)
	return err
}

// A textJob is a memory whose text this process embeds, under a lease.
type textJob struct {
	memory, workspace int64
	owner             int64 // of the workspace, when the memory was enqueued
	title, content    string
	attempts          int // including this one
}

// Limits of a batch of short texts: memories and characters, in total and of one owner. A longer text is a batch of its
// own.
const (
	maxBatchJobs  = 16
	maxBatchChars = 32 << 10
	maxOwnerJobs  = 8
	maxOwnerChars = 16 << 10
)

// leaseDuration is how long a job belongs to its process, which renews it for long texts. The end of the lease
// identifies the process.
const leaseDuration = 2 * time.Minute

// maxPause bounds the mean pause before a retry.
const maxPause = time.Hour

func leaseEnd(t *sqldb.Tx) loci.Time { return loci.TimeOf(t.Now.Std().Add(leaseDuration)) }

// A roundRobin serves the owners of queued texts in turns, separately for short and long texts.
type roundRobin struct {
	long  bool
	after int64 // the owner that was served last
}

// dueJobs lists due memories, from the owners after the last served one and then from the others. It returns the next
// turn, and when the first memory is due.
func dueJobs(t *sqldb.Tx, from roundRobin, maximum int) (list []int64, next roundRobin, due loci.Time, err error) {
	next, due = from, math.MaxInt64
	text := int64(0)
	for _, part := range [][2]int64{{from.after, math.MaxInt64}, {-1, from.after}} {
		for owner := part[0]; len(list) < maximum && text < maxBatchChars; {
			var first loci.Time
			err := t.QueryRow(
				`SELECT owner, due FROM embedding_queue WHERE is_long = ?1 AND owner > ?2 ORDER BY owner, due LIMIT 1`,
				[]any{from.long, owner}, []any{&owner, &first})
			if errors.Is(err, sqldb.ErrNoRows) || err == nil && owner > part[1] {
				break
			}
			if err != nil {
				return nil, from, 0, err
			}
			if due = min(due, first); first > t.Now {
				continue
			}
			memories, size, err := dueJobsOf(t, owner, from.long, min(maxOwnerJobs, maximum-len(list)))
			if err != nil {
				return nil, from, 0, err
			}
			list, text, next.after = append(list, memories...), text+size, owner
		}
	}
	return list, next, due, nil
}

// dueJobsOf lists due memories of one owner, the oldest first, and the characters of their texts.
func dueJobsOf(t *sqldb.Tx, owner int64, long bool, maximum int) (list []int64, text int64, err error) {
	err = t.QueryFew(
		`SELECT w.memory, length(e.content) FROM embedding_queue w JOIN memories e ON e.row_id = w.memory
		WHERE w.is_long = ?1 AND w.owner = ?2 AND w.due <= ?3 ORDER BY w.due LIMIT ?4`,
		[]any{long, owner, t.Now, maximum}, func(r sqldb.Row) error {
			var memory, size int64
			err := r.Scan(&memory, &size)
			if len(list) == 0 || text+size <= maxOwnerChars {
				list, text = append(list, memory), text+size
			}
			return err
		})
	return list, text, err
}

// leaseJobs leases the jobs that are still due, until the returned time. It reads their texts afterwards: a later
// change makes the job due again.
func leaseJobs(t *sqldb.Tx, memories []int64) (list []textJob, until loci.Time, err error) {
	d := t.Dialect
	skip := ""
	if d.Postgres {
		skip = " FOR UPDATE SKIP LOCKED"
	}
	until = leaseEnd(t)
	taken := map[int64]textJob{}
	err = t.QueryFew(
		`UPDATE embedding_queue SET due = ?3, attempts = attempts + 1 WHERE memory IN (SELECT memory
			FROM embedding_queue
		WHERE `+fmt.Sprintf(d.InList, "memory", 1)+` AND due <= ?2`+skip+`) RETURNING memory, owner, attempts`,
		[]any{sqldb.EncodeInts(memories), t.Now, until}, func(r sqldb.Row) error {
			var x textJob
			err := r.Scan(&x.memory, &x.owner, &x.attempts)
			taken[x.memory] = x
			return err
		})
	if err != nil {
		return nil, 0, err
	}
	err = t.QueryFew(`SELECT e.row_id, e.workspace, e.title, e.content FROM memories e WHERE `+
		fmt.Sprintf(d.InList, "e.row_id", 1), []any{sqldb.EncodeInts(slices.Sorted(maps.Keys(taken)))},
		func(r sqldb.Row) error {
			var x textJob
			err := r.Scan(&x.memory, &x.workspace, &x.title, &x.content)
			x.owner, x.attempts = taken[x.memory].owner, taken[x.memory].attempts
			list = append(list, x)
			return err
		})
	return list, until, err
}

// extendLeases extends leases, and returns how many of them the process still held.
func extendLeases(t *sqldb.Tx, list []textJob, leaseUntil loci.Time) (until loci.Time, left int64, err error) {
	memories := make([]int64, len(list))
	for i, x := range list {
		memories[i] = x.memory
	}
	until = leaseEnd(t)
	left, err = t.Exec(`UPDATE embedding_queue SET due = ?3 WHERE due = ?2 AND `+
		fmt.Sprintf(t.Dialect.InList, "memory", 1), sqldb.EncodeInts(memories), leaseUntil, until)
	return until, left, err
}

// requeue ends the lease of a job without a result. A job with a reason has failed, and is due again after an
// exponential backoff. A job without one was interrupted. It is due at once, and keeps the error of an earlier attempt.
func requeue(t *sqldb.Tx, x textJob, leaseUntil loci.Time, reason string) (err error) {
	if reason == "" {
		_, err = t.Exec(`UPDATE embedding_queue SET due = ?3, attempts = ?4 WHERE memory = ?1 AND due = ?2`, x.memory,
			leaseUntil, t.Now, x.attempts-1)
		return err
	}
	pause := min(maxPause, time.Second<<min(x.attempts, 12))
	_, err = t.Exec(`UPDATE embedding_queue SET due = ?3, error = ?4, failed_at = ?5 WHERE memory = ?1 AND due = ?2`,
		x.memory, leaseUntil, loci.TimeOf(t.Now.Std().Add(pause/2+rand.N(pause))), reason, t.Now)
	return err
}

// releaseLeases makes all leased jobs due, as their process may have crashed. On PostgreSQL they may be those of
// another server, whose work would be lost: there they are due when the leases end. A time beyond every lease and pause
// comes from a clock that was ahead, on both databases.
func releaseLeases(t *sqldb.Tx) error {
	ahead := loci.TimeOf(t.Now.Std().Add(2 * maxPause))
	_, err := t.Exec(`UPDATE embedding_queue SET due = ?1 WHERE due > ?2 OR error = '' AND due > ?1 AND NOT ?3`,
		t.Now, ahead, t.Dialect.Postgres)
	return err
}

// QueueStats counts the memories without current vectors.
type QueueStats struct {
	Pending   int64
	Failed    int64  // of these, memories whose last attempt failed
	LastError string // of the latest failure
}

// ReadQueueStats counts the whole queue.
func ReadQueueStats(t *sqldb.Tx) (b QueueStats, err error) {
	err = t.QueryRow(
		`SELECT count(*), count(CASE WHEN error <> '' THEN 1 END), COALESCE((SELECT error FROM embedding_queue
			WHERE error <> '' ORDER BY failed_at DESC LIMIT 1), '') FROM embedding_queue`, nil,
		[]any{&b.Pending, &b.Failed, &b.LastError})
	return b, err
}
