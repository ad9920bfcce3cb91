package sqldb

import "sync"

// A semaphore hands out the places of a pool. It is fair between users: a free
// place goes to the waiting user who holds fewest, and no user holds all of them.
// The work of the service itself has no user: it comes first and has no bound.
type semaphore struct {
	mu       sync.Mutex
	capacity int
	free     int
	perUser  int
	turns[*waiter]
}

// A waiter waits for a place.
type waiter struct {
	granted chan struct{} // closed once it holds the place
}

// newSemaphore keeps a quarter of the places from each user, and one at least.
func newSemaphore(places int) *semaphore {
	return &semaphore{capacity: places, free: places, perUser: max(1, places-max(1, places/4)),
		turns: newTurns[*waiter]()}
}

// acquire takes a place. Where none is free for the user it returns a ticket.
func (s *semaphore) acquire(user string) *waiter {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.free > 0 && s.canAcquire(user) {
		s.take(user)
		return nil
	}
	t := &waiter{granted: make(chan struct{})}
	s.wait(user, t)
	return t
}

// tryAcquire takes a place, and reports whether one was free.
func (s *semaphore) tryAcquire(user string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.free == 0 || !s.canAcquire(user) {
		return false
	}
	s.take(user)
	return true
}

// inUse returns how many places are held.
func (s *semaphore) inUse() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.capacity - s.free
}

func (s *semaphore) canAcquire(user string) bool { return user == "" || s.held[user] < s.perUser }

func (s *semaphore) take(user string) {
	s.free--
	s.held[user]++
}

// release gives a place back, to the next who waits.
func (s *semaphore) release(user string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free++
	s.turns.release(user)
	if t, ok := s.next(s.canAcquire); ok {
		s.free--
		close(t.granted)
	}
}

// cancel ends a wait. A place that was granted meanwhile goes to the next.
func (s *semaphore) cancel(user string, t *waiter) {
	s.mu.Lock()
	waited := s.leave(user, t)
	s.mu.Unlock()
	if !waited {
		s.release(user)
	}
}
