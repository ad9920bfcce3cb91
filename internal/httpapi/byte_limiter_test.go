package httpapi

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/testenv"
)

const pageSize = 4 << 20

func acquire(t *testing.T, f *ByteLimiter, user loci.ID, bytes int) (release func()) {
	t.Helper()
	return testenv.Must(f.Acquire(t.Context(), user, bytes, true))(t)
}

func TestResponseLimiterRejectsWhenQueueIsFull(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := NewResponseLimiter()
		defer acquire(t, f, "ann", maxInFlight)()
		var all sync.WaitGroup
		defer all.Wait()
		for range maxWaiting / pageSize {
			all.Go(func() { f.Acquire(context.Background(), "ann", pageSize, true) })
		}
		synctest.Wait()
		began := time.Now()
		if _, err := f.Acquire(t.Context(), "ann", pageSize, true); !loci.Is(err, loci.CodeUnavailable) ||
			time.Since(began) != 0 {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}

func TestResponseLimiterRejectsWhenResponsesAreUnread(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := NewResponseLimiter()
		var ends []func()
		for range maxInFlight / pageSize {
			ends = append(ends, acquire(t, f, "ann", pageSize))
		}
		began := time.Now()
		_, err := f.Acquire(t.Context(), "ann", pageSize, true)
		if e := loci.AsError(err); !loci.Is(err, loci.CodeUnavailable) || e.RetryAfter <= 0 ||
			time.Since(began) != acquireTimeout {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		acquire(t, f, "ann", minLimitedSize)()
		acquire(t, f, "bob", pageSize)()
		release, err := f.Acquire(t.Context(), "ann", pageSize, false)
		if err != nil {
			t.Errorf("what was written is refused: %v", err)
		}
		release()
		left, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := f.Acquire(left, "ann", pageSize, true); err != context.Canceled {
			t.Errorf("a client that left: %v", err)
		}
		for _, release := range ends {
			release()
		}
		testenv.Equal(t, f.bytes.InUse(), 0, "bytes are held")
	})
}
