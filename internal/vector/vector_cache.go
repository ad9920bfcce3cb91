package vector

import (
	"slices"
	"sync"
)

// DefaultCacheBytes is how many bytes of vectors of one length are kept: those of 21,000
// passages of 384 dimensions.
const DefaultCacheBytes = 8 << 20

// Cache keeps stored vectors that were read, in a room of fixed size. Each has one
// place in it, by its key, and takes it from the one before: keys that follow each
// other never meet. A key must name the same vector for ever. It is safe for
// concurrent use.
type Cache struct {
	bytes  int
	mu     sync.RWMutex
	tables []*directMapped // the newest first
}

// A directMapped holds vectors of one length.
type directMapped struct {
	size    int // of each vector, in bytes
	keys    []int64
	chunks  []int32
	vectors []byte
}

// maxTables is how many lengths there may be: while one model takes the place of
// another, both are asked.
const maxTables = 2

// NewCache makes rooms of so many bytes, each when it is first used.
func NewCache(bytes int) *Cache { return &Cache{bytes: bytes} }

// Each calls f for each of the keys whose vector is kept, with its place in the list,
// and returns the others. The vector is valid until f returns.
func (r *Cache) Each(keys []int64, f func(i, chunk int, vector []byte)) (others []int64) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	for i, key := range keys {
		in := slices.IndexFunc(r.tables, func(m *directMapped) bool { return m.keys[m.slot(key)] == key })
		if in < 0 {
			others = append(others, key)
			continue
		}
		m := r.tables[in]
		at := m.slot(key)
		f(i, int(m.chunks[at]), m.vectors[at*m.size:(at+1)*m.size])
	}
	return others
}

func (m *directMapped) slot(key int64) int { return int(uint64(key) % uint64(len(m.keys))) }

// Put keeps a vector. The key zero names none.
func (r *Cache) Put(key int64, chunk int, vector []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	in := slices.IndexFunc(r.tables, func(m *directMapped) bool { return m.size == len(vector) })
	if in < 0 {
		n := r.bytes / max(len(vector), 1)
		if n == 0 {
			return
		}
		fresh := &directMapped{len(vector), make([]int64, n), make([]int32, n), make([]byte, n*len(vector))}
		r.tables = append([]*directMapped{fresh}, r.tables[:min(len(r.tables), maxTables-1)]...)
		in = 0
	}
	m := r.tables[in]
	at := m.slot(key)
	m.keys[at], m.chunks[at] = key, int32(chunk)
	copy(m.vectors[at*m.size:], vector)
}
