package search

import (
	"slices"
	"sync"
)

// DefaultRecent is how many bytes of vectors of one length are kept: those of 21,000
// passages of 384 dimensions.
const DefaultRecent = 8 << 20

// Recent keeps stored vectors that were read, in a room of fixed size. Each has one
// place in it, by its key, and takes it from the one before: keys that follow each
// other never meet. A key must name the same vector for ever. It is safe for
// concurrent use.
type Recent struct {
	bytes int
	mu    sync.RWMutex
	rooms []*room // the newest first
}

// A room holds vectors of one length.
type room struct {
	size     int // of each vector, in bytes
	keys     []int64
	passages []int32
	vectors  []byte
}

// maxRooms is how many lengths there may be: while one model takes the place of
// another, both are asked.
const maxRooms = 2

// NewRecent makes rooms of so many bytes, each when it is first used.
func NewRecent(bytes int) *Recent { return &Recent{bytes: bytes} }

// Each calls f for each of the keys whose vector is kept, with its place in the list,
// and returns the others. The vector is valid until f returns.
func (r *Recent) Each(keys []int64, f func(i, passage int, vector []byte)) (others []int64) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	for i, key := range keys {
		in := slices.IndexFunc(r.rooms, func(m *room) bool { return m.keys[m.place(key)] == key })
		if in < 0 {
			others = append(others, key)
			continue
		}
		m := r.rooms[in]
		at := m.place(key)
		f(i, int(m.passages[at]), m.vectors[at*m.size:(at+1)*m.size])
	}
	return others
}

func (m *room) place(key int64) int { return int(uint64(key) % uint64(len(m.keys))) }

// Put keeps a vector. The key zero names none.
func (r *Recent) Put(key int64, passage int, vector []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	in := slices.IndexFunc(r.rooms, func(m *room) bool { return m.size == len(vector) })
	if in < 0 {
		n := r.bytes / max(len(vector), 1)
		if n == 0 {
			return
		}
		fresh := &room{len(vector), make([]int64, n), make([]int32, n), make([]byte, n*len(vector))}
		r.rooms = append([]*room{fresh}, r.rooms[:min(len(r.rooms), maxRooms-1)]...)
		in = 0
	}
	m := r.rooms[in]
	at := m.place(key)
	m.keys[at], m.passages[at] = key, int32(passage)
	copy(m.vectors[at*m.size:], vector)
}
