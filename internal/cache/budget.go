package cache

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
)

// DefaultBytes is the limit of a budget for which none is set.
const DefaultBytes = 128 << 20

// A Budget bounds the bytes of caches together. Beyond the limit it evicts the least recently used values of all. No
// cache loses values while it has less than its part of half the limit, so that one cannot starve the others. A value
// counts as at most three quarters of the limit: one that exceeds it alone is kept beside few others while it is used.
type Budget struct {
	limit int
	used  atomic.Int64 // bytes
	uses  atomic.Int64 // of all values

	mu     sync.Mutex // of evictions and of the list
	caches []member
}

// A member is a cache of a budget.
type member interface {
	usage() Usage
	oldest(minimum int) (used int64, ok bool)
	evictOldest()
}

// A Usage is the bytes of a cache.
type Usage struct {
	Name  string
	Bytes int
}

// NewBudget returns a budget of a number of bytes; 0 is DefaultBytes.
func NewBudget(limit int) *Budget { return &Budget{limit: cmp.Or(limit, DefaultBytes)} }

// Limit returns the bytes that the caches may have together.
func (b *Budget) Limit() int { return b.limit }

// Usages returns the bytes of the caches by their names. Caches of one name count as one.
func (b *Budget) Usages() (list []Usage) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.caches {
		u := c.usage()
		if i := slices.IndexFunc(list, func(x Usage) bool { return x.Name == u.Name }); i >= 0 {
			list[i].Bytes += u.Bytes
		} else {
			list = append(list, u)
		}
	}
	return list
}

func (b *Budget) add(c member) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.caches = append(b.caches, c)
}

// weigh returns what a value of a size counts in the budget.
func (b *Budget) weigh(size int) int { return min(size, b.limit-b.limit/4) }

func (b *Budget) countUse() int64 { return b.uses.Add(1) }

// change notes a change of the bytes and evicts what exceeds the limit, except the value with the use that caused it.
func (b *Budget) change(bytes int, use int64) {
	if b.used.Add(int64(bytes)) <= int64(b.limit) {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	minimum := b.limit / 2 / len(b.caches)
	for b.used.Load() > int64(b.limit) {
		var victim member
		before := use
		for _, c := range b.caches {
			if used, ok := c.oldest(minimum); ok && used < before {
				victim, before = c, used
			}
		}
		if victim == nil {
			return
		}
		victim.evictOldest()
	}
}
