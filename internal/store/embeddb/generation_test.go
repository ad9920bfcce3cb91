package embeddb_test

import (
	"testing"

	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/embeddb"
	"github.com/loci-memory/loci/internal/store/storetest"
)

func TestWorkerStaysOnStandbyAfterItsGenerationIsDeleted(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{})
		ann := user(t, s, "ann")
		add(t, s, ann, "", "the blue boat")
		newWorker(s, &storetest.FakeEmbedder{Name: "one"}).round(t)
		two := &storetest.FakeEmbedder{Name: "two", Rejects: "*"}
		standby := newWorker(s, two)
		if err := embeddb.RunRound(ctx, standby.Worker); err == nil {
			t.Fatal("the second model is active in the workspace: the test shows nothing")
		}
		newWorker(s, &storetest.FakeEmbedder{Name: "one"}).round(t) // deletes the generation of two
		newWorker(s, &storetest.FakeEmbedder{Name: "three"}).round(t)
		two.RejectTexts("")
		add(t, s, ann, "", "the red bicycle")
		if standby.round(t); two.Embedded.Load() != 0 {
			t.Error("the vectors of one model are stored as those of another")
		}
	})
}
