package index

import (
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/testenv"
)

func TestCacheFetchesPagesThatItLacks(t *testing.T) {
	t.Parallel()
	asked := 0
	source := func(_ int64, page int) ([]byte, error) {
		asked++
		return make([]byte, 20+page), nil
	}
	read := func(want int, why string, fetchOf func() PageFetcher) {
		t.Helper()
		asked = 0
		for _, page := range []int{0, 0, 1, 0, 1, 0} {
			testenv.RequireEqual(t, len(testenv.Must(fetchOf()(1, page))(t)), 20+page, "page", page)
		}
		testenv.Equal(t, asked, want, "fetched", why)
	}
	c := NewCache(300)
	read(5, "one page fits, both do not", func() PageFetcher { return c.ReadThrough(source) })
	one := NewCache(300).ReadThrough(source)
	read(2, "a query keeps the pages of its segment", func() PageFetcher { return one })
}

func TestCacheCountsSpellingDicts(t *testing.T) {
	t.Parallel()
	var words strings.Builder
	for i := range 200 {
		for _, first := range "abc" {
			words.WriteString(string(first) + strings.Repeat("a", 2+i/16) + string(rune('a'+i%16)) + " ")
		}
	}
	blob := Build([]DocUpdate{{Document: Analyze("", words.String())}})
	segment := testenv.Must(Open(1, blob.Header, nil))(t)
	cache := NewCache(1 << 20)
	fetch := func(_ int64, page int) ([]byte, error) { return blob.Pages[page], nil }
	reader := NewTermsReader(NewSnapshot([]*Segment{segment}), cache, fetch)
	testenv.Must(reader.segmentSpellingDict(segment, "a"))(t)
	entry, size := cache.entries.Get(cacheKey{segment: 1, letter: 'a'}), 0
	page := len(blob.Pages) * (len(blob.Pages[0]) + 500)
	for _, limit := range []int{1, 2} {
		limited := NewCache(limit*(entry.sizeBytes()+200) + page)
		reader, kept := NewTermsReader(NewSnapshot([]*Segment{segment}), limited, fetch), 0
		for _, letter := range "abc" { // the words with each of them have the same size
			testenv.Must(reader.segmentSpellingDict(segment, string(letter)))(t)
		}
		for _, letter := range "abc" {
			if limited.entries.Get(cacheKey{segment: 1, letter: letter}) != nil {
				kept++
			}
		}
		testenv.Equal(t, kept, limit, "dictionaries kept")
	}
	for _, s := range entry.dict.buckets {
		size += 8*len(s.letterMasks) + len(s.texts)
	}
	if size == 0 || entry.sizeBytes() <= size || entry.sizeBytes() > 2*size+4000 {
		t.Errorf("an entry with words of %d bytes counts as %d bytes", size, entry.sizeBytes())
	}
}
