// Package cache bounds maps in memory by the bytes of their values. Caches share one budget: see Budget.
package cache

import (
	"container/list"
	"sync"
)

// A Cache maps keys to values. It is safe for concurrent use.
type Cache[K comparable, V any] struct {
	budget   *Budget
	name     string
	sizeOf   func(K, V) int
	mu       sync.Mutex
	elements map[K]*list.Element
	entries  list.List // of *entry[K, V], the most recently used first
	bytes    int
	maximum  int // of bytes; 0 is none
}

type entry[K comparable, V any] struct {
	key   K
	value V
	size  int   // as it was weighed last
	used  int64 // when it was used last, by the budget's count of uses
}

// entryBytes is about the size of an entry beside key and value: the entry, its element of the list and its slot of
// the map.
const entryBytes = 160

// New returns an empty cache of a budget. The name is that of its gauge. sizeOf returns the bytes of a key and a value
// beyond what every entry needs. Values may grow: each use weighs its value again. Without a budget the cache has one
// of its own.
func New[K comparable, V any](b *Budget, name string, sizeOf func(K, V) int) *Cache[K, V] {
	if b == nil {
		b = NewBudget(0)
	}
	c := &Cache[K, V]{budget: b, name: name, sizeOf: sizeOf, elements: map[K]*list.Element{}}
	b.add(c)
	return c
}

// AtMost limits the cache to a number of bytes, for values that are soon out of date. It returns the cache.
func (c *Cache[K, V]) AtMost(bytes int) *Cache[K, V] {
	c.maximum = bytes
	return c
}

// Get returns the value of a key, or the zero value.
func (c *Cache[K, V]) Get(key K) (value V) {
	c.mu.Lock()
	at := c.elements[key]
	if at == nil {
		c.mu.Unlock()
		return value
	}
	e := at.Value.(*entry[K, V])
	use := c.budget.countUse()
	value, e.used = e.value, use
	c.entries.MoveToFront(at)
	grown := c.resize(e, entryBytes+c.sizeOf(key, e.value))
	c.mu.Unlock()
	if grown != 0 {
		c.budget.change(grown, use)
	}
	return value
}

// resize notes the size of an entry and returns what it adds to the budget.
func (c *Cache[K, V]) resize(e *entry[K, V], size int) (grown int) {
	grown = c.budget.weigh(size) - c.budget.weigh(e.size)
	c.bytes += size - e.size
	e.size = size
	return grown
}

// Put stores a value in place of that of the key.
func (c *Cache[K, V]) Put(key K, value V) {
	c.mu.Lock()
	grown := c.remove(c.elements[key])
	e := &entry[K, V]{key: key, value: value, used: c.budget.countUse()}
	use := e.used
	c.elements[key] = c.entries.PushFront(e)
	grown += c.resize(e, entryBytes+c.sizeOf(key, value))
	for c.maximum > 0 && c.bytes > c.maximum && len(c.elements) > 1 {
		grown += c.remove(c.entries.Back())
	}
	c.mu.Unlock()
	c.budget.change(grown, use)
}

// Remove deletes the value of a key.
func (c *Cache[K, V]) Remove(key K) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.budget.used.Add(int64(c.remove(c.elements[key])))
}

// RemoveFunc deletes the values for which matches returns true.
func (c *Cache[K, V]) RemoveFunc(matches func(V) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, at := range c.elements {
		if matches(at.Value.(*entry[K, V]).value) {
			c.budget.used.Add(int64(c.remove(at)))
		}
	}
}

// remove deletes an entry, if there is one, and returns what it adds to the budget.
func (c *Cache[K, V]) remove(at *list.Element) int {
	if at == nil {
		return 0
	}
	e := c.entries.Remove(at).(*entry[K, V])
	delete(c.elements, e.key)
	return c.resize(e, 0)
}

func (c *Cache[K, V]) usage() Usage {
	c.mu.Lock()
	defer c.mu.Unlock()
	return Usage{c.name, c.bytes}
}

// oldest returns when the least recently used value was used, if the cache has more than a number of bytes.
func (c *Cache[K, V]) oldest(minimum int) (used int64, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := c.entries.Back()
	if at == nil || c.bytes <= minimum {
		return 0, false
	}
	return at.Value.(*entry[K, V]).used, true
}

func (c *Cache[K, V]) evictOldest() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.budget.used.Add(int64(c.remove(c.entries.Back())))
}
