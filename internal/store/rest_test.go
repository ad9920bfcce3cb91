package store_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/query"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/storetest"
)

// A restWorld has users with a few memories each, whose store has a clock that the test sets.
type restWorld struct {
	*store.Store
	d     storetest.Database
	users []*identity.Actor
	now   atomic.Int64
	race  *racingDB
}

func newRestWorld(t *testing.T, d storetest.Database, users, memories, cacheBytes int) *restWorld {
	w := &restWorld{d: d, race: &racingDB{counted: true}}
	w.now.Store(time.Now().UnixNano())
	w.Store = d.Open(t, store.Options{OneShot: true, CacheBytes: cacheBytes,
		Clock:     func() time.Time { return time.Unix(0, w.now.Load()) },
		Intercept: storetest.Intercept(w.race, &w.race.DB)})
	for i := range users {
		w.users = append(w.users, user(t, w.Store, fmt.Sprint("user", i)))
		for j := range memories {
			w.write(t, i, fmt.Sprint("note ", j))
		}
	}
	return w
}

func (w *restWorld) write(t *testing.T, user int, text string) {
	add(t, w.Store, w.users[user], "", fmt.Sprint(text, " of ", user))
}

// flushAfter lets time pass, and flushes what rests. It returns the rows of the log by user.
func (w *restWorld) flushAfter(t *testing.T, pass time.Duration) (rows string, err error) {
	w.now.Add(int64(pass))
	err = w.Index().FlushResting(racedContext)
	return strings.Join(w.d.Query(t, `SELECT count(*) FROM index_log GROUP BY workspace ORDER BY workspace`), " "), err
}

// checkFound checks that each user finds so many memories, and that no counter is wrong.
func (w *restWorld) checkFound(t *testing.T, want ...int) {
	t.Helper()
	var found []int
	for _, actor := range w.users {
		lines, _ := store.KeywordHits(t, w.Store, actor, query.Parse("note"), loci.MemoryFilter{})
		found = append(found, len(lines))
	}
	if !slices.Equal(found, want) {
		t.Errorf("found are %v, not %v", found, want)
	}
	checkHealthy(t, w.Store)
}

func TestRestingLogsAreFlushed(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		w := newRestWorld(t, d, 3, 2, 0)
		check := func(pass time.Duration, want string) {
			t.Helper()
			if rows, err := w.flushAfter(t, pass); rows != want || err != nil {
				t.Errorf("the log has %q rows, not %q: %v", rows, want, err)
			}
		}
		check(0, "2 2 2")
		check(59*time.Minute, "2 2 2")
		w.write(t, 1, "note")
		check(30*time.Second, "2 3 2")
		check(30*time.Second, "3") // the others rest
		w.checkFound(t, 2, 3, 2)
		check(58*time.Minute, "3")
		check(2*time.Minute, "")
		w.checkFound(t, 2, 3, 2)
		w.write(t, 0, "a later note")
		w.checkFound(t, 3, 3, 2)
	})
}

func TestRestingLogsAreFlushedEarlyUnderPressure(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		w := newRestWorld(t, d, 18, 2, 1<<20) // more than one group
		before, err := w.flushAfter(t, 0)
		after, other := w.flushAfter(t, 10*time.Second)
		if before != strings.TrimSpace(strings.Repeat("2 ", 18)) || after != "" || errors.Join(err, other) != nil {
			t.Errorf("the log has %q rows, and later %q: %v", before, after, errors.Join(err, other))
		}
		w.checkFound(t, slices.Repeat([]int{2}, 18)...)
	})
}

func TestRestingLogsAreKeptUntilTheirFlushIsWritten(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		w := newRestWorld(t, d, 2, 2, 0)
		lost := errors.New("the process was killed")
		w.race.before = func() error { return lost }
		if _, err := w.flushAfter(t, 0); err != nil {
			t.Fatal(err)
		}
		w.race.races.Store(1)
		if rows, err := w.flushAfter(t, time.Hour); rows != "2 2" || !errors.Is(err, lost) {
			t.Errorf("after a kill the log has %q rows: %v", rows, err)
		}
		w.checkFound(t, 2, 2)
		w.race.before = w.race.raiseVersions // another server flushes at the same time
		w.race.races.Store(1)
		if rows, err := w.flushAfter(t, 0); rows != "2 2" || err != nil {
			t.Errorf("beside another server the log has %q rows: %v", rows, err)
		}
		if rows, err := w.flushAfter(t, 0); rows != "" || err != nil {
			t.Errorf("the log has %q rows: %v", rows, err)
		}
		w.checkFound(t, 2, 2)
	})
}
