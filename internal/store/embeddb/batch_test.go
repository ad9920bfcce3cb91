package embeddb_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/cache"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/embeddb"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
	"github.com/loci-memory/loci/internal/title"
	"github.com/loci-memory/loci/internal/vector"
)

// checkQueue checks how many memories have vectors, and how many are queued.
func checkQueue(t *testing.T, d storetest.Database, embedded, queued int) {
	t.Helper()
	got := fmt.Sprint(d.Query(t, `SELECT count(*) FROM vectors`), d.Query(t, `SELECT count(*) FROM embedding_queue`))
	testenv.Equal(t, got, fmt.Sprintf("[%d] [%d]", embedded, queued), "embedded and queued are")
}

func TestBatchKeepsItsLeaseWhenARenewalFails(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, d storetest.Database, s *store.Store, ann *identity.Actor) {
		m := &hookedEmbedder{FakeEmbedder: storetest.FakeEmbedder{Name: "one"}, before: func() {}}
		w := newWorker(s, m)
		w.round(t)
		add(t, s, ann, "", "the blue boat")
		add(t, s, ann, "", "the red bicycle")
		w.db.failWrite = 2 // after the lease comes the renewal
		m.before = func() { w.later = time.Minute }
		w.round(t)
		checkQueue(t, d, 2, 0)
	})
}

func TestDatabaseErrorIsNoFailureOfAText(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, d storetest.Database, s *store.Store, ann *identity.Actor) {
		w := newWorker(s, &storetest.FakeEmbedder{Name: "one"})
		w.round(t)
		add(t, s, ann, "", "the blue boat")
		w.db.failWrite = 2 // after the lease come the vectors
		if err := embeddb.RunRound(ctx, w.Worker); !errors.Is(err, errFault) {
			t.Errorf("the round returns %v", err)
		}
		if got := d.Query(t, `SELECT CAST(attempts AS TEXT) || error FROM embedding_queue`); len(got) != 1 ||
			got[0] != "0" {
			t.Errorf("the queue has %q", got)
		}
		w.round(t)
		checkQueue(t, d, 1, 0)
	})
}

func TestOutageOfTheModelCostsOneCallForEachOwner(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, d storetest.Database, s *store.Store, ann *identity.Actor) {
		calls := 0
		m := &hookedEmbedder{FakeEmbedder: storetest.FakeEmbedder{Name: "one", Rejects: "*"},
			before: func() { calls++ }}
		w := newWorker(s, m)
		bob := user(t, s, "bob")
		for i := range 5 {
			add(t, s, ann, "", fmt.Sprint("memory number ", i))
			add(t, s, bob, "", fmt.Sprint("memory number ", i))
		}
		if err := embeddb.RunRound(ctx, w.Worker); err == nil {
			t.Error("the round returns no error")
		}
		failed := d.Query(t, `SELECT count(*) FROM embedding_queue WHERE attempts = 1 AND error <> ''`)
		others := d.Query(t, `SELECT count(*) FROM embedding_queue WHERE attempts = 0 AND error = ''`)
		if calls != 3 || failed[0] != "2" || others[0] != "8" {
			t.Errorf("%d calls, %v failures, %v other texts", calls, failed, others)
		}
		m.RejectTexts("")
		d.Exec(t, `UPDATE embedding_queue SET due = due + 3600000000 WHERE attempts = 1`)
		w.round(t)
		checkQueue(t, d, 8, 2)
	})
}

// A failingEmbedder fails with a reason.
type failingEmbedder struct {
	storetest.FakeEmbedder
	reason string
}

func (m *failingEmbedder) Embed(context.Context, []string) ([][]float32, error) {
	return nil, errors.New(m.reason)
}

func TestUsageHasTheReasonOfTheLatestFailureInScope(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{})
		m := &failingEmbedder{FakeEmbedder: storetest.FakeEmbedder{Name: "one"}}
		w := newWorker(s, m)
		ann, bob := user(t, s, "ann"), user(t, s, "bob")
		for _, x := range []struct {
			owner  *identity.Actor
			reason string
		}{{ann, "z"}, {ann, "b"}, {bob, "a"}} {
			add(t, s, x.owner, "", "text "+x.reason)
			m.reason = x.reason
			if err := embeddb.RunRound(ctx, w.Worker); err == nil {
				t.Error("the round returns no error")
			}
			// Neither the time of the next attempt nor the order of texts shows the latest failure.
			d.Exec(t, `UPDATE embedding_queue SET due = `+fmt.Sprint(time.Now().Add(time.Hour).UnixMicro()))
		}
		status, err := store.Read(ctx, s, ann, (*store.Tx).Usage)
		if err != nil || status.Indexing != (loci.Indexing{Pending: 2, Failed: 2, LastError: "b"}) {
			t.Errorf("%+v, %v", status.Indexing, err)
		}
		if stats := storetest.Backlog(t, s); stats.LastError != "a" || stats.Failed != 3 {
			t.Errorf("%+v", stats)
		}
	})
}

func TestBatchEmbedsTheOtherTextsWhenOneCannotBePrepared(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, d storetest.Database, s *store.Store, ann *identity.Actor) {
		w := newWorker(s, &storetest.FakeEmbedder{Name: "one"})
		w.round(t)
		for i := range 3 {
			add(t, s, ann, "", fmt.Sprint("memory number ", i))
		}
		w.db.failRead = 3 // the first read lists the jobs, and the second prepares the first of them
		if err := embeddb.RunRound(ctx, w.Worker); !errors.Is(err, errFault) {
			t.Errorf("the round returns %v", err)
		}
		checkQueue(t, d, 2, 1)
		w.round(t)
		checkQueue(t, d, 3, 0)
	})
}

func TestCopiedVectorsReplaceThoseBeforeThePreviousText(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, d storetest.Database, s *store.Store, ann *identity.Actor) {
		m := &storetest.FakeEmbedder{Name: "one"}
		w := newWorker(s, m)
		var changed loci.Memory
		for i := range 4 {
			changed = add(t, s, ann, "", fmt.Sprint("memory number ", i))
		}
		w.round(t)
		for i := range 3 {
			storetest.Update(t, s, ann, changed.ID, func(m *loci.Memory) {
				m.Content = fmt.Sprint("memory number ", i)
				m.Title = title.Derive(m.Content)
			})
			w.round(t)
		}
		if checkQueue(t, d, 5, 0); m.Embedded.Load() != 4 {
			t.Errorf("%d texts were embedded", m.Embedded.Load())
		}
	})
}

func TestInterruptedJobKeepsTheErrorOfItsLastAttempt(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, d storetest.Database, s *store.Store, ann *identity.Actor) {
		w := newWorker(s, &storetest.FakeEmbedder{Name: "one", Rejects: "*"})
		w.round(t)
		add(t, s, ann, "", "the blue boat")
		add(t, s, ann, "", "the red bicycle")
		d.Exec(t, `UPDATE embedding_queue SET error = 'earlier', failed_at = 7, attempts = 3`)
		if err := embeddb.RunRound(ctx, w.Worker); err == nil {
			t.Error("the round returns no error")
		}
		got := d.Query(t, `SELECT CAST(attempts AS TEXT) || error || CAST(failed_at AS TEXT) FROM embedding_queue
			WHERE error = 'earlier'`)
		if n := storetest.Backlog(t, s).Failed; n != 2 || len(got) != 1 || got[0] != "3earlier7" {
			t.Errorf("%d texts have failed, and the interrupted one is %q", n, got)
		}
	})
}

func TestStartingServerKeepsLeasesOfOthers(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, d storetest.Database, s *store.Store, ann *identity.Actor) {
		if d.Address == "" {
			return // one server has the whole database
		}
		other := &storetest.FakeEmbedder{Name: "one"}
		m := &hookedEmbedder{FakeEmbedder: storetest.FakeEmbedder{Name: "one"}}
		m.before = func() { newWorker(s, other).round(t) }
		add(t, s, ann, "", "the blue boat")
		newWorker(s, m).round(t)
		if checkQueue(t, d, 1, 0); other.Embedded.Load() != 0 {
			t.Error("a server that starts embeds the leased text of another")
		}
	})
}

// A clock that was ahead leaves times behind that are far away: of a lease, of a retry, and of a new text.
func TestStartingServerEmbedsTextsThatAClockDelayed(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, d storetest.Database, s *store.Store, ann *identity.Actor) {
		add(t, s, ann, "", "the blue boat")
		add(t, s, ann, "", "the red boat")
		add(t, s, ann, "", "the green boat")
		d.Exec(t, fmt.Sprintf(`UPDATE embedding_queue SET due = %d, error = CASE WHEN memory =
			(SELECT MAX(memory) FROM embedding_queue) THEN 'earlier' ELSE '' END`,
			time.Now().Add(48*time.Hour).UnixMicro()))
		newWorker(s, &storetest.FakeEmbedder{Name: "one"}).round(t)
		if left := d.Query(t, `SELECT due FROM embedding_queue`); len(left) > 0 {
			t.Errorf("%d texts wait", len(left))
		}
	})
}

func TestCodesHaveCurrentVectorsAcrossBatches(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, d storetest.Database, s *store.Store, ann *identity.Actor) {
		for i := range 3 {
			add(t, s, ann, "", fmt.Sprint("memory number ", i))
		}
		newWorker(s, &storetest.FakeEmbedder{Name: "one"}).round(t)
		memories := d.Query(t, `SELECT row_id FROM memories ORDER BY row_id`)
		// The vectors of the second memory begin in one batch and end in the next. The first has a later text.
		for _, x := range []struct {
			memory    string
			seq, size int
		}{{memories[0], 2, 8190}, {memories[1], 3, 5}, {memories[2], 4, 9000}, {memories[0], 5, 3}} {
			d.Exec(t, fmt.Sprintf(`INSERT INTO vectors (workspace, memory, generation, text_hash, chunk, seq, vector)
				WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < %d)
				SELECT workspace, memory, generation, %d, i, %[2]d, vector FROM vectors JOIN n ON TRUE
				WHERE memory = %[3]s AND seq = 1`, x.size, x.seq, x.memory))
		}
		d.Exec(t, `UPDATE keyword_indexes SET vector_seq = 5`)
		n, err := sqldb.SystemRead(ctx, s.DB(), "count codes", func(tx *sqldb.Tx) (int, error) {
			var workspaces []int64
			if err := tx.Query(`SELECT workspace FROM keyword_indexes`, nil, sqldb.ScanInts(&workspaces)); err != nil {
				return 0, err
			}
			states, err := embeddb.ReadStates(tx, workspaces)
			if err != nil || len(states) != 1 {
				t.Fatal(states, err)
			}
			codes, err := embeddb.NewVectors(cache.NewBudget(0)).BinaryCodes(tx, states[0])
			return codes.Len(), err
		})
		if want := 3 + 5 + 9000; err != nil || n != want {
			t.Errorf("the workspace has %d codes of %d: %v", n, want, err)
		}
	})
}

var (
	ctx       = context.Background()
	errFault  = errors.New("the connection is lost")
	user, add = storetest.User, storetest.Add
)

// eachDatabase runs a test on a store of every database, which has one user and no worker.
func eachDatabase(t *testing.T, f func(t *testing.T, d storetest.Database, s *store.Store, ann *identity.Actor)) {
	t.Helper()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{})
		f(t, d, s, user(t, s, "ann"))
	})
}

// A faultyDB fails one of its next calls, counted from 1.
type faultyDB struct {
	sqldb.DB
	failRead, failWrite int
}

func (f *faultyDB) Read(ctx context.Context, user string, do func(sqldb.Conn) error) error {
	if f.failRead--; f.failRead == 0 {
		return errFault
	}
	return f.DB.Read(ctx, user, do)
}

func (f *faultyDB) Write(ctx context.Context, user string, do func(sqldb.Conn) error) error {
	if f.failWrite--; f.failWrite == 0 {
		return errFault
	}
	return f.DB.Write(ctx, user, do)
}

// A manualWorker runs its rounds when a test calls round.
type manualWorker struct {
	*embeddb.Worker
	db    *faultyDB
	later time.Duration // of its clock
}

// newWorker returns a worker on a store that has none.
func newWorker(s *store.Store, model vector.Embedder) *manualWorker {
	w := &manualWorker{db: &faultyDB{DB: s.DB().DB}}
	handle := *s.DB()
	handle.DB, handle.Clock = w.db, func() time.Time { return time.Now().Add(w.later) }
	w.Worker = embeddb.New(&handle, nil, model, false)
	return w
}

// round does one round, which must succeed.
func (w *manualWorker) round(t *testing.T) {
	t.Helper()
	testenv.NoError(t, embeddb.RunRound(ctx, w.Worker))
}

// A hookedEmbedder calls a function before it embeds.
type hookedEmbedder struct {
	storetest.FakeEmbedder
	before func()
}

func (m *hookedEmbedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	m.before()
	return m.FakeEmbedder.Embed(ctx, texts)
}
