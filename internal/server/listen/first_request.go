package listen

import (
	"sync"
	"time"
)

// firstRequests counts the connections whose first request has not reached the handler: a shutdown of an http.Server
// closes them without an answer, and a proxy must not repeat what it has sent.
type firstRequests struct{ waiting sync.WaitGroup }

// add counts a connection until began is called.
func (f *firstRequests) add() (began func()) {
	f.waiting.Add(1)
	return sync.OnceFunc(f.waiting.Done)
}

// wait returns once no connection waits for its first request, or after a time.
func (f *firstRequests) wait(most time.Duration) {
	all := make(chan struct{})
	go func() {
		f.waiting.Wait()
		close(all)
	}()
	select {
	case <-all:
	case <-time.After(most):
	}
}
