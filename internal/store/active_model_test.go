package store_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/waittest"
)

// A second process has another model, and users write through both processes. Its model becomes the active one, and
// every memory gets a vector of it.
func TestLastStartedModelIsActive(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		one, two := &storetest.FakeEmbedder{Name: "one"}, &storetest.FakeEmbedder{Name: "two"}
		before := d.Open(t, store.Options{Embedder: one})
		ann := user(t, before, "ann")
		for i := range 20 {
			add(t, before, ann, "", fmt.Sprint("memory number ", i))
		}
		waitForEmbeddings(t, before)
		after := make(chan *store.Store, 1)
		runConcurrently(60, func(i int) error {
			if i == 20 {
				after <- d.Open(t, store.Options{Embedder: two})
			}
			_, err := tryAdd(before, ann, "", fmt.Sprint("another number ", i))
			return err
		})
		s := <-after
		left := func() string {
			return d.Query(t,
				`SELECT count(*) FROM memories e WHERE NOT EXISTS (SELECT 1 FROM vectors v
					JOIN generations g ON g.row_id = v.generation WHERE v.memory = e.row_id AND g.name LIKE 'two/%')
				UNION ALL SELECT count(*) FROM vectors v JOIN generations g ON g.row_id = v.generation
					WHERE g.name NOT LIKE 'two/%'`)[0]
		}
		// All memories have a vector of the model that came last.
		waittest.Until(t, func() bool { return storetest.Backlog(t, s).Pending == 0 && left() == "0" })
		waittest.Until(t, func() bool { return d.Query(t, `SELECT count(*) FROM generations`)[0] == "1" })
		// The process before knows that it stands aside.
		waittest.Until(t, func() bool { return !before.Embedder().AcceptsVector(storetest.VectorOf("memory")) })
		if !s.Embedder().AcceptsVector(storetest.VectorOf("memory")) {
			t.Error("the process that came last is not understood")
		}
		found, err := service.New(service.Options{Store: before, Embedder: one, Clock: time.Now}).SearchMemories(ctx,
			ann, loci.SearchMemories{Query: "memory number 3", Mode: loci.ModeSemantic})
		if err != nil || found.Mode != loci.ResolvedKeywordFallback || len(found.Memories) == 0 {
			t.Errorf("the process before answers by %s: %d memories, %v", found.Mode, len(found.Memories), err)
		}
		made := one.Embedded.Load()
		for i := range 20 {
			add(t, []*store.Store{before, s}[i%2], ann, "", fmt.Sprint("one more number ", i))
		}
		waitForEmbeddings(t, s)
		if n := one.Embedded.Load(); n != made {
			t.Errorf("the process before has embedded %d more", n-made)
		}
		if n := two.Embedded.Load(); n != 100 {
			t.Errorf("%d texts were embedded by the model that came last", n)
		}
	})
}

// A model returns vectors of other dimensions than before, under the same name. Searches fall back to keywords, and the
// error of the queue says what to do.
func TestWorkerRefusesVectorsOfOtherDimensions(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{Embedder: &storetest.FakeEmbedder{Name: "one"}})
		ann := user(t, s, "ann")
		add(t, s, ann, "", "the blue boat")
		waitForEmbeddings(t, s)
		s.Close()
		longer := &longerVectors{storetest.FakeEmbedder{Name: "one"}}
		s = d.Open(t, store.Options{Embedder: longer})
		add(t, s, ann, "", "the red bicycle")
		waittest.Until(t, func() bool {
			return strings.Contains(storetest.Backlog(t, s).LastError, "name another model")
		})
		for _, mode := range []loci.Mode{loci.ModeSemantic, loci.ModeHybrid} {
			found, err := service.New(service.Options{Store: s, Embedder: longer, Clock: time.Now}).SearchMemories(ctx,
				ann, loci.SearchMemories{Query: "blue boat", Mode: mode})
			if err != nil || found.Mode != loci.ResolvedKeywordFallback || len(found.Memories) != 1 {
				t.Errorf("%s: %s, %d memories, %v", mode, found.Mode, len(found.Memories), err)
			}
		}
	})
}

// A longerVectors model has two more dimensions.
type longerVectors struct{ storetest.FakeEmbedder }

func (m *longerVectors) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	list, err := m.FakeEmbedder.Embed(ctx, texts)
	for i := range list {
		list[i] = append(list[i], 0, 0)
	}
	return list, err
}
