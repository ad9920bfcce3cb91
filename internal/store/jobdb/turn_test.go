package jobdb_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/jobdb"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
	"github.com/loci-memory/loci/internal/waittest"
)

// numbered returns subjects such as spam 0001.
func numbered(name string, n int) (list []string) {
	for i := range n {
		list = append(list, fmt.Sprintf("%s %04d", name, i))
	}
	return list
}

// of returns the subjects that begin with a name.
func of(name string, subjects []string) []string {
	return slices.DeleteFunc(slices.Clone(subjects), func(s string) bool { return !strings.HasPrefix(s, name) })
}

func TestOwnersOfJobsTakeTurns(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		db, r := d.Open(t, store.Options{}).DB(), &recorder{}
		few := map[string]int{"ann": 3, "": 2, "zoe": 1} // owner, jobs
		testenv.NoError(t, addOf("spam", jobdb.New(db), db, nil, numbered("spam", 300)...))
		for user, n := range few {
			testenv.NoError(t, addOf(user, jobdb.New(db), db, nil, numbered("of "+user, n)...))
		}
		start(t, db, r.handle)
		waittest.Until(t, func() bool { return d.Query(t, `SELECT count(*) FROM jobs`)[0] == "0" })
		got := r.subjects()
		if own := of("spam", got); !slices.Equal(own, numbered("spam", 300)) {
			t.Errorf("the jobs of one owner ran as %q", own)
		}
		for user, n := range few {
			for i, s := range numbered("of "+user, n) {
				if at := slices.Index(got, s); at < 0 || at >= (i+1)*(len(few)+1) {
					t.Errorf("job %d of %q ran as number %d", i, user, at)
				}
			}
		}
	})
}

// A job that waits for its retry blocks nobody, and takes a turn when it is due.
func TestRetriedJobsTakeTurns(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		var clock fakeClock
		db := d.Open(t, store.Options{Clock: clock.now}).DB()
		r := &recorder{fail: func(j jobdb.Job) error {
			if j.Attempts == 1 || strings.HasPrefix(j.Subject, "spam") {
				return errors.New("greylisted")
			}
			return nil
		}}
		for user, n := range map[string]int{"spam": 200, "ann": 1} {
			testenv.NoError(t, addOf(user, jobdb.New(db), db, nil, numbered(user, n)...))
		}
		start(t, db, r.handle)
		waittest.Until(t, func() bool {
			return d.Query(t, `SELECT count(*) FROM jobs WHERE error = 'greylisted'`)[0] == "201"
		})
		if at := slices.Index(r.subjects(), "ann 0000"); at > 1 {
			t.Errorf("the first attempt was number %d", at)
		}
		clock.advance(time.Minute)
		waittest.Until(t, func() bool { return len(of("ann", r.subjects())) == 2 })
		if at := slices.Index(r.subjects()[201:], "ann 0000"); at > 1 {
			t.Errorf("the second attempt was number %d of its round", at)
		}
	})
}

// A turn passes over a bounded number of owners whose jobs wait. Those behind them get their turns too.
func TestManyWaitingOwnersHideNoJob(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		db, r := d.Open(t, store.Options{}).DB(), &recorder{}
		for _, user := range []string{"a spammer", "zoe"} {
			testenv.NoError(t, addOf(user, jobdb.New(db), db, nil, numbered(user, 20)...))
		}
		d.Exec(t, fmt.Sprintf(`WITH RECURSIVE n (value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM n WHERE value < 2500)
			INSERT INTO jobs (kind, owner, subject, due, attempts, error, created_at)
			SELECT 'mail', 'waiting ' || n.value, 'later', %d, 1, 'failed', 0 FROM n`,
			time.Now().Add(30*time.Minute).UnixMicro()))
		start(t, db, r.handle)
		waittest.Until(t, func() bool {
			return d.Query(t, `SELECT count(*) FROM jobs WHERE subject <> 'later'`)[0] == "0"
		})
		got := r.subjects()
		if at := slices.Index(got, "zoe 0000"); len(got) != 40 || at > 4 {
			t.Errorf("%d runs, a job was number %d", len(got), at)
		}
	})
}
