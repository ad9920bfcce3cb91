package service

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/loci-memory/loci"
)

// waitUntil returns when the condition holds.
func waitUntil(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("still not: ", what)
		}
	}
}

func (q *hashQueue) waitingAs(p hashPriority) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waiting[p])
}

func TestHashQueueServesSignInsFirst(t *testing.T) {
	t.Parallel()
	q := newHashQueue(1, [hashPriorities]int{2, 50})
	hold := make(chan struct{})
	var order []hashPriority // written by the holder of the one slot
	var all sync.WaitGroup
	hash := func(p hashPriority, f func()) {
		all.Go(func() {
			if err := q.run(t.Context(), p, func() { f(); order = append(order, p) }); err != nil {
				t.Error(err)
			}
		})
	}
	hash(hashSignUp, func() { <-hold })
	waitUntil(t, "the slot is taken", func() bool { q.mu.Lock(); defer q.mu.Unlock(); return q.free == 0 })
	for range 50 {
		hash(hashSignUp, func() {})
	}
	waitUntil(t, "all wait", func() bool { return q.waitingAs(hashSignUp) == 50 })
	hash(hashSignIn, func() {})
	waitUntil(t, "the sign-in waits", func() bool { return q.waitingAs(hashSignIn) == 1 })
	close(hold)
	all.Wait()
	if len(order) != 52 || slices.Index(order, hashSignIn) != 1 {
		t.Errorf("the sign-in was number %d of %d", slices.Index(order, hashSignIn), len(order))
	}
	if q.free != 1 {
		t.Errorf("%d slots are free", q.free)
	}
}

func TestHashQueueRefusesWhenFull(t *testing.T) {
	t.Parallel()
	q := newHashQueue(1, [hashPriorities]int{1, 1})
	if err := q.acquire(t.Context(), hashSignUp); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 2)
	go func() { done <- q.run(t.Context(), hashSignUp, func() {}) }()
	waitUntil(t, "one waits", func() bool { return q.waitingAs(hashSignUp) == 1 })
	err := q.run(t.Context(), hashSignUp, func() { t.Error("ran") })
	if !loci.Is(err, loci.Unavailable) || loci.AsError(err).Retry <= 0 {
		t.Errorf("one more is answered %v", err)
	}
	go func() { done <- q.run(t.Context(), hashSignIn, func() {}) }()
	waitUntil(t, "a sign-in waits all the same", func() bool { return q.waitingAs(hashSignIn) == 1 })
	q.release()
	for range 2 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func TestHashQueueForgetsCallersThatLeave(t *testing.T) {
	t.Parallel()
	q := newHashQueue(1, [hashPriorities]int{1, 1})
	if err := q.acquire(t.Context(), hashSignIn); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- q.run(ctx, hashSignIn, func() { t.Error("ran") }) }()
	waitUntil(t, "one waits", func() bool { return q.waitingAs(hashSignIn) == 1 })
	cancel()
	if err := <-done; err != context.Canceled {
		t.Error(err)
	}
	if q.waitingAs(hashSignIn) != 0 {
		t.Error("it still waits")
	}
	// A turn that comes while its caller leaves goes to the next one.
	turn := make(chan struct{})
	close(turn)
	q.leave(hashSignIn, turn)
	if q.free != 1 {
		t.Errorf("%d slots are free", q.free)
	}
	if err := q.run(ctx, hashSignIn, func() { t.Error("ran") }); err != context.Canceled {
		t.Error(err)
	}
}
