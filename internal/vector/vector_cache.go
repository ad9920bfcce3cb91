package vector

import (
	"bytes"
	"math"

	"github.com/loci-memory/loci/internal/cache"
)

// DefaultCacheBytes is the size of a cache for some 15,000 vectors of 384 dimensions.
const DefaultCacheBytes = 8 << 20

// A Cache keeps stored vectors. A key always names the same vector. It is safe for concurrent use.
type Cache struct {
	entries *cache.Cache[int64, *cachedVector]
}

type cachedVector struct {
	chunk  int
	stored []byte
}

// cacheOverhead is about the size of an entry beside its vector, in bytes.
const cacheOverhead = 160

// NewCache returns a cache of a size in bytes.
func NewCache(bytes int) *Cache {
	return &Cache{cache.New[int64](math.MaxInt, bytes,
		func(v *cachedVector) int { return len(v.stored) + cacheOverhead })}
}

// Each calls f for each key whose vector is cached, with its index in the list. It returns the other keys.
func (c *Cache) Each(keys []int64, f func(i, chunk int, vector []byte)) (others []int64) {
	for i, key := range keys {
		if v := c.entries.Get(key); v != nil {
			f(i, v.chunk, v.stored)
		} else {
			others = append(others, key)
		}
	}
	return others
}

// Put stores a copy of a vector.
func (c *Cache) Put(key int64, chunk int, vector []byte) {
	c.entries.Put(key, &cachedVector{chunk, bytes.Clone(vector)})
}
