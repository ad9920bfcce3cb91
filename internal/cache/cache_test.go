package cache

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

// TestCacheStaysWithinItsLimits compares the cache with a map of everything that was put.
func TestCacheStaysWithinItsLimits(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const maxEntries, maxTotal = 4, 10
		c, all := New[int](maxEntries, maxTotal, func(v string) int { return len(v) }), map[int]string{}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			key := rapid.IntRange(0, 9).Draw(t, "key")
			if rapid.IntRange(0, 5).Draw(t, "remove") == 0 {
				c.Remove(key)
				delete(all, key)
			} else {
				all[key] = fmt.Sprintf("%0*d", rapid.IntRange(1, 12).Draw(t, "size"), key)
				if c.Put(key, all[key]); c.Get(key) != all[key] {
					t.Fatalf("the value just put is %q, want %q", c.Get(key), all[key])
				}
			}
			n, total := 0, 0
			for k := range 10 {
				if v := c.Get(k); v != "" {
					if v != all[k] {
						t.Fatalf("the value of %d is %q, want %q", k, v, all[k])
					}
					n, total = n+1, total+len(v)
				}
			}
			if n > 1 && (n > maxEntries || total > maxTotal) {
				t.Fatalf("%d values of size %d", n, total)
			}
		}
	})
}
