package httpapi

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/loci-memory/loci"
)

const page = 4 << 20

func begin(t *testing.T, f *Flow, user string, bytes int) (end func()) {
	t.Helper()
	end, err := f.Begin(t.Context(), user, bytes, true)
	if err != nil {
		t.Fatal(err)
	}
	return end
}

func TestFlowRefusesAnswersOfUsersThatDoNotRead(t *testing.T) {
	t.Parallel()
	f := NewFlow()
	var ends []func()
	for range mostWriting / page {
		ends = append(ends, begin(t, f, "ann", page))
	}
	began := time.Now()
	_, err := f.Begin(t.Context(), "ann", page, true)
	if e := loci.AsError(err); !loci.Is(err, loci.Unavailable) || e.Retry <= 0 || time.Since(began) < flowWait {
		t.Errorf("%v after %v", err, time.Since(began))
	}
	begin(t, f, "ann", smallAnswer)()
	begin(t, f, "bob", page)()
	end, err := f.Begin(t.Context(), "ann", page, false)
	if err != nil {
		t.Errorf("what was written is refused: %v", err)
	}
	end()
	left, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.Begin(left, "ann", page, true); err != context.Canceled {
		t.Errorf("a client that left: %v", err)
	}
	for _, end := range ends {
		end()
	}
	if len(f.users) != 0 {
		t.Errorf("%d users are kept", len(f.users))
	}
}

func TestFlowRefusesAtOnceWhereTooMuchWaits(t *testing.T) {
	t.Parallel()
	f := NewFlow()
	defer begin(t, f, "ann", mostWriting)()
	var all sync.WaitGroup
	defer all.Wait()
	for range mostWaiting / page {
		all.Go(func() { f.Begin(context.Background(), "ann", page, true) })
	}
	for waits := 0; waits < mostWaiting; time.Sleep(time.Millisecond) {
		f.mu.Lock()
		waits = f.users["ann"].waiting
		f.mu.Unlock()
	}
	began := time.Now()
	if _, err := f.Begin(t.Context(), "ann", page, true); !loci.Is(err, loci.Unavailable) ||
		time.Since(began) > flowWait/2 {
		t.Errorf("%v after %v", err, time.Since(began))
	}
}

func TestFlowLetsAnswersFollowEachOther(t *testing.T) {
	t.Parallel()
	f := NewFlow()
	var all sync.WaitGroup
	for range 3 * mostWriting / page / 2 {
		all.Go(func() {
			end, err := f.Begin(context.Background(), "ann", page, true)
			if err != nil {
				t.Error(err)
				return
			}
			time.Sleep(10 * time.Millisecond)
			end()
		})
	}
	all.Wait()
	if larger := begin(t, f, "ann", 2*mostWriting); larger == nil || len(f.users) != 1 {
		t.Error("an answer that is larger than the bound never comes")
	} else if larger(); len(f.users) != 0 {
		t.Errorf("%d users are kept", len(f.users))
	}
}
