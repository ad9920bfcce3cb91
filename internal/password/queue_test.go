package password

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/loci-memory/loci"
)

// waitFor returns when the condition holds.
func waitFor(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("still not: ", what)
		}
	}
}

func TestQueueServesSignInsFirst(t *testing.T) {
	t.Parallel()
	q := newQueue(1, [priorities]int{2, 50})
	hold := make(chan struct{})
	var order []Priority // written by the holder of the one slot
	var all sync.WaitGroup
	hash := func(p Priority, f func()) {
		all.Go(func() {
			if err := q.run(t.Context(), p, "", func() { f(); order = append(order, p) }); err != nil {
				t.Error(err)
			}
		})
	}
	hash(SignUp, func() { <-hold })
	waitFor(t, "the slot is taken", func() bool { return q.Free() == 0 })
	for range 50 {
		hash(SignUp, func() {})
	}
	waitFor(t, "all wait", func() bool { return q.Waiting(SignUp) == 50 })
	hash(SignIn, func() {})
	waitFor(t, "the sign-in waits", func() bool { return q.Waiting(SignIn) == 1 })
	close(hold)
	all.Wait()
	if len(order) != 52 || slices.Index(order, SignIn) != 1 {
		t.Errorf("the sign-in was number %d of %d", slices.Index(order, SignIn), len(order))
	}
	if q.free != 1 {
		t.Errorf("%d slots are free", q.free)
	}
}

func TestQueueRefusesWhenFull(t *testing.T) {
	t.Parallel()
	q := newQueue(1, [priorities]int{1, 1})
	if err := q.Acquire(t.Context(), SignUp, ""); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 2)
	go func() { done <- q.run(t.Context(), SignUp, "", func() {}) }()
	waitFor(t, "one waits", func() bool { return q.Waiting(SignUp) == 1 })
	err := q.run(t.Context(), SignUp, "", func() { t.Error("ran") })
	if !loci.Is(err, loci.CodeUnavailable) || loci.AsError(err).RetryAfter <= 0 {
		t.Errorf("one more is answered %v", err)
	}
	go func() { done <- q.run(t.Context(), SignIn, "", func() {}) }()
	waitFor(t, "a sign-in waits all the same", func() bool { return q.Waiting(SignIn) == 1 })
	q.Release("")
	for range 2 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func TestQueueDropsCancelledCallers(t *testing.T) {
	t.Parallel()
	q := newQueue(1, [priorities]int{1, 1})
	if err := q.Acquire(t.Context(), SignIn, ""); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- q.run(ctx, SignIn, "", func() { t.Error("ran") }) }()
	waitFor(t, "one waits", func() bool { return q.Waiting(SignIn) == 1 })
	cancel()
	if err := <-done; err != context.Canceled {
		t.Error(err)
	}
	if q.Waiting(SignIn) != 0 {
		t.Error("it still waits")
	}
	// A slot that is granted to a cancelled caller passes on to the next one.
	granted := &waiter{done: make(chan struct{})}
	close(granted.done)
	q.cancel(SignIn, granted)
	if q.free != 1 {
		t.Errorf("%d slots are free", q.free)
	}
	if err := q.run(ctx, SignIn, "", func() { t.Error("ran") }); err != context.Canceled {
		t.Error(err)
	}
}

func TestQueueIsFairBetweenNetworks(t *testing.T) {
	t.Parallel()
	q := newQueue(1, [priorities]int{4, 1})
	if err := q.Acquire(t.Context(), SignIn, "flood"); err != nil {
		t.Fatal(err)
	}
	flood, victim := make(chan error, 8), make(chan error, 1)
	for range 4 {
		go func() { flood <- q.run(t.Context(), SignIn, "flood", func() {}) }()
	}
	waitFor(t, "the queue is full", func() bool { return q.Waiting(SignIn) == 4 })
	if err := q.run(t.Context(), SignIn, "flood", func() { t.Error("ran") }); !loci.Is(err, loci.CodeUnavailable) {
		t.Errorf("one more of the flood is answered %v", err)
	}
	order := make(chan int, 1)
	go func() {
		victim <- q.run(t.Context(), SignIn, "victim", func() { order <- q.Waiting(SignIn) })
	}()
	if err := <-flood; !loci.Is(err, loci.CodeUnavailable) {
		t.Errorf("the last of the flood is answered %v", err)
	}
	waitFor(t, "the victim waits", func() bool { return q.Waiting(SignIn) == 4 })
	q.mu.Lock()
	q.running["flood"]++ // as in another slot
	q.mu.Unlock()
	q.Release("flood")
	if n := <-order; n != 3 {
		t.Errorf("%d wait while the victim has its turn, want 3 of the flood", n)
	}
	if err := <-victim; err != nil {
		t.Error(err)
	}
	for range 3 {
		if err := <-flood; err != nil {
			t.Error(err)
		}
	}
}

func TestQueueDoesNotStarveSignUps(t *testing.T) {
	t.Parallel()
	q := newQueue(1, [priorities]int{50, 1})
	if err := q.Acquire(t.Context(), SignIn, ""); err != nil {
		t.Fatal(err)
	}
	var order []Priority // written by the holder of the one slot
	var all sync.WaitGroup
	for i := range 21 {
		p := SignIn
		if i == 20 {
			p = SignUp
		}
		all.Go(func() {
			if err := q.run(t.Context(), p, "", func() { order = append(order, p) }); err != nil {
				t.Error(err)
			}
		})
	}
	waitFor(t, "all wait", func() bool { return q.Waiting(SignIn) == 20 && q.Waiting(SignUp) == 1 })
	q.Release("")
	all.Wait()
	if n := slices.Index(order, SignUp); n < 0 || n >= signUpShare {
		t.Errorf("the sign-up was number %d of %d", n, len(order))
	}
}
