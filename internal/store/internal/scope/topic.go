package scope

import "sync"

// A Topic has subscribers in this process.
type Topic[T any] struct {
	mu          sync.RWMutex // protects the subscribers
	subscribers []func(T)
}

// Subscribe calls f with each later value.
func (t *Topic[T]) Subscribe(f func(T)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.subscribers = append(t.subscribers, f)
}

// Publish passes a value to the subscribers.
func (t *Topic[T]) Publish(v T) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	for _, f := range t.subscribers {
		f(v)
	}
}
