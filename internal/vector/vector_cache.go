package vector

import (
	"bytes"

	"github.com/loci-memory/loci/internal/cache"
)

// cacheShare is the share of the vectors in the budget: 16 MiB of 128, or 29,000 vectors of 384 dimensions.
const cacheShare = 8

// A Cache keeps stored vectors. A key always names the same vector. It is safe for concurrent use.
type Cache struct {
	entries *cache.Cache[int64, cachedVector]
}

type cachedVector struct {
	workspace int64
	chunk     int
	stored    []byte
}

// NewCache returns a cache that takes at most a share of a budget.
func NewCache(b *cache.Budget) *Cache {
	return &Cache{cache.New(b, "vectors", func(_ int64, v cachedVector) int { return cap(v.stored) + 48 }).
		AtMost(b.Limit() / cacheShare)}
}

// Each calls f for each key whose vector is cached, with its index in the list. It returns the other keys.
func (c *Cache) Each(keys []int64, f func(i int, workspace int64, chunk int, vector []byte)) (others []int64) {
	for i, key := range keys {
		if v := c.entries.Get(key); v.stored != nil {
			f(i, v.workspace, v.chunk, v.stored)
		} else {
			others = append(others, key)
		}
	}
	return others
}

// Put stores a copy of a vector.
func (c *Cache) Put(key, workspace int64, chunk int, vector []byte) {
	c.entries.Put(key, cachedVector{workspace, chunk, bytes.Clone(vector)})
}
