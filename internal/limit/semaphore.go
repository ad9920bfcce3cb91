package limit

import (
	"context"
	"sync"
	"time"
)

// A Semaphore shares units, such as slots or bytes, fairly between keys. The waiting caller whose key holds the fewest
// units gets free ones, and several such keys take turns. The callers of a key and class are served in the order of
// their arrival. The service itself, the zero key, goes first.
type Semaphore[K comparable] struct {
	b        Bounds
	mu       sync.Mutex
	used     int
	held     map[K]int              // units by key, shared by the queues
	queues   []Queue[K, *Waiter[K]] // by class
	releases int
}

// Bounds are the bounds of a semaphore. A bound of 0 is none.
type Bounds struct {
	Total  int // units that all keys hold at once; callers take one unit each
	PerKey int // units of a key, which may exceed it by one caller alone; the service itself has no such bound
	// Classes are the callers of each class that may wait, the most urgent class first. None is one class without a
	// bound.
	Classes       []int
	WaitingPerKey int           // units of a key that may wait
	Timeout       time.Duration // of a wait
	Refusal       Refusal       // of a caller beyond the bounds
}

// lowerShare is the number of releases of which the lower classes get one while they wait.
const lowerShare = 4

// A Waiter is a caller that waits for units.
type Waiter[K comparable] struct {
	Granted chan struct{} // closed once the caller holds its units or is refused
	class   int
	key     K
	units   int
	refused bool
}

// NewSemaphore returns a semaphore with bounds.
func NewSemaphore[K comparable](b Bounds) *Semaphore[K] {
	s := &Semaphore[K]{b: b, held: map[K]int{}}
	for range max(1, len(b.Classes)) {
		q := NewQueue[K, *Waiter[K]]()
		q.held = s.held
		s.queues = append(s.queues, q)
	}
	return s
}

// NewSlots returns a semaphore of slots. A quarter of them, rounded down but at least one, is denied to each key. A
// key may hold a single slot.
func NewSlots[K comparable](slots int) *Semaphore[K] {
	return NewSemaphore[K](Bounds{Total: slots, PerKey: max(1, slots-max(1, slots/4))})
}

// Acquire waits for units of a key until they are free, the context ends, or the bounds refuse a caller of its class.
// It takes free units under an ended context too.
func (s *Semaphore[K]) Acquire(ctx context.Context, class int, key K, units int) (release func(), err error) {
	if w := s.Request(class, key, units); w != nil {
		if err := s.wait(ctx, w); err != nil {
			return nil, err
		}
	}
	return func() { s.Release(key, units) }, nil
}

func (s *Semaphore[K]) wait(ctx context.Context, w *Waiter[K]) (err error) {
	var late <-chan time.Time
	if s.b.Timeout > 0 {
		timer := time.NewTimer(s.b.Timeout)
		defer timer.Stop()
		late = timer.C
	}
	select {
	case <-w.Granted:
		if w.refused {
			err = s.refusal()
		}
		return err
	case <-ctx.Done():
		err = ctx.Err()
	case <-late:
		err = s.refusal()
	}
	s.Cancel(w)
	return err
}

func (s *Semaphore[K]) refusal() error { return s.b.Refusal.Error(s.b.Refusal.RetryAfter) }

// TryAcquire takes units of a key, or is refused at once.
func (s *Semaphore[K]) TryAcquire(key K, units int) (release func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.tryAcquire(0, key, units) {
		return nil, s.refusal()
	}
	return func() { s.Release(key, units) }, nil
}

// Request takes units and returns nil, or returns a waiter if they are not free for the key.
func (s *Semaphore[K]) Request(class int, key K, units int) *Waiter[K] {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tryAcquire(class, key, units) {
		return nil
	}
	w := &Waiter[K]{make(chan struct{}), class, key, units, false}
	if s.refuses(w) {
		w.refuse()
		return w
	}
	s.queues[class].Push(key, units, w)
	return w
}

func (s *Semaphore[K]) tryAcquire(class int, key K, units int) bool {
	if !s.fits(key, units) || len(s.queues[class].waiting[key]) > 0 {
		return false
	}
	s.hold(key, units)
	return true
}

// Take takes units, even beyond the bounds.
func (s *Semaphore[K]) Take(key K, units int) (release func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hold(key, units)
	return func() { s.Release(key, units) }
}

func (s *Semaphore[K]) hold(key K, units int) {
	s.used += units
	s.held[key] += units
}

func (s *Semaphore[K]) fits(key K, units int) bool {
	if s.b.Total > 0 && s.used+units > s.b.Total {
		return false
	}
	held := s.held[key]
	return s.b.PerKey == 0 || held == 0 || held+units <= s.b.PerKey || key == *new(K)
}

// refuses reports whether a caller may not wait. It makes a place in a full class: it refuses the last waiter of the
// key with the most waiters, unless that has at most one more than the caller's key.
func (s *Semaphore[K]) refuses(w *Waiter[K]) bool {
	q := &s.queues[w.class]
	if s.b.WaitingPerKey > 0 {
		units := w.units
		for _, e := range q.waiting[w.key] {
			units += e.units
		}
		if units > s.b.WaitingPerKey {
			return true
		}
	}
	if len(s.b.Classes) == 0 || q.Len() < s.b.Classes[w.class] {
		return false
	}
	last, ok := q.PopMost(w.key)
	if ok {
		last.refuse()
	}
	return !ok
}

func (w *Waiter[K]) refuse() {
	w.refused = true
	close(w.Granted)
}

// Release returns units of a key, which the next waiters get.
func (s *Semaphore[K]) Release(key K, units int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.release(key, units)
}

func (s *Semaphore[K]) release(key K, units int) {
	s.used -= units
	s.queues[0].Release(key, units)
	s.releases++
	s.grant()
}

// grant gives free units to waiters.
func (s *Semaphore[K]) grant() {
	for s.b.Total == 0 || s.used < s.b.Total {
		w, ok := s.next()
		if !ok {
			return
		}
		s.used += w.units
		close(w.Granted)
	}
}

// next removes the waiter that is served next, from the most urgent class except for one release in lowerShare.
func (s *Semaphore[K]) next() (w *Waiter[K], ok bool) {
	last := len(s.queues) - 1
	for i := range s.queues {
		if s.releases%lowerShare == 0 {
			i = last - i
		}
		if w, ok = s.queues[i].Pop(s.fits); ok {
			return w, true
		}
	}
	return nil, false
}

// Cancel ends a wait. It releases units that were granted meanwhile.
func (s *Semaphore[K]) Cancel(w *Waiter[K]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.queues[w.class].Remove(w.key, w):
		s.grant() // the next caller of the key may need less
	case !w.refused:
		s.release(w.key, w.units)
	}
}

// Total returns the bound of the units.
func (s *Semaphore[K]) Total() int { return s.b.Total }

// InUse returns the number of units that callers hold.
func (s *Semaphore[K]) InUse() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used
}

// Waiting returns the number of callers of a class that wait.
func (s *Semaphore[K]) Waiting(class int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.queues[class].Len()
}
