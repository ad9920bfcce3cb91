package store_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/page"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/memorydb"
	"github.com/loci-memory/loci/internal/store/storetest"
)

// sizes of texts in bytes as JSON: small ones, and some of which few fit a page.
var sizes = []int{1, 1, 1, 900, 60 << 10, 256 << 10, 256 << 10, 256 << 10}

// textOf returns a text of that many bytes that differs from others. Every third one takes six times as many as JSON.
func textOf(i, size int) string {
	fill := "x"
	if i%3 == 0 {
		fill = "\x01"
	}
	return (fmt.Sprintf("tide %d ", i) + strings.Repeat(fill, size))[:max(size, 8)]
}

// TestPagesHaveRoomForSomeBytesAlone walks through memories and versions of many sizes, by pages of many limits.
func TestPagesHaveRoomForSomeBytesAlone(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{})
		ann := user(t, s, "ann@example.com")
		var want []string
		for i := range 60 {
			want = append(want, string(add(t, s, ann, "", textOf(i, sizes[i*7%len(sizes)])).ID))
		}
		slices.Reverse(want)
		for _, limit := range []int{1, 2, 7, 20, 33, 100} {
			var got []string
			p := page.Request{Limit: limit}
			for {
				list, err := store.Read(ctx, s, ann, func(tx *store.Tx) (page.List[loci.Memory], error) {
					return memorydb.List(tx, loci.MemoryFilter{}, p)
				})
				if err != nil {
					t.Fatal(err)
				}
				for _, m := range list.Items {
					got = append(got, string(m.ID))
					p.After = page.Key{At: m.CreatedAt, ID: m.ID}
				}
				checkPage(t, limit, list)
				if !list.HasMore {
					break
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("limit %d: %d memories, want %d", limit, len(got), len(want))
			}
		}
	})
}

func checkPage[T any](t *testing.T, limit int, list page.List[T]) {
	t.Helper()
	items, more := len(list.Items), list.HasMore
	written, err := op.Encode(map[string]any{"items": list.Items})
	if err != nil || len(written) > page.MaxBytes || items > limit || more && items == 0 {
		t.Errorf("limit %d: a page of %d records has %d bytes, more %v: %v", limit, items, len(written), more, err)
	}
	if more && items < limit && len(written) < page.MaxBytes/4 {
		t.Errorf("limit %d: a page of %d records ends after %d bytes", limit, items, len(written))
	}
}

func TestVersionsHaveRoomForSomeBytesAlone(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{})
		ann := user(t, s, "ann@example.com")
		id := add(t, s, ann, "", textOf(0, 256<<10)).ID
		const last = 40
		for i := 1; i < last; i++ {
			rewrite(t, s, ann, id, textOf(i, sizes[i*7%len(sizes)]))
		}
		for _, limit := range []int{1, 7, 100} {
			p, next := page.Request{Limit: limit}, last
			for {
				list, err := store.Read(ctx, s, ann, func(tx *store.Tx) (page.List[loci.MemoryVersion], error) {
					return memorydb.Versions(tx, id, p)
				})
				if err != nil {
					t.Fatal(err)
				}
				for _, v := range list.Items {
					if v.Version != next || v.Content != textOf(next-1, len(v.Content)) {
						t.Errorf("version %d in place of %d", v.Version, next)
					}
					next--
					p.After.At = loci.Time(v.Version)
				}
				checkPage(t, limit, list)
				if !list.HasMore {
					break
				}
			}
			if next != 0 {
				t.Errorf("limit %d: version %d is on no page", limit, next)
			}
		}
	})
}
