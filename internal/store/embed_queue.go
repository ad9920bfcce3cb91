package store

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

// enqueueSQL makes memories wait. Their turn depends on the owner of the workspace, and on whether the text is long:
// more
// than 12,288 characters hardly fit into one turn. The condition comes behind it.
const enqueueSQL = `INSERT INTO embedding_queue (memory, workspace, owner, is_long, due, attempts, error)
	SELECT e.row_id, e.workspace, COALESCE(u.row_id, 0), length(e.content) > 12288, CAST(?1 AS BIGINT), 0, ''
	FROM memories e LEFT JOIN members m ON m.workspace = e.workspace AND m.role = 'owner'
	LEFT JOIN users u ON u.id = m.user_id `

// enqueueEmbedding adds a memory to the embedding queue. A worker that embeds
// an earlier text of the memory loses its lease.
func (w *Workspace) enqueueEmbedding(memory int64) error {
	_, err := w.t.exec(enqueueSQL+`WHERE e.row_id = ?2
		ON CONFLICT (memory) DO UPDATE SET owner = excluded.owner, is_long = excluded.is_long, due = excluded.due,
		attempts = 0, error = ''`, w.t.conn.Now, memory)
	w.t.conn.OnCommit(w.t.store.embedder.notifyWritten)
	return err
}

// A embedJob is a memory that waits, taken by one who works at it.
type embedJob struct {
	memory, workspace int64
	owner             int64 // of the workspace, when the memory was made to wait
	title, content    string
	attempts          int // with this one
}

// Bounds of a batch of short texts: memories and characters, in all and of one owner.
// A text that is longer than the bound is taken alone.
const (
	maxBatchJobs  = 16
	maxBatchChars = 32 << 10
	maxOwnerJobs  = 8
	maxOwnerChars = 16 << 10
)

// leaseDuration is how long tasks are their taker's, who is known by when it ends; a long
// one is renewed.
const leaseDuration = 2 * time.Minute

func (t *SystemTx) leaseEnd() loci.Time { return loci.TimeOf(t.t.conn.Now.Std().Add(leaseDuration)) }

// An roundRobin goes round the owners whose texts of one kind wait.
type roundRobin struct {
	long  bool
	after int64 // the owner who was served last
}

// dueJobs lists at most so many due memories of a turn: those of the owners after the
// last one and then of the others. It moves the turn on, and returns when the next
// memory is due where none is.
func (t *SystemTx) dueJobs(from roundRobin, maximum int) (list []int64, next roundRobin, due loci.Time, err error) {
	next, due = from, math.MaxInt64
	text := int64(0)
	for _, part := range [][2]int64{{from.after, math.MaxInt64}, {-1, from.after}} {
		for owner := part[0]; len(list) < maximum && text < maxBatchChars; {
			var first loci.Time
			err := t.t.conn.QueryRow(
				`SELECT owner, due FROM embedding_queue WHERE is_long = ?1 AND owner > ?2 ORDER BY owner, due LIMIT 1`,
				[]any{from.long, owner}, []any{&owner, &first})
			if errors.Is(err, sqldb.ErrNoRows) || err == nil && owner > part[1] {
				break
			}
			if err != nil {
				return nil, from, 0, err
			}
			if due = min(due, first); first > t.t.conn.Now {
				continue
			}
			memories, size, err := t.dueJobsOf(owner, from.long, min(maxOwnerJobs, maximum-len(list)))
			if err != nil {
				return nil, from, 0, err
			}
			list, text, next.after = append(list, memories...), text+size, owner
		}
	}
	return list, next, due, nil
}

// dueJobsOf lists due memories of one owner, the oldest first, and the characters of their texts.
func (t *SystemTx) dueJobsOf(owner int64, long bool, maximum int) (list []int64, text int64, err error) {
	err = t.t.conn.QueryFew(
		`SELECT w.memory, length(e.content) FROM embedding_queue w JOIN memories e ON e.row_id = w.memory
		WHERE w.is_long = ?1 AND w.owner = ?2 AND w.due <= ?3 ORDER BY w.due LIMIT ?4`,
		[]any{long, owner, t.t.conn.Now, maximum}, func(r sqldb.Row) error {
			var memory, size int64
			err := r.Scan(&memory, &size)
			if len(list) == 0 || text+size <= maxOwnerChars {
				list, text = append(list, memory), text+size
			}
			return err
		})
	return list, text, err
}

// leaseJobs leases the jobs that are still due, until the returned time. Their
// texts are read after that: a later change makes the job due again.
func (t *SystemTx) leaseJobs(memories []int64) (list []embedJob, until loci.Time, err error) {
	d := t.t.conn.Dialect
	skip := ""
	if d.RowLocks {
		skip = " FOR UPDATE SKIP LOCKED"
	}
	until = t.leaseEnd()
	taken := map[int64]embedJob{}
	err = t.t.conn.QueryFew(
		`UPDATE embedding_queue SET due = ?3, attempts = attempts + 1 WHERE memory IN (SELECT memory
			FROM embedding_queue
		WHERE `+fmt.Sprintf(d.InList, "memory", 1)+` AND due <= ?2`+skip+`) RETURNING memory, owner, attempts`,
		[]any{sqldb.EncodeInts(memories), t.t.conn.Now, until}, func(r sqldb.Row) error {
			var x embedJob
			err := r.Scan(&x.memory, &x.owner, &x.attempts)
			taken[x.memory] = x
			return err
		})
	if err != nil {
		return nil, 0, err
	}
	err = t.t.conn.QueryFew(`SELECT e.row_id, e.workspace, e.title, e.content FROM memories e WHERE `+
		fmt.Sprintf(d.InList, "e.row_id", 1), []any{sqldb.EncodeInts(slices.Sorted(maps.Keys(taken)))},
		func(r sqldb.Row) error {
			var x embedJob
			err := r.Scan(&x.memory, &x.workspace, &x.title, &x.content)
			x.owner, x.attempts = taken[x.memory].owner, taken[x.memory].attempts
			list = append(list, x)
			return err
		})
	return list, until, err
}

// renewLeases keeps tasks that take long, but for those that are somebody else's by now, and
// returns how many are left.
func (t *SystemTx) renewLeases(list []embedJob, due loci.Time) (until loci.Time, left int64, err error) {
	memories := make([]int64, len(list))
	for i, x := range list {
		memories[i] = x.memory
	}
	until = t.leaseEnd()
	left, err = t.t.exec(`UPDATE embedding_queue SET due = ?3 WHERE due = ?2 AND `+
		fmt.Sprintf(t.t.conn.Dialect.InList, "memory", 1), sqldb.EncodeInts(memories), due, until)
	return until, left, err
}

// requeue ends a task without a result: with a reason it failed, and is tried again
// later and later; without one it was only interrupted.
func (t *SystemTx) requeue(x embedJob, due loci.Time, reason string) error {
	next, tried := t.t.conn.Now, x.attempts-1
	if reason != "" {
		pause := min(time.Hour, time.Second<<min(x.attempts, 12))
		next, tried = loci.TimeOf(t.t.conn.Now.Std().Add(pause/2+rand.N(pause))), x.attempts
	}
	_, err := t.t.exec(`UPDATE embedding_queue SET due = ?3, attempts = ?4, error = ?5 WHERE memory = ?1 AND due = ?2`,
		x.memory, due, next, tried, reason)
	return err
}

// releaseLeases makes due what a process had taken that is no more. One that lives
// and works at it has worked in vain.
func (t *SystemTx) releaseLeases() error {
	_, err := t.t.exec(`UPDATE embedding_queue SET due = ?1 WHERE error = '' AND due > ?1`, t.t.conn.Now)
	return err
}

// A QueueStats tells how many memories wait for their vectors, of them how many
// because it failed, and why it failed last.
type QueueStats struct {
	Pending, Failed int64
	LastError       string
}

// EmbeddingQueue tells what waits in the whole store.
func (t *SystemTx) EmbeddingQueue() (b QueueStats, err error) {
	err = t.t.conn.QueryRow(
		`SELECT count(*), count(CASE WHEN error <> '' THEN 1 END), COALESCE(max(error), '') FROM embedding_queue`, nil,
		[]any{&b.Pending, &b.Failed, &b.LastError})
	return b, err
}
