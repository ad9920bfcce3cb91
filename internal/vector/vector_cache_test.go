package vector

import (
	"bytes"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestVectorCacheKeepsLatest(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		type vector struct {
			passage int
			stored  []byte
		}
		c, came := NewCache(200), map[int64]vector{}
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			key := rapid.Int64Range(1, 30).Draw(t, "key")
			// A key names the same vector for ever; those of other models are longer.
			v := vector{int(key) % 3, bytes.Repeat([]byte{byte(key)}, 8+int(key/11)*4)}
			if c.Put(key, v.passage, v.stored); len(c.tables) > maxTables {
				t.Fatalf("there are %d rooms", len(c.tables))
			}
			came[key] = v
			keys := rapid.SliceOfNDistinct(rapid.Int64Range(1, 30), 1, 10, rapid.ID).Draw(t, "asked")
			var seen []int64
			others := c.Each(append(keys, key), func(i, chunk int, stored []byte) {
				k := append(keys, key)[i]
				if want, ok := came[k]; !ok || chunk != want.passage || !bytes.Equal(stored, want.stored) {
					t.Fatalf("vector %d is %d, %v, not %v", k, chunk, stored, want)
				}
				seen = append(seen, k)
			})
			if !slices.Contains(seen, key) || len(seen)+len(others) != len(keys)+1 {
				t.Fatalf("%v are kept and %v are not, of %v and %d, which came last", seen, others, keys, key)
			}
		}
	})
	if others := NewCache(3).Each([]int64{1, 2}, nil); !slices.Equal(others, []int64{1, 2}) {
		t.Errorf("a room without vectors keeps some: %v", others)
	}
	small := NewCache(3)
	small.Put(1, 0, make([]byte, 8)) // there is no place for it
	if others := small.Each([]int64{1}, nil); len(others) != 1 {
		t.Error("a vector is kept where there is no room")
	}
}
