package fairqueue

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"
)

func isGranted(t *Waiter) bool {
	if t == nil {
		return true
	}
	select {
	case <-t.Granted:
		return true
	default:
		return false
	}
}

func TestSemaphoreServesUsersInTurns(t *testing.T) {
	t.Parallel()
	s := NewSemaphore(4)
	var many []*Waiter
	for range 20 {
		many = append(many, s.Acquire("many"))
	}
	held := 0
	for _, ticket := range many {
		if isGranted(ticket) {
			held++
		}
	}
	if held != 3 {
		t.Fatalf("one user holds %d of 4 slots, want 3", held)
	}
	if !isGranted(s.Acquire("one")) || s.free > 0 {
		t.Fatal("the slot that one user may not have is not for another user")
	}
	two, three, system := s.Acquire("two"), s.Acquire("three"), s.Acquire("")
	s.Release("many")
	if !isGranted(system) || isGranted(two) || isGranted(many[3]) {
		t.Error("a free slot does not go to the service itself")
	}
	s.Release("many")
	if !isGranted(two) || isGranted(three) || isGranted(many[3]) {
		t.Error("a free slot does not go to the user who holds none and came first")
	}
	s.Release("")
	if !isGranted(three) || isGranted(many[3]) {
		t.Error("a free slot does not go to the next one who holds none")
	}
	s.Cancel("many", many[3])
	s.Release("one")
	if isGranted(many[3]) || !isGranted(many[4]) {
		t.Error("a slot goes to a caller who left")
	}
	s.Cancel("many", many[4]) // it was granted: the slot is passed on
	if !isGranted(many[5]) {
		t.Error("the slot of a caller who left is lost")
	}
}

// TestSemaphoreLosesNoPlace compares the semaphore with what its callers hold.
func TestSemaphoreLosesNoPlace(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		slots := rapid.IntRange(1, 9).Draw(t, "slots")
		s, users := NewSemaphore(slots), []string{"", "a", "b", "c"}
		tickets := map[string][]*Waiter{}
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			user := rapid.SampledFrom(users).Draw(t, "user")
			if mine := tickets[user]; len(mine) > 0 && rapid.Bool().Draw(t, "end") {
				i := rapid.IntRange(0, len(mine)-1).Draw(t, "which")
				if isGranted(mine[i]) {
					s.Release(user)
				} else {
					s.Cancel(user, mine[i])
				}
				tickets[user] = append(append([]*Waiter{}, mine[:i]...), mine[i+1:]...)
			} else {
				tickets[user] = append(mine, s.Acquire(user))
			}
			held, eligible := 0, false
			for user, mine := range tickets {
				n := 0
				for _, ticket := range mine {
					if isGranted(ticket) {
						n++
					}
				}
				if held += n; user != "" && n > s.perUser {
					t.Fatalf("%q holds %d slots of %d", user, n, slots)
				}
				eligible = eligible || n < len(mine) && (user == "" || n < s.perUser)
			}
			if held+s.free != slots || s.free > 0 && eligible {
				t.Fatalf("%d of %d slots are held, %d are free, somebody waits: %v", held, slots, s.free, eligible)
			}
		}
	})
}

func TestSemaphoreBoundsHoldersAtOnce(t *testing.T) {
	t.Parallel()
	const slots = 4
	s := NewSemaphore(slots)
	var all sync.WaitGroup
	var now, maximum atomic.Int64
	for i := range 16 {
		all.Go(func() {
			user := fmt.Sprint(i % 3)
			for range 300 {
				if t := s.Acquire(user); t != nil {
					<-t.Granted
				}
				maximum.Store(max(maximum.Load(), now.Add(1)))
				now.Add(-1)
				s.Release(user)
			}
		})
	}
	all.Wait()
	if maximum.Load() > slots || s.free != slots || len(s.queue.held) > 0 || len(s.queue.waiting) > 0 {
		t.Errorf("%d held slots at once; at the end %d are free, %v held, %v waiting", maximum.Load(), s.free,
			s.queue.held,
			s.queue.waiting)
	}
}
