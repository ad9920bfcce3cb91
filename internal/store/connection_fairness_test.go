package store_test

import (
	"context"
	"sync"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/page"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/memorydb"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/waittest"
)

// TestOneUserLeavesConnectionsToOthers fills the pool with reads of one user that do not end, and reads as another.
func TestOneUserLeavesConnectionsToOthers(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{})
		ann, bob := user(t, s, "ann"), user(t, s, "bob")
		add(t, s, bob, "", "note")
		free, entered := make(chan bool), make(chan bool, 100)
		var all sync.WaitGroup
		defer all.Wait()
		defer close(free)
		before := s.Stats(t.Context()).WaitCount
		for range cap(entered) {
			all.Go(func() {
				_, err := store.Read(context.Background(), s, ann, func(tx *store.Tx) (loci.Empty, error) {
					entered <- true
					<-free
					_, err := memorydb.List(tx, loci.MemoryFilter{}, page.Request{Limit: 1})
					return loci.Empty{}, err
				})
				if err != nil && !loci.Is(err, loci.CodeUnavailable) {
					t.Error(err)
				}
			})
		}
		waittest.Until(t, func() bool { // each reads or waits
			return len(entered)+int(s.Stats(t.Context()).WaitCount-before) >= cap(entered)
		})
		for range 10 { // while nobody leaves
			if got := ids(t, s, bob, loci.MemoryFilter{}, 10); len(got) != 1 {
				t.Errorf("%d memories, want 1", len(got))
			}
		}
	})
}
