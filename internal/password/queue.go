package password

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/loci-memory/loci"
)

// A Priority orders the waiting callers.
type Priority int

// The priorities, the most urgent first.
const (
	SignIn Priority = iota
	SignUp
	priorities
)

// A Queue bounds how many passwords are hashed at once and how many callers wait, because each hash takes 19 MiB
// and some 20 ms of a processor. It is fair between networks. A slot goes to the network with the fewest running
// hashes, and a full queue refuses the network with the most waiting callers.
type Queue struct {
	bounds [priorities]int // callers that may wait

	mu       sync.Mutex
	free     int            // hashes that may begin
	running  map[string]int // by network
	releases int            // slots that were passed on
	waiters  [priorities][]*waiter
}

// A waiter waits for a slot.
type waiter struct {
	network string
	done    chan struct{} // closed when the waiter gets a slot or is refused
	refused bool
}

// signUpShare is the number of slots of which sign-ups get one while they wait.
const signUpShare = 4

func newQueue(slots int, bounds [priorities]int) *Queue {
	return &Queue{free: slots, bounds: bounds, running: map[string]int{}}
}

// run calls f in a slot, or returns Unavailable where too many callers wait already.
func (q *Queue) run(ctx context.Context, p Priority, network string, f func()) error {
	if err := q.Acquire(ctx, p, network); err != nil {
		return err
	}
	defer q.Release(network)
	f()
	return nil
}

var errFull = &loci.Error{Code: loci.CodeUnavailable, RetryAfter: 2 * time.Second,
	Message: "Too many people sign in or register at this moment: wait for Retry-After seconds."}

// Acquire waits for a slot, which Release ends.
func (q *Queue) Acquire(ctx context.Context, p Priority, network string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	q.mu.Lock()
	if q.free > 0 { // the queue is empty
		q.free--
		q.running[network]++
		q.mu.Unlock()
		return nil
	}
	if len(q.waiters[p]) >= q.bounds[p] && !q.evictFor(p, network) {
		q.mu.Unlock()
		return errFull
	}
	c := &waiter{network: network, done: make(chan struct{})}
	q.waiters[p] = append(q.waiters[p], c)
	q.mu.Unlock()
	select {
	case <-c.done:
		if c.refused {
			return errFull
		}
		return nil
	case <-ctx.Done():
		q.cancel(p, c)
		return ctx.Err()
	}
}

// evictFor makes a place for a caller of a network: it refuses the last caller of the network with the most callers. It
// returns false if that network has at most one caller more than the caller's own.
func (q *Queue) evictFor(p Priority, network string) bool {
	callers := map[string]int{}
	last, maximum := -1, 0
	for i, c := range q.waiters[p] {
		if callers[c.network]++; callers[c.network] >= maximum {
			last, maximum = i, callers[c.network]
		}
	}
	if last < 0 || maximum <= callers[network]+1 {
		return false
	}
	c := q.waiters[p][last]
	q.waiters[p] = slices.Delete(q.waiters[p], last, last+1)
	c.refused = true
	close(c.done)
	return true
}

// cancel removes a caller from the queue, and passes on a slot that it was granted meanwhile.
func (q *Queue) cancel(p Priority, c *waiter) {
	q.mu.Lock()
	i := slices.Index(q.waiters[p], c)
	if i >= 0 {
		q.waiters[p] = slices.Delete(q.waiters[p], i, i+1)
	}
	granted := i < 0 && !c.refused
	q.mu.Unlock()
	if granted {
		q.Release(c.network)
	}
}

// Free returns the number of free slots.
func (q *Queue) Free() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.free
}

// Waiting returns the number of callers of a priority that wait.
func (q *Queue) Waiting(p Priority) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waiters[p])
}

// Release passes the slot of a caller on to the next caller.
func (q *Queue) Release(network string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.running[network]--; q.running[network] <= 0 {
		delete(q.running, network)
	}
	q.releases++
	order := []Priority{SignIn, SignUp}
	if q.releases%signUpShare == 0 {
		slices.Reverse(order)
	}
	for _, p := range order {
		if len(q.waiters[p]) > 0 {
			q.grantNext(p)
			return
		}
	}
	q.free++
}

// grantNext grants a slot to the first caller of the network with the fewest running hashes.
func (q *Queue) grantNext(p Priority) {
	next := 0
	for i, c := range q.waiters[p] {
		if q.running[c.network] < q.running[q.waiters[p][next].network] {
			next = i
		}
	}
	c := q.waiters[p][next]
	q.waiters[p] = slices.Delete(q.waiters[p], next, next+1)
	q.running[c.network]++
	close(c.done)
}
