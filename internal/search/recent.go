package search

import "sync"

// DefaultRecent is how many bytes of vectors are kept: those of 21,000 passages of 384
// dimensions.
const DefaultRecent = 8 << 20

// Recent keeps stored vectors that were read, in a room of fixed size. Each has one
// place in it, by its key, and takes it from the one before: keys that follow each
// other never meet. A key must name the same vector for ever. It is safe for
// concurrent use.
type Recent struct {
	bytes int

	mu       sync.RWMutex
	size     int // of each vector, in bytes
	keys     []int64
	passages []int32
	vectors  []byte
}

// NewRecent makes a room of so many bytes, which it takes when it is first used.
func NewRecent(bytes int) *Recent { return &Recent{bytes: bytes} }

// Each calls f for each of the keys whose vector is kept, with its place in the list,
// and returns the others. The vector is valid until f returns.
func (r *Recent) Each(keys []int64, f func(i, passage int, vector []byte)) (others []int64) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	for i, key := range keys {
		at, ok := r.at(key)
		if !ok || r.keys[at] != key {
			others = append(others, key)
			continue
		}
		f(i, int(r.passages[at]), r.vectors[at*r.size:(at+1)*r.size])
	}
	return others
}

func (r *Recent) at(key int64) (int, bool) {
	if len(r.keys) == 0 || key <= 0 {
		return 0, false
	}
	return int(key % int64(len(r.keys))), true
}

// Put keeps a vector. The first of another length than those before it makes room for
// its like.
func (r *Recent) Put(key int64, passage int, vector []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(vector) != r.size {
		n := r.bytes / max(len(vector), 1)
		r.size, r.keys, r.passages, r.vectors = len(vector), make([]int64, n), make([]int32, n), make([]byte, n*len(vector))
	}
	if at, ok := r.at(key); ok {
		r.keys[at], r.passages[at] = key, int32(passage)
		copy(r.vectors[at*r.size:], vector)
	}
}
