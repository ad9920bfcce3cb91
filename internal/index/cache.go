package index

import (
	"math"

	"github.com/loci-memory/loci/internal/cache"
)

// DefaultCacheBytes is the size of a cache that holds all postings of about 100,000 notes and their spelling
// dictionaries.
const DefaultCacheBytes = 32 << 20

// Cache holds pages and spelling dictionaries of segments, bounded in bytes. Segments never change, so no entry
// expires. Within one cache no two segments may share an id. A cache is safe for concurrent use.
type Cache struct {
	entries *cache.Cache[cacheKey, *cacheEntry]
}

// cacheKey identifies a page of a segment, or the dictionary of its words with one first letter.
type cacheKey struct {
	segment int64
	page    int
	letter  rune
}

type cacheEntry struct {
	page []byte
	dict *spellingDict
}

// entryOverhead is about the size of an entry beside its data, in bytes: key, value and slot of the map.
const entryOverhead = 200

// NewCache returns a cache of limit bytes.
func NewCache(limit int) *Cache {
	return &Cache{cache.New[cacheKey](math.MaxInt, limit, (*cacheEntry).sizeBytes)}
}

// sizeBytes returns the size of an entry in RAM.
func (e *cacheEntry) sizeBytes() int {
	if e.dict != nil {
		return entryOverhead + e.dict.sizeBytes()
	}
	return entryOverhead + len(e.page)
}

// ReadThrough returns a PageFetcher that reads from the cache, and fetches and caches missing pages.
func (c *Cache) ReadThrough(fetch PageFetcher) PageFetcher {
	return func(segment int64, page int) ([]byte, error) {
		key := cacheKey{segment: segment, page: page}
		if x := c.entries.Get(key); x != nil {
			return x.page, nil
		}
		data, err := fetch(segment, page)
		if err == nil {
			c.entries.Put(key, &cacheEntry{page: data})
		}
		return data, err
	}
}
