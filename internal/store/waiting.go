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

// wait makes a memory wait for the vectors of its text. Whoever works at an
// earlier text of it has lost the row.
func (w *Workspace) wait(memory int64) error {
	_, err := w.t.exec(`INSERT INTO waiting (memory, workspace, due, attempts, error) VALUES (?1, ?2, ?3, 0, '')
		ON CONFLICT (memory) DO UPDATE SET due = excluded.due, attempts = 0, error = ''`, memory, w.rid, w.t.now)
	w.t.waits = true
	return err
}

// A task is a memory that waits, taken by one who works at it.
type task struct {
	memory, workspace int64
	title, content    string
	attempts          int // with this one
}

// Bounds of what is taken at once, in all and of one workspace, and of the characters
// of its texts, unless one alone is longer: whoever writes much keeps nobody else
// waiting.
const (
	maxTasks  = 16
	fairTasks = 8
	maxText   = 32 << 10
)

// lease is how long tasks are their taker's, who is known by when it ends; a long
// one is renewed.
const lease = 2 * time.Minute

func (t *SystemTx) leased() loci.Time { return loci.At(t.t.now.Std().Add(lease)) }

// dueTasks lists memories that are due, of the workspaces after one and then of the
// others in turn, and tells when the next one is due where none is.
func (t *SystemTx) dueTasks(after int64) (list []int64, last int64, next loci.Time, err error) {
	next = math.MaxInt64
	text, full := int64(0), false
	for _, part := range [][2]int64{{after, math.MaxInt64}, {-1, after}} {
		for w := part[0]; len(list) < maxTasks && !full; {
			var due loci.Time
			err := t.t.c.one(`SELECT workspace, due FROM waiting WHERE workspace > ?1 ORDER BY workspace, due LIMIT 1`, []any{w}, []any{&w, &due})
			if errors.Is(err, errNoRow) || err == nil && w > part[1] {
				break
			}
			if err != nil {
				return nil, 0, 0, err
			}
			if next = min(next, due); due > t.t.now {
				continue
			}
			err = t.t.c.few(`SELECT w.memory, length(e.content) FROM waiting w JOIN memories e ON e.rid = w.memory WHERE w.workspace = ?1 AND w.due <= ?2 ORDER BY w.due LIMIT ?3`,
				[]any{w, t.t.now, min(fairTasks, maxTasks-len(list))}, func(r row) error {
					var memory, size int64
					err := r.Scan(&memory, &size)
					if full = full || len(list) > 0 && text+size > maxText; !full {
						list, text, last = append(list, memory), text+size, w
					}
					return err
				})
			if err != nil {
				return nil, 0, 0, err
			}
		}
	}
	return list, last, next, nil
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
	taken := map[int64]int{}
	err = t.t.c.few(`UPDATE waiting SET due = ?3, attempts = attempts + 1 WHERE memory IN (SELECT memory FROM waiting
		WHERE `+fmt.Sprintf(d.in, "memory", 1)+` AND due <= ?2`+skip+`) RETURNING memory, attempts`, []any{integers(memories), t.t.now, until}, func(r row) error {
		var memory int64
		var attempts int
		err := r.Scan(&memory, &attempts)
		taken[memory] = attempts
		return err
	})
	if err != nil {
		return nil, 0, err
	}
	err = t.t.c.few(`SELECT e.rid, e.workspace, e.title, e.content FROM memories e WHERE `+fmt.Sprintf(d.in, "e.rid", 1), []any{integers(slices.Sorted(maps.Keys(taken)))}, func(r row) error {
		var x task
		err := r.Scan(&x.memory, &x.workspace, &x.title, &x.content)
		x.attempts = taken[x.memory]
		list = append(list, x)
		return err
	})
	return list, until, err
}

// renew keeps tasks that take long, but for those that are somebody else's by now.
func (t *SystemTx) renew(list []task, due loci.Time) (until loci.Time, err error) {
	memories := make([]int64, len(list))
	for i, x := range list {
		memories[i] = x.memory
	}
	until = t.leased()
	_, err = t.t.exec(`UPDATE waiting SET due = ?3 WHERE due = ?2 AND `+fmt.Sprintf(t.t.s.db.dialect().in, "memory", 1), integers(memories), due, until)
	return until, err
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
