package embeddb_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/store"
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
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{})
		ann := user(t, s, "ann")
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
