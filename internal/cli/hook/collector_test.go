package hook

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loci-memory/loci/internal/capture"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/testenv"
)

func TestCollectorDeliversEachTurnAndTheRestAtTheEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var stored, delivered, deliveries atomic.Int64
		c := (&Collector{enqueue: func(_ context.Context, e []capture.Event) error {
			stored.Add(int64(len(e)))
			return nil
		}, deliver: func(context.Context) error {
			delivered.Store(stored.Load())
			deliveries.Add(1)
			return nil
		}}).start(t.Context())
		c.Add(make([]capture.Event, 2))
		synctest.Wait()
		testenv.Equal(t, delivered.Load(), 2)
		for range 10 {
			c.Add(make([]capture.Event, 2))
		}
		synctest.Wait()
		testenv.Equal(t, deliveries.Load(), 1)
		observed := make(chan struct{})
		close(observed)
		if c.End(observed); delivered.Load() != 22 || deliveries.Load() != 2 {
			t.Errorf("%d events in %d deliveries", delivered.Load(), deliveries.Load())
		}
	})
}

func TestCollectorEndsInTime(t *testing.T) {
	t.Parallel()
	for name, observes := range map[string]bool{"slow server": true, "slow reader": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				c := (&Collector{enqueue: func(context.Context, []capture.Event) error { return nil },
					deliver: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }}).
					start(ctx)
				cancel() // as a signal does
				c.Add(nil)
				observed := make(chan struct{})
				if observes {
					close(observed)
				}
				start := time.Now()
				if c.End(observed); time.Since(start) != lastDelivery {
					t.Errorf("it took %v", time.Since(start))
				}
				<-c.done
			})
		})
	}
}

// A call of the first courier still runs when the second turn is stored.
func TestCollectorTakesANewCourierAfterAnError(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var opened atomic.Int64
		target := &Target{Folder: "x", Open: func(context.Context) (op.Caller, error) {
			opened.Add(1)
			time.Sleep(enqueueLimit + time.Second)
			return nil, errMissed
		}}
		c := NewCollector(t.Context(), "acp", "", Options{StateDir: t.TempDir(),
			Target: func() (*Target, error) { return target, nil }})
		turn := []capture.Event{{Adapter: "acp"}}
		c.Add(turn)
		c.Add(turn)
		testenv.Equal(t, opened.Load(), 2)
		observed := make(chan struct{})
		close(observed)
		c.End(observed)
		time.Sleep(time.Minute) // the calls end
	})
}
