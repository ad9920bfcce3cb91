package vector

import (
	"slices"
	"sync"
)

// DefaultCacheBytes is the size of a cache for vectors of one length: 21,000 of 384 dimensions.
const DefaultCacheBytes = 8 << 20

// A Cache keeps stored vectors in tables of fixed size. It is direct mapped: a vector evicts the one before in the slot
// of its key. Keys in a row have different slots. A key always names the same vector. It is safe for concurrent use.
type Cache struct {
	bytes  int
	mu     sync.RWMutex
	tables []*directMapped // the newest first
}

// A directMapped is a table of vectors of one length.
type directMapped struct {
	size    int // of each vector, in bytes
	keys    []int64
	chunks  []int32
	vectors []byte
}

// maxTables is the greatest number of tables. During a change of models, vectors of two lengths are in use.
const maxTables = 2

// NewCache returns a cache with tables of a size in bytes. It allocates a table at its first use.
func NewCache(bytes int) *Cache { return &Cache{bytes: bytes} }

// Each calls f for each key whose vector is cached, with its index in the list. It returns the other keys. The vector
// is valid until f returns.
func (c *Cache) Each(keys []int64, f func(i, chunk int, vector []byte)) (others []int64) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	for i, key := range keys {
		at := 0
		in := slices.IndexFunc(c.tables, func(m *directMapped) bool {
			at = m.slot(key)
			return m.keys[at] == key
		})
		if in < 0 {
			others = append(others, key)
			continue
		}
		m := c.tables[in]
		f(i, int(m.chunks[at]), m.vectors[at*m.size:(at+1)*m.size])
	}
	return others
}

func (m *directMapped) slot(key int64) int { return int(uint64(key) % uint64(len(m.keys))) }

// Put stores a vector. Key zero is invalid.
func (c *Cache) Put(key int64, chunk int, vector []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	in := slices.IndexFunc(c.tables, func(m *directMapped) bool { return m.size == len(vector) })
	if in < 0 {
		n := c.bytes / max(len(vector), 1)
		if n == 0 {
			return
		}
		fresh := &directMapped{len(vector), make([]int64, n), make([]int32, n), make([]byte, n*len(vector))}
		c.tables = append([]*directMapped{fresh}, c.tables[:min(len(c.tables), maxTables-1)]...)
		in = 0
	}
	m := c.tables[in]
	at := m.slot(key)
	m.keys[at], m.chunks[at] = key, int32(chunk)
	copy(m.vectors[at*m.size:], vector)
}
