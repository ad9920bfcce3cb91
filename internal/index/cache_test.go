package index

import (
	"strings"
	"testing"
)

func TestCacheKeepsLimitAndFetchesOnce(t *testing.T) {
	t.Parallel()
	asked := 0
	limit := 100 + 2*entryOverhead
	c := NewCache(limit)
	fetch := c.ReadThrough(func(int64, int) ([]byte, error) { asked++; return make([]byte, 40), nil })
	for _, page := range []int{1, 2, 1, 3, 1, 2} {
		if _, err := fetch(1, page); err != nil {
			t.Fatal(err)
		}
	}
	if asked != 4 || c.size > limit || len(c.entries) != 2 {
		t.Errorf("asked %d times, holds %d bytes in %d pages", asked, c.size, len(c.entries))
	}
}

func TestCacheCountsSpellingDicts(t *testing.T) {
	t.Parallel()
	letters := "abcdefghijklmnop"
	var words strings.Builder
	for i := range 200 {
		words.WriteString(strings.Repeat(string(letters[i%16]), 3+i/16) + " ")
	}
	blob := Build([]DocUpdate{{Document: Analyze("", words.String())}})
	segment, err := Open(1, blob.Header, nil)
	if err != nil {
		t.Fatal(err)
	}
	cache := NewCache(4000)
	scanner := NewTermsReader(NewSnapshot([]*Segment{segment}), cache,
		func(_ int64, page int) ([]byte, error) { return blob.Pages[page], nil })
	for _, c := range letters {
		m := NewEditDistanceMatcher(string(c) + "xyz")
		if err := scanner.EachFuzzyMatch(m, func(SegmentTerm, int) error { return nil }); err != nil {
			t.Fatal(err)
		}
		size := 0
		for e := cache.lru.Front(); e != nil; e = e.Next() {
			for _, s := range e.Value.(*cacheEntry).dict.buckets {
				size += 8*len(s.letterMasks) + len(s.texts)
			}
		}
		if cache.size > cache.limit || cache.size <= size || len(cache.entries) == 0 ||
			len(cache.entries) == len(letters) {
			t.Fatalf("%d bytes in %d lists, of %d", cache.size, len(cache.entries), size)
		}
	}
}
