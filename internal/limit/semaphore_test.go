package limit

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/testenv"
)

func isGranted(w *Waiter[string]) bool {
	if w == nil {
		return true
	}
	select {
	case <-w.Granted:
		return !w.refused
	default:
		return false
	}
}

func isRefused(w *Waiter[string]) bool { return w != nil && w.refused }

// expectFree reports units, holders and waiters that are left at the end.
func expectFree(t *testing.T, s *Semaphore[string]) {
	t.Helper()
	for i := range s.queues {
		if s.used != 0 || len(s.held) > 0 || len(s.queues[i].waiting) > 0 {
			t.Errorf("%d units in use, %v held, %v waiting", s.used, s.held, s.queues[i].waiting)
		}
	}
}

func TestSemaphoreServesKeysInTurns(t *testing.T) {
	t.Parallel()
	s := NewSlots[string](4)
	request := func(key string) *Waiter[string] { return s.Request(0, key, 1) }
	var many []*Waiter[string]
	for range 20 {
		many = append(many, request("many"))
	}
	testenv.RequireEqual(t, s.held["many"], 3, "one key holds")
	if !isGranted(request("one")) || s.used != 4 {
		t.Fatal("the slot that one key may not have is not for another key")
	}
	two, three, system := request("two"), request("three"), request("")
	s.Release("many", 1)
	if !isGranted(system) || isGranted(two) || isGranted(many[3]) {
		t.Error("a free slot does not go to the service itself")
	}
	s.Release("many", 1)
	if !isGranted(two) || isGranted(three) || isGranted(many[3]) {
		t.Error("a free slot does not go to the key that holds none and came first")
	}
	s.Release("", 1)
	if !isGranted(three) || isGranted(many[3]) {
		t.Error("a free slot does not go to the next one that holds none")
	}
	s.Cancel(many[3])
	s.Release("one", 1)
	if isGranted(many[3]) || !isGranted(many[4]) {
		t.Error("a slot goes to a caller that left")
	}
	s.Cancel(many[4]) // it was granted: the slot is passed on
	if !isGranted(many[5]) {
		t.Error("the slot of a caller that left is lost")
	}
}

// TestWaitingKeysTakeTurns serves one unit at a time: a key with many waiters, who came first, delays another by one.
func TestWaitingKeysTakeTurns(t *testing.T) {
	t.Parallel()
	q := NewQueue[string, string]()
	push := func(key string, values ...string) {
		for _, v := range values {
			q.Push(key, 1, v)
		}
	}
	var served []string
	pop := func(n int) {
		for range n {
			v, ok := q.Pop(func(string, int) bool { return true })
			if !ok {
				t.Fatalf("nobody waits after %v", served)
			}
			served = append(served, v)
			q.ReleaseAll() // before the next turn
		}
	}
	push("a", "a1", "a2", "a3", "a4", "a5", "a6")
	pop(1)
	push("b", "b1", "b2", "b3", "b4")
	push("c", "c1")
	pop(4)
	push("c", "c2") // comes back, behind all that wait
	q.Remove("b", "b2")
	pop(5)
	testenv.Equal(t, fmt.Sprint(served), "[a1 a2 b1 c1 a3 b3 a4 c2 b4 a5]", "order")
}

// TestSemaphoreLosesNoUnits compares the semaphore with what its callers hold.
func TestSemaphoreLosesNoUnits(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		b := Bounds{Total: rapid.IntRange(0, 9).Draw(t, "total"), PerKey: rapid.IntRange(0, 5).Draw(t, "per key"),
			WaitingPerKey: rapid.IntRange(0, 9).Draw(t, "waiting")}
		if rapid.Bool().Draw(t, "classes") {
			b.Classes = []int{rapid.IntRange(1, 3).Draw(t, "urgent"), rapid.IntRange(1, 3).Draw(t, "other")}
		}
		s, most := NewSemaphore[string](b), 1
		if b.Total == 0 {
			most = 6
		}
		type caller struct {
			key    string
			units  int
			waiter *Waiter[string]
		}
		var callers []caller
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			if len(callers) > 0 && rapid.Bool().Draw(t, "end") {
				i := rapid.IntRange(0, len(callers)-1).Draw(t, "which")
				if c := callers[i]; isGranted(c.waiter) {
					s.Release(c.key, c.units)
				} else {
					s.Cancel(c.waiter)
				}
				callers = slices.Delete(callers, i, i+1)
			} else {
				c := caller{key: rapid.SampledFrom([]string{"", "a", "b", "c"}).Draw(t, "key"),
					units: rapid.IntRange(1, most).Draw(t, "units")}
				c.waiter = s.Request(rapid.IntRange(0, len(s.queues)-1).Draw(t, "class"), c.key, c.units)
				callers = append(callers, c)
			}
			used, held, holders, waiting := 0, map[string]int{}, map[string]int{}, make([]int, len(s.queues))
			for _, c := range callers {
				if isGranted(c.waiter) {
					used, held[c.key], holders[c.key] = used+c.units, held[c.key]+c.units, holders[c.key]+1
				} else if !isRefused(c.waiter) {
					waiting[c.waiter.class]++
				}
			}
			if used != s.used || b.Total > 0 && used > b.Total {
				t.Fatalf("%d units are held, %d are in use, of %d", used, s.used, b.Total)
			}
			for key, n := range held {
				if n != s.held[key] || key != "" && b.PerKey > 0 && n > b.PerKey && holders[key] > 1 {
					t.Fatalf("%q holds %d units as %d callers, %d by the semaphore", key, n, holders[key], s.held[key])
				}
			}
			for i := range s.queues {
				if n := s.queues[i].Len(); n != waiting[i] || len(b.Classes) > 0 && n > b.Classes[i] {
					t.Fatalf("%d of class %d wait, %d by the semaphore, of %v", waiting[i], i, n, b.Classes)
				}
				for key, list := range s.queues[i].waiting {
					if s.fits(key, list[0].units) {
						t.Fatalf("%q waits for %d units, although they are free", key, list[0].units)
					}
				}
			}
		}
	})
}

func TestSemaphoreBoundsHoldersAtOnce(t *testing.T) {
	t.Parallel()
	const slots = 4
	s := NewSlots[string](slots)
	var all sync.WaitGroup
	var now, maximum atomic.Int64
	for i := range 16 {
		all.Go(func() {
			key := fmt.Sprint(i % 3)
			for range 300 {
				release, err := s.Acquire(t.Context(), 0, key, 1)
				if err != nil {
					t.Error(err)
					return
				}
				maximum.Store(max(maximum.Load(), now.Add(1)))
				now.Add(-1)
				release()
			}
		})
	}
	all.Wait()
	if maximum.Load() > slots {
		t.Errorf("%d held slots at once", maximum.Load())
	}
	expectFree(t, s)
}

func TestSemaphoreServesUrgentClassFirst(t *testing.T) {
	t.Parallel()
	s := NewSemaphore[string](Bounds{Total: 1, Classes: []int{50, 50}})
	var urgent, other []*Waiter[string]
	for range 30 {
		other = append(other, s.Request(1, "a", 1))
	}
	for range 20 {
		urgent = append(urgent, s.Request(0, "b", 1))
	}
	granted := func(list []*Waiter[string]) (n int) {
		for _, w := range list {
			if isGranted(w) {
				n++
			}
		}
		return n
	}
	for i := range 49 {
		key := "a"
		if i > 0 && i%lowerShare != 0 && i < 27 {
			key = "b"
		}
		s.Release(key, 1)
		if n := 1 + (i+1)/lowerShare; i < 26 && (granted(other) != n || granted(urgent) != i+2-n) {
			t.Fatalf("after %d releases %d urgent and %d other callers were served", i+1, granted(urgent),
				granted(other))
		}
	}
	if s.Release("a", 1); granted(other) != 30 || granted(urgent) != 20 {
		t.Errorf("%d urgent and %d other callers were served", granted(urgent), granted(other))
	}
	expectFree(t, s)
}

func TestSemaphoreRefusesKeyWithMostWaitersWhenFull(t *testing.T) {
	t.Parallel()
	s := NewSemaphore[string](Bounds{Total: 1, Classes: []int{4, 1}})
	request := func(class int, key string) *Waiter[string] { return s.Request(class, key, 1) }
	request(0, "flood")
	var flood []*Waiter[string]
	for range 4 {
		flood = append(flood, request(0, "flood"))
	}
	if !isRefused(request(0, "flood")) {
		t.Error("one more of the flood waits")
	}
	victim := request(0, "victim")
	if isRefused(victim) || !isRefused(flood[3]) || isRefused(flood[2]) {
		t.Error("the last of the flood does not make place")
	}
	if isRefused(request(0, "second")) || !isRefused(flood[2]) || !isRefused(request(0, "victim")) {
		t.Error("a key with one waiter more makes place")
	}
	if isRefused(request(1, "flood")) || !isRefused(request(1, "flood")) {
		t.Error("another class has no bound of its own")
	}
	s.held["flood"]++ // as in another slot
	if s.Release("flood", 1); !isGranted(victim) || isGranted(flood[0]) {
		t.Error("a slot does not go to the key that holds the fewest")
	}
	s.Cancel(flood[3]) // which was refused
	testenv.Equal(t, s.used, 1, "slots are in use")
}

func TestSemaphoreDropsCancelledCallers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := NewSlots[string](1)
		release := testenv.Must(s.Acquire(t.Context(), 0, "a", 1))(t)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() {
			_, err := s.Acquire(ctx, 0, "a", 1)
			done <- err
		}()
		synctest.Wait()
		testenv.Equal(t, s.Waiting(0), 1, "it does not wait")
		cancel()
		if err := <-done; err != context.Canceled || s.Waiting(0) != 0 {
			t.Errorf("%v, %d wait", err, s.Waiting(0))
		}
		if _, err := s.Acquire(ctx, 0, "a", 1); err != context.Canceled {
			t.Error(err)
		}
		release()
		release = testenv.Must(s.Acquire(ctx, 0, "a", 1))(t)
		release()
		expectFree(t, s)
	})
}

// newBytes returns a semaphore of four units a key, of which as many may wait for a second.
func newBytes() *Semaphore[string] {
	return NewSemaphore[string](Bounds{PerKey: 4, WaitingPerKey: 4, Timeout: time.Second,
		Refusal: Refusal{Name: "bytes", Code: loci.CodeUnavailable, Message: "Full.", RetryAfter: 2 * time.Second}})
}

func TestSemaphoreRefusesAfterTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newBytes()
		acquire := func(key string, units int, after time.Duration) {
			t.Helper()
			began := time.Now()
			_, err := s.Acquire(t.Context(), 0, key, units)
			if e := loci.AsError(err); err != nil && (e.Code != loci.CodeUnavailable || e.Message != "Full." ||
				e.RetryAfter != 2*time.Second || e.Err != Exceeded("bytes")) ||
				(err == nil) != (after < 0) || err != nil && time.Since(began) != after {
				t.Errorf("%d units of %s: %v after %v", units, key, err, time.Since(began))
			}
		}
		acquire("ann", 3, -1)
		acquire("ann", 1, -1)
		acquire("ann", 2, time.Second)
		acquire("bob", 2, -1)
		s.Take("ann", 2)
		go acquire("ann", 4, -1)
		synctest.Wait()
		acquire("ann", 1, 0)
		s.Release("ann", 6)
		s.Release("bob", 2)
		synctest.Wait()
		s.Release("ann", 4) // of the waiter
		acquire("ann", 9, -1)
		s.Release("ann", 9)
		expectFree(t, s)
	})
}

// A large request is not overtaken for ever by small ones of its key, which go on once it has left.
func TestSemaphoreServesKeyInOrder(t *testing.T) {
	t.Parallel()
	s := newBytes()
	s.Take("a", 3)
	large, small := s.Request(0, "a", 2), s.Request(0, "a", 1)
	if _, err := s.TryAcquire("a", 1); isGranted(large) || isGranted(small) || !loci.Is(err, loci.CodeUnavailable) {
		t.Fatal("a small request overtakes a large one")
	}
	if s.Cancel(large); !isGranted(small) {
		t.Error("a request waits for one that has left")
	}
	s.Release("a", 3)
	s.Release("a", 1)
	expectFree(t, s)
}
