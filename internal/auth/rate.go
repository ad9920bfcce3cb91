package auth

import (
	"sync"
	"time"
)

// rates limits how quickly a credential calls, by the generic cell rate
// algorithm (ITU-T I.371, annex A): for each one it keeps the time at which
// the next call would be due if all came evenly.
type rates struct {
	every time.Duration // between two calls
	slack time.Duration // how far calls may run ahead
	mu    sync.Mutex
	due   map[string]time.Time
}

func newRates(perMinute, burst int) *rates {
	r := &rates{due: map[string]time.Time{}}
	if perMinute > 0 {
		r.every = time.Minute / time.Duration(perMinute)
		r.slack = r.every * time.Duration(max(burst, 1)-1)
	}
	return r
}

// take lets a call through, or returns how long it has to wait.
func (r *rates) take(id string, now time.Time) time.Duration {
	if r.every == 0 {
		return 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	due := r.due[id]
	if due.Before(now) {
		due = now
	}
	if wait := due.Sub(now) - r.slack; wait > 0 {
		return wait
	}
	r.due[id] = due.Add(r.every)
	return 0
}

// forget drops credentials that have nothing to wait for.
func (r *rates) forget(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for id, due := range r.due {
		if due.Before(now) {
			delete(r.due, id)
		}
	}
}
