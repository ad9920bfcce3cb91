package sqldb

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"
)

func isGranted(t *waiter) bool {
	if t == nil {
		return true
	}
	select {
	case <-t.granted:
		return true
	default:
		return false
	}
}

func TestSemaphoreServesUsersInTurns(t *testing.T) {
	t.Parallel()
	s := newSemaphore(4)
	var many []*waiter
	for range 20 {
		many = append(many, s.acquire("many"))
	}
	held := 0
	for _, ticket := range many {
		if isGranted(ticket) {
			held++
		}
	}
	if held != 3 {
		t.Fatalf("one user holds %d of 4 places, want 3", held)
	}
	if !isGranted(s.acquire("one")) || s.tryAcquire("") {
		t.Fatal("the place that is kept free is not for another user")
	}
	two, three, system := s.acquire("two"), s.acquire("three"), s.acquire("")
	s.release("many")
	if !isGranted(system) || isGranted(two) || isGranted(many[3]) {
		t.Error("a free place does not go to the service itself")
	}
	s.release("many")
	if !isGranted(two) || isGranted(three) || isGranted(many[3]) {
		t.Error("a free place does not go to the user who holds none and came first")
	}
	s.release("")
	if !isGranted(three) || isGranted(many[3]) {
		t.Error("a free place does not go to the next one who holds none")
	}
	s.cancel("many", many[3])
	s.release("one")
	if isGranted(many[3]) || !isGranted(many[4]) {
		t.Error("a place goes to a caller who left")
	}
	s.cancel("many", many[4]) // it was granted: the place is passed on
	if !isGranted(many[5]) {
		t.Error("the place of a caller who left is lost")
	}
}

// TestSemaphoreLosesNoPlace compares the semaphore with what its callers hold.
func TestSemaphoreLosesNoPlace(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		places := rapid.IntRange(1, 9).Draw(t, "places")
		s, users := newSemaphore(places), []string{"", "a", "b", "c"}
		tickets := map[string][]*waiter{}
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			user := rapid.SampledFrom(users).Draw(t, "user")
			if mine := tickets[user]; len(mine) > 0 && rapid.Bool().Draw(t, "end") {
				i := rapid.IntRange(0, len(mine)-1).Draw(t, "which")
				if isGranted(mine[i]) {
					s.release(user)
				} else {
					s.cancel(user, mine[i])
				}
				tickets[user] = append(append([]*waiter{}, mine[:i]...), mine[i+1:]...)
			} else {
				tickets[user] = append(mine, s.acquire(user))
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
					t.Fatalf("%q holds %d places of %d", user, n, places)
				}
				eligible = eligible || n < len(mine) && (user == "" || n < s.perUser)
			}
			if held+s.free != places || s.free > 0 && eligible {
				t.Fatalf("%d of %d places are held, %d are free, somebody waits: %v", held, places, s.free, eligible)
			}
		}
	})
}

func TestSemaphoreBoundsHoldersAtOnce(t *testing.T) {
	t.Parallel()
	const places = 4
	s := newSemaphore(places)
	var all sync.WaitGroup
	var now, maximum atomic.Int64
	for i := range 16 {
		all.Go(func() {
			user := fmt.Sprint(i % 3)
			for range 300 {
				if t := s.acquire(user); t != nil {
					<-t.granted
				}
				maximum.Store(max(maximum.Load(), now.Add(1)))
				now.Add(-1)
				s.release(user)
			}
		})
	}
	all.Wait()
	if maximum.Load() > places || s.free != places || len(s.held) > 0 || len(s.waiting) > 0 {
		t.Errorf("%d held places at once; at the end %d are free, %v held, %v waiting", maximum.Load(), s.free, s.held,
			s.waiting)
	}
}
