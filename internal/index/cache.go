package index

import (
	"container/list"
	"sync"
)

// DefaultCacheBytes is the size of a cache that holds all postings of about 100,000 notes and their spelling
// dictionaries.
const DefaultCacheBytes = 32 << 20

// Cache is an LRU cache of pages and spelling dictionaries of segments, bounded in bytes. Segments never change, so no
// entry expires. Within one cache no two segments may share an id. A cache is safe for concurrent use.
type Cache struct {
	mu      sync.Mutex
	limit   int
	size    int
	lru     list.List // of *cacheEntry, most recently used first
	entries map[cacheKey]*list.Element
}

// cacheKey identifies a page of a segment, or the dictionary of its words with a first letter.
type cacheKey struct {
	segment int64
	page    int
	letter  rune
}

type cacheEntry struct {
	cacheKey
	page []byte
	dict *spellingDict
	size int
}

// entryOverhead is about the memory that an entry takes beside its data, in bytes: a cacheEntry, an element of the list
// and its place in the map.
const entryOverhead = 200

// NewCache returns a cache of limit bytes.
func NewCache(limit int) *Cache {
	return &Cache{limit: limit, entries: map[cacheKey]*list.Element{}}
}

// ReadThrough returns a PageFetcher that reads from the cache, and fetches and caches missing pages.
func (c *Cache) ReadThrough(fetch PageFetcher) PageFetcher {
	return func(segment int64, page int) ([]byte, error) {
		key := cacheKey{segment: segment, page: page}
		if x, ok := c.get(key); ok {
			return x.page, nil
		}
		data, err := fetch(segment, page)
		if err == nil {
			c.put(&cacheEntry{cacheKey: key, page: data, size: len(data)})
		}
		return data, err
	}
}

// spellingDict returns the dictionary of the words of a segment with a first letter, if it is cached.
func (c *Cache) spellingDict(segment int64, letter rune) (*spellingDict, bool) {
	x, ok := c.get(cacheKey{segment: segment, letter: letter})
	if !ok {
		return nil, false
	}
	return x.dict, true
}

func (c *Cache) putSpellingDict(segment int64, letter rune, l *spellingDict) {
	c.put(&cacheEntry{cacheKey: cacheKey{segment: segment, letter: letter}, dict: l, size: l.memoryBytes()})
}

func (c *Cache) get(key cacheKey) (*cacheEntry, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.entries[key]
	if !ok {
		return nil, false
	}
	c.lru.MoveToFront(e)
	return e.Value.(*cacheEntry), true
}

func (c *Cache) put(x *cacheEntry) {
	x.size += entryOverhead
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.entries[x.cacheKey]; ok || x.size > c.limit {
		return
	}
	c.entries[x.cacheKey] = c.lru.PushFront(x)
	c.size += x.size
	for c.size > c.limit {
		old := c.lru.Remove(c.lru.Back()).(*cacheEntry)
		delete(c.entries, old.cacheKey)
		c.size -= old.size
	}
}
