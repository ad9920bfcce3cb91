// Package cache bounds a map in memory by the number and the total size of its values.
package cache

import (
	"container/list"
	"sync"
)

// A Cache maps keys to values. Beyond its limits it evicts the least recently used values.
type Cache[K comparable, V any] struct {
	mu         sync.Mutex
	elements   map[K]*list.Element
	entries    list.List // of entry[K, V], the most recently used first
	total      int
	maxEntries int
	maxTotal   int
	sizeOf     func(V) int
}

type entry[K comparable, V any] struct {
	key   K
	value V
}

// New returns an empty cache with limits of the number of values and of the sum of their sizes.
func New[K comparable, V any](maxEntries, maxTotal int, sizeOf func(V) int) *Cache[K, V] {
	return &Cache[K, V]{elements: map[K]*list.Element{}, maxEntries: maxEntries, maxTotal: maxTotal, sizeOf: sizeOf}
}

// Get returns the value of a key, or the zero value.
func (c *Cache[K, V]) Get(key K) (value V) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.elements[key]; e != nil {
		c.entries.MoveToFront(e)
		return e.Value.(entry[K, V]).value
	}
	return value
}

// Put stores a value in place of that of the key. It does not store a value that alone exceeds the limits.
func (c *Cache[K, V]) Put(key K, value V) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.remove(c.elements[key])
	size := c.sizeOf(value)
	if size > c.maxTotal {
		return
	}
	c.elements[key] = c.entries.PushFront(entry[K, V]{key, value})
	c.total += size
	for len(c.elements) > c.maxEntries || c.total > c.maxTotal {
		c.remove(c.entries.Back())
	}
}

// Remove deletes the value of a key.
func (c *Cache[K, V]) Remove(key K) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.remove(c.elements[key])
}

// RemoveFunc deletes the values for which matches returns true.
func (c *Cache[K, V]) RemoveFunc(matches func(V) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range c.elements {
		if matches(e.Value.(entry[K, V]).value) {
			c.remove(e)
		}
	}
}

func (c *Cache[K, V]) remove(e *list.Element) {
	if e != nil {
		x := c.entries.Remove(e).(entry[K, V])
		c.total -= c.sizeOf(x.value)
		delete(c.elements, x.key)
	}
}
