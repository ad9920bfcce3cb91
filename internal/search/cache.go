package search

import (
	"container/list"
	"sync"
)

// DefaultCache is a cache's size in bytes that holds all postings of about 100,000
// notes and the lists of their words.
const DefaultCache = 32 << 20

// Cache keeps pages of segments, and lists of their words, up to a number of
// bytes; the longest unused go first. Segment ids must not be used twice within
// one cache: segments never change, so nothing expires. It is safe for concurrent
// use.
type Cache struct {
	mu    sync.Mutex
	limit int
	size  int
	order list.List // of *cached, newest first
	kept  map[cacheKey]*list.Element
}

// cacheKey is a page of a segment, or its words that begin with a letter.
type cacheKey struct {
	segment int64
	page    int
	letter  rune
}

type cached struct {
	cacheKey
	page  []byte
	words *wordlist
	size  int
}

// entryBytes is what the cache itself needs for a page or a list.
const entryBytes = 200

// NewCache makes a cache of limit bytes.
func NewCache(limit int) *Cache {
	return &Cache{limit: limit, kept: map[cacheKey]*list.Element{}}
}

// Through is a fetch that asks the cache first.
func (c *Cache) Through(fetch Fetch) Fetch {
	return func(segment int64, page int) ([]byte, error) {
		key := cacheKey{segment: segment, page: page}
		if x, ok := c.get(key); ok {
			return x.page, nil
		}
		data, err := fetch(segment, page)
		if err == nil {
			c.put(&cached{cacheKey: key, page: data, size: len(data)})
		}
		return data, err
	}
}

// words is the list of the words of a segment that begin with a letter, if it is
// kept.
func (c *Cache) words(segment int64, letter rune) (*wordlist, bool) {
	x, ok := c.get(cacheKey{segment: segment, letter: letter})
	if !ok {
		return nil, false
	}
	return x.words, true
}

func (c *Cache) keep(segment int64, letter rune, l *wordlist) {
	c.put(&cached{cacheKey: cacheKey{segment: segment, letter: letter}, words: l, size: l.memory()})
}

func (c *Cache) get(key cacheKey) (*cached, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.kept[key]
	if !ok {
		return nil, false
	}
	c.order.MoveToFront(e)
	return e.Value.(*cached), true
}

func (c *Cache) put(x *cached) {
	x.size += entryBytes
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.kept[x.cacheKey]; ok || x.size > c.limit {
		return
	}
	c.kept[x.cacheKey] = c.order.PushFront(x)
	c.size += x.size
	for c.size > c.limit {
		old := c.order.Remove(c.order.Back()).(*cached)
		delete(c.kept, old.cacheKey)
		c.size -= old.size
	}
}
