package index

import (
	"unsafe"

	"github.com/loci-memory/loci/internal/cache"
)

// Cache holds pages and spelling dictionaries of segments. Segments never change, so no entry expires. All postings of
// 100,000 notes and their dictionaries need about 32 MB. Within one cache no two segments may share an id. A cache is
// safe for concurrent use.
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

// NewSharedCache returns a cache of a budget. It takes at most a share of it: what it lacks is read in microseconds.
func NewSharedCache(b *cache.Budget) *Cache {
	c := cache.New(b, "pages", func(_ cacheKey, e *cacheEntry) int { return e.sizeBytes() })
	return &Cache{c.AtMost(max(1, b.Limit()/maxShare))}
}

// maxShare is the share of the pages in the budget: 43 MiB of 128.
const maxShare = 3

// NewCache returns a cache with a budget of its own, of at least one byte.
func NewCache(limit int) *Cache { return NewSharedCache(cache.NewBudget(max(limit, 1) * maxShare)) }

// sizeBytes returns the size of an entry in RAM, beside that of any entry.
func (e *cacheEntry) sizeBytes() int {
	n := int(unsafe.Sizeof(cacheKey{}) + unsafe.Sizeof(*e))
	if e.dict != nil {
		return n + e.dict.sizeBytes()
	}
	return n + cap(e.page)
}

// ReadThrough returns a PageFetcher that reads from the cache, and fetches and caches missing pages. It keeps the first
// pages of a segment at hand, in which a query looks up one term after another. It is not safe for concurrent use.
func (c *Cache) ReadThrough(fetch PageFetcher) PageFetcher {
	var recent [maxBloomPages][]byte
	of := int64(-1) // the segment of these
	return func(segment int64, page int) ([]byte, error) {
		if segment != of {
			of, recent = segment, [maxBloomPages][]byte{}
		}
		if page < len(recent) && recent[page] != nil {
			return recent[page], nil
		}
		key := cacheKey{segment: segment, page: page}
		x := c.entries.Get(key)
		if x == nil {
			data, err := fetch(segment, page)
			if err != nil {
				return data, err
			}
			x = &cacheEntry{page: data}
			c.entries.Put(key, x)
		}
		if page < len(recent) {
			recent[page] = x.page
		}
		return x.page, nil
	}
}

// size returns about the size of a decoded header in RAM, with what later calls add: the filter of terms and the order
// of groups.
func (h *segmentHeader) size() int {
	n := int(unsafe.Sizeof(*h)) + 8*cap(h.memories) + 8*cap(h.created) + 8*cap(h.atlases) + 4*cap(h.atlas) +
		cap(h.memoryType) + cap(h.status) + 8*cap(h.verified) + 4*cap(h.expiringDocs) + 8*cap(h.expiry) +
		4*cap(h.tagSet) + 4*cap(h.lengths) + cap(h.lengthCodes) + 4*cap(h.groupedDocs) + 8*cap(h.groups) +
		8*cap(h.positions) + 4*len(h.groupedDocs)
	for _, set := range h.tagSets {
		n += 24 + 4*cap(set)
	}
	for _, tag := range h.tags {
		n += tagBytes + len(tag.Value())
	}
	for _, term := range h.pageFirstTerms {
		n += 16 + (len(term)+7)&^7
	}
	if len(h.pageFirstTerms) <= maxBloomPages {
		n += min(h.termCount, maxBloomPages*pageBytes) + 32
	}
	return n
}

// tagBytes is about the size of an interned tag beside its text.
const tagBytes = 100

// SizeBytes returns about the size of the segment in RAM, with what it caches of atlases.
func (g *Segment) SizeBytes() int {
	n := g.bytes + g.ownSize()
	g.scopeCache.each(func(of *Segment) {
		if of != g {
			n += of.ownSize()
		}
	})
	return n
}

// ownSize is the size of what segments with other tombstones do not share.
func (g *Segment) ownSize() int { return int(unsafe.Sizeof(*g)) + 8*cap(g.deleted) + mapBytes/4 }

// SizeBytes returns about the size of the snapshot in RAM, without its segments, with what it caches of atlases.
func (v *Snapshot) SizeBytes() int {
	v.memtable.mu.RLock()
	n := v.memtable.sizeBytes() + v.ownSize()
	v.memtable.mu.RUnlock()
	v.scopeCache.each(func(of *Snapshot) { n += of.ownSize() })
	return n
}

// SizeWithSegments returns about the size of the snapshot in RAM with its segments.
func (v *Snapshot) SizeWithSegments() int {
	n := v.SizeBytes()
	for _, g := range v.segments {
		n += g.SizeBytes()
	}
	return n
}

func (v *Snapshot) ownSize() int {
	n := int(unsafe.Sizeof(*v)) + 8*cap(v.deleted) + 8*cap(v.segments) + mapBytes/2
	if v.docCount >= minTabulatedDocs {
		n += int(unsafe.Sizeof(bm25Columns{}))
	}
	return n
}

// each calls f for the cached values.
func (c *scopeCache[T]) each(f func(T)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, x := range c.entries {
		f(x)
	}
}
