package embeddb_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/embeddb"
	"github.com/loci-memory/loci/internal/store/storetest"
)

// checkQueue checks how many memories have vectors, and how many are queued.
func checkQueue(t *testing.T, d storetest.Database, embedded, queued int) {
	t.Helper()
	got := fmt.Sprint(d.Query(t, `SELECT count(*) FROM vectors`), d.Query(t, `SELECT count(*) FROM embedding_queue`))
	if want := fmt.Sprintf("[%d] [%d]", embedded, queued); got != want {
		t.Errorf("embedded and queued are %s, not %s", got, want)
	}
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
			storetest.Update(t, s, ann, changed.ID, func(_ *store.Memory, m *loci.Memory) {
				m.Content = fmt.Sprint("memory number ", i)
				m.Title = loci.DeriveTitle(m.Content)
			})
			w.round(t)
		}
		if checkQueue(t, d, 5, 0); m.Embedded.Load() != 4 {
			t.Errorf("%d texts were embedded", m.Embedded.Load())
		}
	})
}
