package limit

import (
	"container/list"
	"slices"
	"sync"
	"time"

	"github.com/loci-memory/loci"
)

// AttemptWindow is the window in which attempts are counted.
const AttemptWindow = 15 * time.Minute

// Attempts bound how often each key attempts something within any window: a sliding window log.
type Attempts[K comparable] struct {
	clock   loci.Clock
	window  time.Duration
	limit   int // 0 turns the limit off
	maxKeys int
	refusal Refusal

	mu   sync.Mutex
	logs map[K]*attemptLog[K]
	// The keys below their limit, and those at it, in the order of their last changes. Each has an attempt.
	below, reached list.List // of *attemptLog[K]
}

// An attemptLog holds the attempts of a key within the window, the oldest first.
type attemptLog[K comparable] struct {
	key     K
	times   []time.Time
	element *list.Element
	in      *list.List
}

// NewAttempts returns a limit of attempts of a key within AttemptWindow; 0 turns it off.
func NewAttempts[K comparable](clock loci.Clock, limit int, name, refusal string) *Attempts[K] {
	return NewAttemptsWithin[K](clock, AttemptWindow, limit, maxKeys,
		Refusal{Name: name, Code: loci.CodeRateLimited, Message: refusal})
}

// NewAttemptsWithin returns a limit of attempts of a key within a window, which counts at most maxKeys keys.
func NewAttemptsWithin[K comparable](clock loci.Clock, window time.Duration, limit, maxKeys int,
	refusal Refusal) *Attempts[K] {
	return &Attempts[K]{clock: clock, window: window, limit: limit, maxKeys: maxKeys, refusal: refusal,
		logs: map[K]*attemptLog[K]{}}
}

// Take counts an attempt under every key until release undoes it, or refuses it because of the checked keys. A
// refused attempt counts nowhere, so that it cannot evict the attempts of others.
func (a *Attempts[K]) Take(checked []K, also ...K) (release func(), err error) {
	if a.limit == 0 {
		return func() {}, nil
	}
	now := a.clock()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.evictExpired(&a.below, now)
	a.evictExpired(&a.reached, now)
	for _, key := range checked {
		if l := a.logs[key]; l != nil {
			l.times = slices.DeleteFunc(l.times, func(t time.Time) bool { return a.expired(t, now) })
			if len(l.times) == 0 {
				a.evict(l)
			} else if len(l.times) >= a.limit {
				return nil, a.refusal.Error(a.window - now.Sub(l.times[0]))
			}
		}
	}
	keys := slices.Concat(checked, also)
	for _, key := range keys {
		a.count(key, now)
	}
	return func() { a.release(keys, now) }, nil
}

func (a *Attempts[K]) expired(t, now time.Time) bool { return now.Sub(t) >= a.window }

// evictExpired evicts the keys of a list without attempts in the window.
func (a *Attempts[K]) evictExpired(from *list.List, now time.Time) {
	for e := from.Front(); e != nil; e = from.Front() {
		l := e.Value.(*attemptLog[K])
		if !a.expired(l.times[len(l.times)-1], now) {
			return
		}
		a.evict(l)
	}
}

func (a *Attempts[K]) count(key K, now time.Time) {
	l := a.logs[key]
	if l == nil {
		if len(a.logs) >= a.maxKeys {
			a.evictOne()
		}
		l = &attemptLog[K]{key: key}
		a.logs[key] = l
	}
	if len(l.times) >= a.limit { // of a key that was not checked
		l.times = slices.Delete(l.times, 0, 1)
	}
	l.times = append(l.times, now)
	a.move(l)
}

// evictOne evicts the key that is idle for longest, one below its limit if possible: many attempts under other keys do
// not free a key from its limit.
func (a *Attempts[K]) evictOne() {
	e := a.below.Front()
	if e == nil {
		e = a.reached.Front()
	}
	a.evict(e.Value.(*attemptLog[K]))
}

// move moves a key to the end of its list.
func (a *Attempts[K]) move(l *attemptLog[K]) {
	if l.element != nil {
		l.in.Remove(l.element)
	}
	l.in = &a.below
	if len(l.times) >= a.limit {
		l.in = &a.reached
	}
	l.element = l.in.PushBack(l)
}

func (a *Attempts[K]) evict(l *attemptLog[K]) {
	l.in.Remove(l.element)
	delete(a.logs, l.key)
}

func (a *Attempts[K]) release(keys []K, at time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, key := range keys {
		l := a.logs[key]
		if l == nil {
			continue
		}
		i := slices.Index(l.times, at)
		if i < 0 {
			continue
		}
		if l.times = slices.Delete(l.times, i, i+1); len(l.times) == 0 {
			a.evict(l)
		} else if l.in == &a.reached {
			a.move(l)
		}
	}
}
