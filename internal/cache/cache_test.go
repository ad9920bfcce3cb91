package cache

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// A modelCache is the contents of a cache by the order of their use, the least recently used first.
type modelCache struct {
	*Cache[int, string]
	keys []int
	used map[int]int64 // by key
	all  map[int]string
}

func (m *modelCache) size() (n int) {
	for _, k := range m.keys {
		n += entryBytes + len(m.all[k])
	}
	return n
}

func (m *modelCache) drop(key int) {
	m.keys = slices.DeleteFunc(m.keys, func(k int) bool { return k == key })
}

// TestCachesEvictLeastRecentlyUsed compares two caches of one budget with lists of their keys in the order of use.
func TestCachesEvictLeastRecentlyUsed(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const limit = 10 * entryBytes
		b, uses := NewBudget(limit), int64(0)
		var caches []*modelCache
		for i := range 2 {
			caches = append(caches, &modelCache{New(b, fmt.Sprint(i), func(_ int, v string) int { return len(v) }),
				nil, map[int]int64{}, map[int]string{}})
		}
		weight := func() (n int) {
			for _, m := range caches {
				for _, k := range m.keys {
					n += b.weigh(entryBytes + len(m.all[k]))
				}
			}
			return n
		}
		use := func(m *modelCache, key int) {
			uses++
			m.drop(key)
			m.keys, m.used[key] = append(m.keys, key), uses
		}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			m, key := caches[rapid.IntRange(0, 1).Draw(t, "cache")], rapid.IntRange(0, 9).Draw(t, "key")
			switch rapid.IntRange(0, 6).Draw(t, "step") {
			case 0:
				m.Remove(key)
				m.drop(key)
			case 1:
				cached := slices.Contains(m.keys, key)
				if got := m.Get(key); cached != (got != "") || cached && got != m.all[key] {
					t.Fatalf("the value of %d is %q, used are %v", key, got, m.keys)
				}
				if cached {
					use(m, key)
				}
			case 2:
				m.RemoveFunc(func(v string) bool { return v == m.all[key] })
				m.drop(key)
			default:
				size := rapid.SampledFrom([]int{1, 100, 500, 2 * limit}).Draw(t, "size")
				m.all[key] = fmt.Sprintf("%0*d", size, key)
				m.Put(key, m.all[key])
				use(m, key)
				for weight() > limit {
					var victim *modelCache
					for _, c := range caches {
						if c.size() > limit/4 && c.used[c.keys[0]] < uses &&
							(victim == nil || c.used[c.keys[0]] < victim.used[victim.keys[0]]) {
							victim = c
						}
					}
					victim.keys = victim.keys[1:]
				}
			}
			for i, c := range caches {
				if u := b.Usages()[i]; u != (Usage{fmt.Sprint(i), c.size()}) || len(c.elements) != len(c.keys) ||
					c.entries.Len() != len(c.keys) || int(b.used.Load()) != weight() {
					t.Fatalf("cache %d has %+v, the budget %d, want the values of %v", i, u, b.used.Load(), c.keys)
				}
				for _, k := range c.keys {
					if c.elements[k] == nil {
						t.Fatalf("cache %d lacks %d of %v", i, k, c.keys)
					}
				}
			}
		}
	})
}

func TestCacheKeepsItsPartBesideALargerOne(t *testing.T) {
	t.Parallel()
	b := NewBudget(1000 * entryBytes)
	size := func(int, string) int { return 0 }
	small, large := New(b, "small", size), New(b, "large", size)
	for i := range 300 {
		small.Put(i, "kept")
	}
	for i := range 10_000 {
		large.Put(i, "many")
	}
	if n := len(small.elements); n != 250 || b.used.Load() > int64(b.Limit()) {
		t.Errorf("the small cache has %d values, all have %d bytes", n, b.used.Load())
	}
}

func TestCacheWeighsAValueAgainWhenItIsUsed(t *testing.T) {
	t.Parallel()
	b := NewBudget(8 * entryBytes)
	sizes := map[int]*[]byte{}
	lists := New(b, "lists", func(_ int, v *[]byte) int { return len(*v) })
	for i := range 4 {
		sizes[i] = new([]byte)
		lists.Put(i, sizes[i])
	}
	*sizes[3] = make([]byte, 5*entryBytes)
	if lists.Get(3) == nil || lists.Get(0) != nil || lists.Get(1) == nil {
		t.Errorf("a value of %d bytes evicts not one other", len(*sizes[3]))
	}
	if got := b.Usages(); got[0].Bytes != 8*entryBytes {
		t.Errorf("the budget has %+v", got)
	}
}

func TestCachesOfABudgetAreUsedByMany(t *testing.T) {
	t.Parallel()
	b := NewBudget(40 * entryBytes)
	caches := []*Cache[int, int]{}
	for range 3 {
		caches = append(caches, New(b, "shared", func(_, v int) int { return v }))
	}
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for n := range 2000 {
				c := caches[(n+i)%3]
				c.Put(n%97, n%1000)
				c.Get((n + i) % 97)
				if n%13 == 0 {
					c.Remove(n % 97)
				}
			}
		})
	}
	all.Wait()
	bytes := b.Usages()[0].Bytes
	if len(b.Usages()) != 1 || bytes > b.Limit() || int64(bytes) != b.used.Load() {
		t.Errorf("the caches have %d bytes, the budget %d of %d", bytes, b.used.Load(), b.Limit())
	}
	for _, c := range caches {
		c.RemoveFunc(func(int) bool { return true })
	}
	if b.used.Load() != 0 {
		t.Errorf("empty caches have %d bytes", b.used.Load())
	}
}
