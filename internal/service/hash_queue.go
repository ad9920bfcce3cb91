package service

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/loci-memory/loci"
)

// A hashPriority says which of the waiting callers hashes next.
type hashPriority int

// The priorities, the most urgent first.
const (
	hashSignIn hashPriority = iota
	hashSignUp
	hashPriorities
)

// A hashQueue bounds how many passwords are hashed at once, because each hash takes
// 19 MiB and some 20 ms of a processor, and how many callers wait for their turn.
type hashQueue struct {
	bounds [hashPriorities]int // callers that may wait

	mu      sync.Mutex
	free    int // hashes that may begin
	waiting [hashPriorities][]chan struct{}
}

func newHashQueue(slots int, bounds [hashPriorities]int) *hashQueue {
	return &hashQueue{free: slots, bounds: bounds}
}

// run calls f in its turn, or returns Unavailable where too many wait already.
func (q *hashQueue) run(ctx context.Context, p hashPriority, f func()) error {
	if err := q.acquire(ctx, p); err != nil {
		return err
	}
	defer q.release()
	f()
	return nil
}

func (q *hashQueue) acquire(ctx context.Context, p hashPriority) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	q.mu.Lock()
	if q.free > 0 { // nobody waits
		q.free--
		q.mu.Unlock()
		return nil
	}
	if len(q.waiting[p]) >= q.bounds[p] {
		q.mu.Unlock()
		return &loci.Error{Code: loci.Unavailable, Retry: 2 * time.Second,
			Message: "Too many people sign in or register at this moment: wait for Retry-After seconds."}
	}
	turn := make(chan struct{})
	q.waiting[p] = append(q.waiting[p], turn)
	q.mu.Unlock()
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
		q.leave(p, turn)
		return ctx.Err()
	}
}

// leave takes a caller out of the queue, and passes on a turn that it got meanwhile.
func (q *hashQueue) leave(p hashPriority, turn chan struct{}) {
	q.mu.Lock()
	i := slices.Index(q.waiting[p], turn)
	if i >= 0 {
		q.waiting[p] = slices.Delete(q.waiting[p], i, i+1)
	}
	q.mu.Unlock()
	if i < 0 {
		q.release()
	}
}

// release hands the turn to the next caller.
func (q *hashQueue) release() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for p, callers := range q.waiting {
		if len(callers) > 0 {
			close(callers[0])
			q.waiting[p] = slices.Delete(callers, 0, 1)
			return
		}
	}
	q.free++
}
