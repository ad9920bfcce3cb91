package client

import (
	"iter"

	"github.com/loci-memory/loci"
)

// allItems returns the items of every page, beginning with the page of first.
func allItems[T any](first loci.Paging, read func(loci.Paging) ([]T, loci.Page, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for paging := first; ; {
			items, page, err := read(paging)
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, item := range items {
				if !yield(item, nil) {
					return
				}
			}
			if page.NextCursor == "" {
				return
			}
			paging.Cursor = loci.Cursor(page.NextCursor)
		}
	}
}
