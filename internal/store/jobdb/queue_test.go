package jobdb_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/logtest"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/jobdb"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
	"github.com/loci-memory/loci/internal/waittest"
)

// A fakeClock stops until it is advanced.
type fakeClock struct{ ahead atomic.Int64 }

// began is the first time of every fakeClock.
var began = time.Now()

func (c *fakeClock) now() time.Time          { return began.Add(time.Duration(c.ahead.Load())) }
func (c *fakeClock) advance(d time.Duration) { c.ahead.Add(int64(d)) }

// A recorder is a handler that records the subjects of its jobs.
type recorder struct {
	mu   sync.Mutex
	seen []string
	fail func(j jobdb.Job) error
}

func (r *recorder) handle(_ context.Context, j jobdb.Job) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen = append(r.seen, j.Subject)
	if r.fail != nil {
		return r.fail(j)
	}
	return nil
}

func (r *recorder) subjects() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.seen)
}

// add adds jobs of the kind "mail" in one transaction of the service.
func add(q *jobdb.Queue, db *sqldb.Handle, fail error, subjects ...string) error {
	return addOf("", q, db, fail, subjects...)
}

// addOf adds jobs of the kind "mail" in one transaction of a user.
func addOf(user string, q *jobdb.Queue, db *sqldb.Handle, fail error, subjects ...string) error {
	return db.WriteTx(context.Background(), user, func(t *sqldb.Tx) error {
		for _, s := range subjects {
			if err := q.Add(t, "mail", s); err != nil {
				return err
			}
		}
		return fail
	})
}

// runNext adds a job, and returns when it has run: every job that was due before has run, too.
func (r *recorder) runNext(t *testing.T, q *jobdb.Queue, db *sqldb.Handle) {
	t.Helper()
	const subject = "next"
	testenv.NoError(t, add(q, db, nil, subject))
	waittest.Until(t, func() bool { return slices.Contains(r.subjects(), subject) })
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen = slices.DeleteFunc(r.seen, func(s string) bool { return s == subject })
}

// start starts a queue of its own on a database, with a handler of the kind "mail".
func start(t *testing.T, db *sqldb.Handle, h jobdb.Handler) *jobdb.Queue {
	t.Helper()
	q := jobdb.New(db)
	q.Handle("mail", h)
	q.Start(context.WithoutCancel(t.Context()))
	t.Cleanup(q.Stop)
	return q
}

func TestQueueRunsJobsOfCommits(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		db, r := d.Open(t, store.Options{}).DB(), &recorder{}
		q := start(t, db, r.handle)
		failed := errors.New("rolled back")
		if err := add(q, db, failed, "never"); !errors.Is(err, failed) {
			t.Fatal(err)
		}
		for _, s := range []string{"one", "two"} {
			testenv.NoError(t, add(q, db, nil, s, s+" again"))
		}
		waittest.Until(t, func() bool { return d.Query(t, `SELECT count(*) FROM jobs`)[0] == "0" })
		testenv.EqualSlices(t, r.subjects(), []string{"one", "one again", "two", "two again"})
	})
}

// Each job runs on one of the servers.
func TestQueuesShareJobs(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		db, r := d.Open(t, store.Options{}).DB(), &recorder{}
		want := []string{}
		for i := range 200 {
			want = append(want, fmt.Sprintf("job %03d", i))
		}
		for i, user := range []string{"ann", "bob", "", "cid"} {
			testenv.NoError(t, addOf(user, jobdb.New(db), db, nil, want[50*i:50*i+50]...))
		}
		for range 3 {
			start(t, db, r.handle)
		}
		waittest.Until(t, func() bool { return d.Query(t, `SELECT count(*) FROM jobs`)[0] == "0" })
		if got := r.subjects(); !slices.Equal(slices.Sorted(slices.Values(got)), want) {
			t.Errorf("%d runs: %q", len(got), got)
		}
	})
}

// Other plans of PostgreSQL run the subquery of a lease for each row.
func TestLeaseTakesOneJobInEveryPlan(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		if d.Address != "" {
			for _, node := range []string{"hashagg", "hashjoin", "mergejoin", "sort", "material", "indexscan",
				"bitmapscan"} {
				d.Address += "&enable_" + node + "=off"
			}
		}
		db, r := d.Open(t, store.Options{}).DB(), &recorder{}
		testenv.NoError(t, add(jobdb.New(db), db, nil, "1", "2", "3"))
		start(t, db, r.handle)
		waittest.Until(t, func() bool { return d.Query(t, `SELECT count(*) FROM jobs`)[0] == "0" })
	})
}

func TestFailedJobsAreRetriedLater(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		var log logtest.Buffer
		var clock fakeClock
		db := d.Open(t, store.Options{Clock: clock.now, Log: slog.New(slog.NewTextHandler(&log, nil))}).DB()
		r := &recorder{fail: func(j jobdb.Job) error {
			switch {
			case j.Subject == "refused":
				return &jobdb.DroppedError{Err: errors.New("no such mailbox")}
			case j.Subject == "panic":
				panic("a secret")
			case j.Subject == "late" && j.Attempts < 3:
				return fmt.Errorf("attempt %d", j.Attempts)
			}
			return nil
		}}
		q := start(t, db, r.handle)
		testenv.NoError(t, add(q, db, nil, "late", "refused"))
		waittest.Until(t, func() bool { return len(r.subjects()) == 2 })
		for n, pause := range []time.Duration{5 * time.Second, 10 * time.Second} {
			saved := []string{fmt.Sprint("late: attempt ", n+1)}
			waittest.Until(t, func() bool {
				return slices.Equal(d.Query(t, `SELECT subject || ': ' || error FROM jobs`), saved)
			})
			clock.advance(pause - time.Second)
			r.runNext(t, q, db)
			testenv.Equal(t, len(r.subjects()), 2+n, pause)
			clock.advance(time.Second)
			waittest.Until(t, func() bool { return len(r.subjects()) == 3+n })
		}
		waittest.Until(t, func() bool { return d.Query(t, `SELECT count(*) FROM jobs`)[0] == "0" })
		testenv.Equal(t, q.Dropped()["mail"], 1, "jobs count as dropped")
		testenv.NoError(t, add(q, db, nil, "panic"))
		waittest.Until(t, func() bool {
			return slices.Equal(d.Query(t, `SELECT error FROM jobs`), []string{"jobdb: mail panicked: string"})
		})
		if strings.Contains(log.String(), "a secret") {
			t.Error("the log shows the value of a panic")
		}
	})
}

// A store that closes finishes the jobs that its operations have added.
func TestCloseOfStoreFinishesDueJobs(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		st, r := d.Open(t, store.Options{}), &recorder{}
		st.Jobs().Handle("mail", r.handle)
		st.Jobs().Start(t.Context())
		testenv.Must(store.System(t.Context(), st, "test", func(x *store.SystemTx) (loci.Empty, error) {
			return loci.Empty{}, x.AddJob("mail", "one")
		}))(t)
		testenv.NoError(t, st.Close())
		testenv.EqualSlices(t, r.subjects(), []string{"one"})
	})
}

// A killed server never saves a result. Its job runs again after the lease.
func TestJobOfKilledServerRunsAgain(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		var clock fakeClock
		db := d.Open(t, store.Options{Clock: clock.now}).DB()
		testenv.NoError(t, add(jobdb.New(db), db, nil, "once"))
		hung := make(chan struct{})
		defer close(hung)
		leased := make(chan struct{}, 1)
		killed := jobdb.New(db)
		killed.Handle("mail", func(context.Context, jobdb.Job) error { leased <- struct{}{}; <-hung; return nil })
		killed.Start(context.WithoutCancel(t.Context())) // and never stopped
		<-leased
		r := &recorder{}
		r.runNext(t, start(t, db, r.handle), db)
		if got := r.subjects(); len(got) > 0 {
			t.Error("a leased job runs twice")
		}
		clock.advance(3 * time.Minute)
		waittest.Until(t, func() bool { return len(r.subjects()) == 1 })
	})
}

// A clock that was ahead leaves times behind that are far away: of a lease, of a retry, and of a new job.
func TestClockThatIsSetBackDelaysNoJob(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		db, r := d.Open(t, store.Options{}).DB(), &recorder{}
		testenv.NoError(t, add(jobdb.New(db), db, nil, "ahead", "retried", "now"))
		ahead := time.Now().Add(48 * time.Hour).UnixMicro()
		d.Exec(t, fmt.Sprintf(`UPDATE jobs SET due = %d, created_at = %[1]d, attempts = 1 WHERE subject = 'ahead'`, ahead))
		d.Exec(t, fmt.Sprintf(`UPDATE jobs SET due = %d WHERE subject = 'retried'`,
			time.Now().Add(59*time.Minute).UnixMicro()))
		q := start(t, db, r.handle)
		waittest.Until(t, func() bool { return d.Query(t, `SELECT count(*) FROM jobs`)[0] == "1" })
		r.runNext(t, q, db)
		testenv.EqualSlices(t, slices.Sorted(slices.Values(r.subjects())), []string{"ahead", "now"})
	})
}

func TestJobContinuesAtOnceAfterAPart(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		db := d.Open(t, store.Options{}).DB()
		r := &recorder{}
		r.fail = func(jobdb.Job) error {
			if len(r.seen) < 5 {
				return jobdb.ErrMore
			}
			return nil
		}
		q := start(t, db, r.handle)
		testenv.NoError(t, add(q, db, nil, "atlas"))
		waittest.Until(t, func() bool { return d.Query(t, `SELECT count(*) FROM jobs`)[0] == "0" })
		testenv.Len(t, r.subjects(), 5, "parts")
	})
}

func TestPauseOfKindPostponesItsDueJobs(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		clock, r := &fakeClock{}, &recorder{}
		db := d.Open(t, store.Options{Clock: clock.now}).DB()
		r.fail = func(jobdb.Job) error {
			if clock.ahead.Load() == 0 {
				return &jobdb.PauseError{Pause: 24 * time.Hour}
			}
			return nil
		}
		testenv.NoError(t, add(jobdb.New(db), db, nil, "one", "two", "three"))
		start(t, db, r.handle)
		waittest.Until(t, func() bool {
			return d.Query(t, fmt.Sprintf(`SELECT count(*) FROM jobs WHERE error = '' AND attempts = 0 AND due > %d`,
				time.Now().Add(50*time.Minute).UnixMicro()))[0] == "3"
		})
		testenv.Len(t, r.subjects(), 1, "ran before the pause")
		clock.advance(61 * time.Minute)
		waittest.Until(t, func() bool { return d.Query(t, `SELECT count(*) FROM jobs`)[0] == "0" })
		testenv.Len(t, r.subjects(), 4)
	})
}

// An attempt whose lease has ended cannot commit the effect that another attempt has had.
func TestFinishHappensOnce(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		db, effects := d.Open(t, store.Options{}).DB(), atomic.Int64{}
		q := jobdb.New(db)
		result := make(chan error, 9)
		q.Handle("mail", func(ctx context.Context, j jobdb.Job) error {
			for range 2 {
				_, err := sqldb.System(ctx, db, "test", func(t *sqldb.Tx) (loci.Empty, error) {
					return loci.Empty{}, q.Finish(t, j)
				})
				if result <- err; err == nil {
					effects.Add(1)
				}
			}
			return jobdb.ErrLeaseLost
		})
		testenv.NoError(t, add(q, db, nil, "one"))
		q.Start(context.WithoutCancel(t.Context()))
		t.Cleanup(q.Stop)
		if first, second := <-result, <-result; first != nil || !errors.Is(second, jobdb.ErrLeaseLost) {
			t.Errorf("%v, %v", first, second)
		}
		if n := d.Query(t, `SELECT count(*) FROM jobs`)[0]; n != "0" || effects.Load() != 1 {
			t.Errorf("%s jobs, %d effects", n, effects.Load())
		}
	})
}

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
		testenv.EqualSlices(t, of("spam", got), numbered("spam", 300), "the jobs of one owner ran as")
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
