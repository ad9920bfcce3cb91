package store_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/storetest"
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
		for range cap(entered) {
			all.Go(func() {
				_, err := store.Read(context.Background(), s, ann, func(tx *store.Tx) (loci.Empty, error) {
					entered <- true
					<-free
					_, err := tx.Memories(store.Filter{}, store.Page{Limit: 1})
					return loci.Empty{}, err
				})
				if err != nil && !loci.Is(err, loci.CodeUnavailable) {
					t.Error(err)
				}
			})
		}
		<-entered
		time.Sleep(100 * time.Millisecond) // for as many as get in
		for range 10 {
			began := time.Now()
			if got := ids(t, s, bob, store.Filter{}, 10); len(got) != 1 {
				t.Errorf("%d memories, want 1", len(got))
			}
			if took := time.Since(began); took > 5*time.Second {
				t.Errorf("another user waits %v", took)
			}
		}
	})
}
