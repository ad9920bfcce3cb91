package fairqueue

import "sync"

// A Semaphore shares the slots of a pool. The waiting user with the fewest slots gets a free slot. No user holds all
// slots, unless there is only one. The service itself has no such limit.
type Semaphore struct {
	mu       sync.Mutex
	capacity int
	free     int
	perUser  int // most slots of one user
	queue    Queue[*Waiter]
}

// A Waiter is a caller that waits for a slot.
type Waiter struct {
	Granted chan struct{} // closed once the caller holds a slot
}

// NewSemaphore returns a semaphore with free slots. A quarter of them, rounded down but at least one, is denied to each
// user. A user may hold a single slot.
func NewSemaphore(slots int) *Semaphore {
	return &Semaphore{capacity: slots, free: slots, perUser: max(1, slots-max(1, slots/4)), queue: NewQueue[*Waiter]()}
}

// Acquire takes a slot and returns nil, or returns a waiter if none is free for the user.
func (s *Semaphore) Acquire(user string) *Waiter {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.free > 0 && s.canAcquire(user) {
		s.free--
		s.queue.held[user]++
		return nil
	}
	w := &Waiter{Granted: make(chan struct{})}
	s.queue.Push(user, w)
	return w
}

func (s *Semaphore) canAcquire(user string) bool { return user == "" || s.queue.held[user] < s.perUser }

// Release returns a slot, which the next waiter gets.
func (s *Semaphore) Release(user string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free++
	s.queue.Release(user)
	if w, ok := s.queue.Pop(s.canAcquire); ok {
		s.free--
		close(w.Granted)
	}
}

// Cancel ends a wait. It releases a slot that was granted meanwhile.
func (s *Semaphore) Cancel(user string, w *Waiter) {
	s.mu.Lock()
	waited := s.queue.Remove(user, w)
	s.mu.Unlock()
	if !waited {
		s.Release(user)
	}
}

// Capacity returns the number of slots.
func (s *Semaphore) Capacity() int { return s.capacity }

// InUse returns the number of slots that callers hold.
func (s *Semaphore) InUse() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.capacity - s.free
}
