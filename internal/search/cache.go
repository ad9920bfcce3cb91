package search

import (
	"container/list"
	"sync"
)

// DefaultCache is a page cache's size in bytes that holds all postings of about
// 100,000 notes.
const DefaultCache = 32 << 20

// Cache keeps pages of segments up to a number of bytes, the longest unused go
// first. Segment ids must not be used twice within one cache: pages never
// change, so they never expire. It is safe for concurrent use.
type Cache struct {
	mu    sync.Mutex
	limit int
	size  int
	order list.List // of *cached, newest first
	pages map[pageKey]*list.Element
}

type pageKey struct {
	segment int64
	page    int
}

type cached struct {
	pageKey
	data []byte
}

// NewCache makes a cache of limit bytes.
func NewCache(limit int) *Cache {
	return &Cache{limit: limit, pages: map[pageKey]*list.Element{}}
}

// Through is a fetch that asks the cache first.
func (c *Cache) Through(fetch Fetch) Fetch {
	return func(segment int64, page int) ([]byte, error) {
		key := pageKey{segment, page}
		if data, ok := c.get(key); ok {
			return data, nil
		}
		data, err := fetch(segment, page)
		if err == nil {
			c.put(key, data)
		}
		return data, err
	}
}

func (c *Cache) get(key pageKey) ([]byte, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.pages[key]
	if !ok {
		return nil, false
	}
	c.order.MoveToFront(e)
	return e.Value.(*cached).data, true
}

func (c *Cache) put(key pageKey, data []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.pages[key]; ok || len(data) > c.limit {
		return
	}
	c.pages[key] = c.order.PushFront(&cached{key, data})
	c.size += len(data)
	for c.size > c.limit {
		e := c.order.Back()
		old := c.order.Remove(e).(*cached)
		delete(c.pages, old.pageKey)
		c.size -= len(old.data)
	}
}
