package cache

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestCacheEvictsLeastRecentlyUsed compares the cache with a list of the keys in the order of their use.
func TestCacheEvictsLeastRecentlyUsed(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const maxEntries, maxTotal = 4, 10
		c, all := New[int](maxEntries, maxTotal, func(v string) int { return len(v) }), map[int]string{}
		var used []int // the least recently used first
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			key := rapid.IntRange(0, 9).Draw(t, "key")
			step := rapid.IntRange(0, 6).Draw(t, "step")
			cached := slices.Contains(used, key)
			switch step {
			case 0:
				c.Remove(key)
				cached = false
			case 1:
				if got := c.Get(key); cached != (got != "") {
					t.Fatalf("the value of %d is %q, used are %v", key, got, used)
				}
			case 2:
				c.RemoveFunc(func(v string) bool { return v == all[key] })
				cached = false
			default:
				all[key] = fmt.Sprintf("%0*d", rapid.IntRange(1, 12).Draw(t, "size"), key)
				c.Put(key, all[key])
				cached = len(all[key]) <= maxTotal
			}
			used = slices.DeleteFunc(used, func(k int) bool { return k == key })
			if cached {
				used = append(used, key)
			}
			for total := sizeOf(used, all); len(used) > maxEntries || total > maxTotal; total = sizeOf(used, all) {
				used = used[1:]
			}
			if len(c.elements) != len(used) || c.entries.Len() != len(used) || c.total != sizeOf(used, all) {
				t.Fatalf("%d values of size %d, want those of %v", len(c.elements), c.total, used)
			}
			for _, k := range used { // in their order, so that it stays
				if v := c.Get(k); v != all[k] {
					t.Fatalf("the value of %d is %q, want %q", k, v, all[k])
				}
			}
		}
	})
}

func sizeOf(keys []int, all map[int]string) (n int) {
	for _, k := range keys {
		n += len(all[k])
	}
	return n
}
