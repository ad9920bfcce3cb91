package store

import (
	"slices"
	"sync"
)

// A semaphore hands out the places of a pool. It is fair between users: a free
// place goes to the waiting user who holds fewest, and no user holds all of them.
// The work of the service itself has no user: it comes first and has no bound.
type semaphore struct {
	mu      sync.Mutex
	places  int
	free    int
	perUser int
	held    map[string]int       // places by user
	waiting map[string][]*ticket // by user, in order of arrival
	arrived uint64
}

// A ticket waits for a place.
type ticket struct {
	number  uint64
	granted chan struct{} // closed once it holds the place
}

// newSemaphore keeps a quarter of the places from each user, and one at least.
func newSemaphore(places int) *semaphore {
	return &semaphore{places: places, free: places, perUser: max(1, places-max(1, places/4)),
		held: map[string]int{}, waiting: map[string][]*ticket{}}
}

// acquire takes a place. Where none is free for the user it returns a ticket.
func (s *semaphore) acquire(user string) *ticket {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.free > 0 && s.may(user) {
		s.hold(user)
		return nil
	}
	s.arrived++
	t := &ticket{number: s.arrived, granted: make(chan struct{})}
	s.waiting[user] = append(s.waiting[user], t)
	return t
}

// tryAcquire takes a place, and reports whether one was free.
func (s *semaphore) tryAcquire(user string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.free == 0 || !s.may(user) {
		return false
	}
	s.hold(user)
	return true
}

// inUse returns how many places are held.
func (s *semaphore) inUse() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.places - s.free
}

func (s *semaphore) may(user string) bool { return user == "" || s.held[user] < s.perUser }

func (s *semaphore) hold(user string) {
	s.free--
	s.held[user]++
}

// release gives a place back.
func (s *semaphore) release(user string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free++
	if s.held[user]--; s.held[user] == 0 {
		delete(s.held, user)
	}
	s.grant()
}

// grant gives a free place to the user who waits and holds fewest; of several, to
// the one who came first.
func (s *semaphore) grant() {
	next, found := "", false
	for user, tickets := range s.waiting {
		if !s.may(user) {
			continue
		}
		n, least := s.rank(user), s.rank(next)
		if !found || n < least || n == least && tickets[0].number < s.waiting[next][0].number {
			next, found = user, true
		}
	}
	if !found || s.free == 0 {
		return
	}
	s.hold(next)
	close(s.waiting[next][0].granted)
	s.remove(next, 0)
}

// rank orders those who wait: the lowest is the next.
func (s *semaphore) rank(user string) int {
	if user == "" {
		return -1
	}
	return s.held[user]
}

// abandon ends a wait. A place that was granted meanwhile goes to the next.
func (s *semaphore) abandon(user string, t *ticket) {
	s.mu.Lock()
	i := slices.Index(s.waiting[user], t)
	if i >= 0 {
		s.remove(user, i)
	}
	s.mu.Unlock()
	if i < 0 {
		s.release(user)
	}
}

func (s *semaphore) remove(user string, i int) {
	if s.waiting[user] = slices.Delete(s.waiting[user], i, i+1); len(s.waiting[user]) == 0 {
		delete(s.waiting, user)
	}
}
