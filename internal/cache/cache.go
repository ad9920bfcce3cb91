// Package cache bounds a map in memory by the number and the total size of its values.
package cache

import "sync"

// A Cache maps keys to values. It evicts arbitrary values beyond its limits.
type Cache[K comparable, V any] struct {
	mu         sync.Mutex
	entries    map[K]V
	total      int
	maxEntries int
	maxTotal   int
	sizeOf     func(V) int
}

// New returns an empty cache with limits of the number of values and of the sum of their sizes.
func New[K comparable, V any](maxEntries, maxTotal int, sizeOf func(V) int) *Cache[K, V] {
	return &Cache[K, V]{entries: map[K]V{}, maxEntries: maxEntries, maxTotal: maxTotal, sizeOf: sizeOf}
}

// Get returns the value of a key, or the zero value.
func (c *Cache[K, V]) Get(key K) V {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.entries[key]
}

// Put stores a value. It keeps one that alone exceeds the limits.
func (c *Cache[K, V]) Put(key K, value V) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.remove(key)
	c.entries[key] = value
	c.total += c.sizeOf(value)
	for other := range c.entries { // in random order
		if len(c.entries) <= c.maxEntries && c.total <= c.maxTotal || len(c.entries) == 1 {
			return
		}
		if other != key {
			c.remove(other)
		}
	}
}

// Remove deletes the value of a key.
func (c *Cache[K, V]) Remove(key K) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.remove(key)
}

func (c *Cache[K, V]) remove(key K) {
	if value, ok := c.entries[key]; ok {
		c.total -= c.sizeOf(value)
		delete(c.entries, key)
	}
}
