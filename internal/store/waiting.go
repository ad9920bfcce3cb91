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
)

// insertWaiting makes memories wait. Their turn depends on the owner of the workspace, and on whether the text is long: more
// than 12,288 characters hardly fit into one turn. The condition comes behind it.
const insertWaiting = `INSERT INTO waiting (memory, workspace, owner, is_long, due, attempts, error)
	SELECT e.rid, e.workspace, COALESCE(u.rid, 0), length(e.content) > 12288, CAST(?1 AS BIGINT), 0, ''
	FROM memories e LEFT JOIN members m ON m.workspace = e.workspace AND m.role = 'owner' LEFT JOIN users u ON u.id = m.user_id `

// wait makes a memory wait for the vectors of its text. Whoever works at an
// earlier text of it has lost the row.
func (w *Workspace) wait(memory int64) error {
	_, err := w.t.exec(insertWaiting+`WHERE e.rid = ?2
		ON CONFLICT (memory) DO UPDATE SET owner = excluded.owner, is_long = excluded.is_long, due = excluded.due, attempts = 0, error = ''`, w.t.now, memory)
	w.t.waits = true
	return err
}

// A task is a memory that waits, taken by one who works at it.
type task struct {
	memory, workspace int64
	owner             int64 // of the workspace, when the memory was made to wait
	title, content    string
	attempts          int // with this one
}

// Bounds of a batch of short texts: memories and characters, in all and of one owner.
// A text that is longer than the bound is taken alone.
const (
	batchTasks = 16
	batchText  = 32 << 10
	ownerTasks = 8
	ownerText  = 16 << 10
)

// lease is how long tasks are their taker's, who is known by when it ends; a long
// one is renewed.
const lease = 2 * time.Minute

func (t *SystemTx) leased() loci.Time { return loci.At(t.t.now.Std().Add(lease)) }

// An embedTurn goes round the owners whose texts of one kind wait.
type embedTurn struct {
	long  bool
	after int64 // the owner who was served last
}

// dueTasks lists at most so many due memories of a turn: those of the owners after the
// last one and then of the others. It moves the turn on, and returns when the next
// memory is due where none is.
func (t *SystemTx) dueTasks(from embedTurn, most int) (list []int64, next embedTurn, due loci.Time, err error) {
	next, due = from, math.MaxInt64
	text := int64(0)
	for _, part := range [][2]int64{{from.after, math.MaxInt64}, {-1, from.after}} {
		for owner := part[0]; len(list) < most && text < batchText; {
			var first loci.Time
			err := t.t.c.one(`SELECT owner, due FROM waiting WHERE is_long = ?1 AND owner > ?2 ORDER BY owner, due LIMIT 1`,
				[]any{from.long, owner}, []any{&owner, &first})
			if errors.Is(err, errNoRow) || err == nil && owner > part[1] {
				break
			}
			if err != nil {
				return nil, from, 0, err
			}
			if due = min(due, first); first > t.t.now {
				continue
			}
			memories, size, err := t.dueOf(owner, from.long, min(ownerTasks, most-len(list)))
			if err != nil {
				return nil, from, 0, err
			}
			list, text, next.after = append(list, memories...), text+size, owner
		}
	}
	return list, next, due, nil
}

// dueOf lists due memories of one owner, the oldest first, and the characters of their texts.
func (t *SystemTx) dueOf(owner int64, long bool, most int) (list []int64, text int64, err error) {
	err = t.t.c.few(`SELECT w.memory, length(e.content) FROM waiting w JOIN memories e ON e.rid = w.memory
		WHERE w.is_long = ?1 AND w.owner = ?2 AND w.due <= ?3 ORDER BY w.due LIMIT ?4`, []any{long, owner, t.t.now, most}, func(r row) error {
		var memory, size int64
		err := r.Scan(&memory, &size)
		if len(list) == 0 || text+size <= ownerText {
			list, text = append(list, memory), text+size
		}
		return err
	})
	return list, text, err
}

// take takes those of the tasks that are still due, until then. Their texts are read
// once they are taken: whoever changes one from now on makes it due again.
func (t *SystemTx) take(memories []int64) (list []task, until loci.Time, err error) {
	d := t.t.s.db.dialect()
	skip := ""
	if d.locks {
		skip = " FOR UPDATE SKIP LOCKED"
	}
	until = t.leased()
	taken := map[int64]task{}
	err = t.t.c.few(`UPDATE waiting SET due = ?3, attempts = attempts + 1 WHERE memory IN (SELECT memory FROM waiting
		WHERE `+fmt.Sprintf(d.in, "memory", 1)+` AND due <= ?2`+skip+`) RETURNING memory, owner, attempts`, []any{integers(memories), t.t.now, until}, func(r row) error {
		var x task
		err := r.Scan(&x.memory, &x.owner, &x.attempts)
		taken[x.memory] = x
		return err
	})
	if err != nil {
		return nil, 0, err
	}
	err = t.t.c.few(`SELECT e.rid, e.workspace, e.title, e.content FROM memories e WHERE `+fmt.Sprintf(d.in, "e.rid", 1), []any{integers(slices.Sorted(maps.Keys(taken)))}, func(r row) error {
		var x task
		err := r.Scan(&x.memory, &x.workspace, &x.title, &x.content)
		x.owner, x.attempts = taken[x.memory].owner, taken[x.memory].attempts
		list = append(list, x)
		return err
	})
	return list, until, err
}

// renew keeps tasks that take long, but for those that are somebody else's by now, and
// returns how many are left.
func (t *SystemTx) renew(list []task, due loci.Time) (until loci.Time, left int64, err error) {
	memories := make([]int64, len(list))
	for i, x := range list {
		memories[i] = x.memory
	}
	until = t.leased()
	left, err = t.t.exec(`UPDATE waiting SET due = ?3 WHERE due = ?2 AND `+fmt.Sprintf(t.t.s.db.dialect().in, "memory", 1), integers(memories), due, until)
	return until, left, err
}

// putBack ends a task without a result: with a reason it failed, and is tried again
// later and later; without one it was only interrupted.
func (t *SystemTx) putBack(x task, due loci.Time, reason string) error {
	next, tried := t.t.now, x.attempts-1
	if reason != "" {
		pause := min(time.Hour, time.Second<<min(x.attempts, 12))
		next, tried = loci.At(t.t.now.Std().Add(pause/2+rand.N(pause))), x.attempts
	}
	_, err := t.t.exec(`UPDATE waiting SET due = ?3, attempts = ?4, error = ?5 WHERE memory = ?1 AND due = ?2`, x.memory, due, next, tried, reason)
	return err
}

// freeTasks makes due what a process had taken that is no more. One that lives
// and works at it has worked in vain.
func (t *SystemTx) freeTasks() error {
	_, err := t.t.exec(`UPDATE waiting SET due = ?1 WHERE error = '' AND due > ?1`, t.t.now)
	return err
}

// A Backlog tells how many memories wait for their vectors, of them how many
// because it failed, and why it failed last.
type Backlog struct {
	Pending, Failed int64
	Error           string
}

// Backlog tells what waits in the whole store.
func (t *SystemTx) Backlog() (b Backlog, err error) {
	err = t.t.c.one(`SELECT count(*), count(CASE WHEN error <> '' THEN 1 END), COALESCE(max(error), '') FROM waiting`, nil, []any{&b.Pending, &b.Failed, &b.Error})
	return b, err
}
