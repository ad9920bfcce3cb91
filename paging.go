package loci

import (
	"cmp"
	"iter"
)

// Paging selects one page of a list. The input of every list embeds it.
type Paging struct {
	Limit  Limit  `json:"limit,omitzero"`
	Cursor Cursor `json:"cursor,omitzero"`
}

// Page has the cursor of the next page of a list. The output of every list embeds it.
type Page struct {
	NextCursor string `json:"nextCursor,omitzero" jsonschema:"Absent on the last page"`
}

// A Limit is the size of a page.
type Limit int

// Rule allows 1 to 100 items a page; the default is 20.
func (Limit) Rule() Rule {
	return Rule{Min: 1, Max: 100, Clamp: true, Default: 20, Description: "Page size"}
}

// OrDefault returns l, or 20 without a limit.
func (l Limit) OrDefault() int { return int(cmp.Or(l, 20)) }

// A Cursor is the start of the next page. It is opaque and signed, and is valid only for its caller, operation and
// input.
type Cursor string

// Rule bounds the length of a Cursor.
func (Cursor) Rule() Rule {
	return Rule{MinLength: 1, MaxLength: 8000, Description: "Last nextCursor"}
}

const (
	// maxPages bounds a list that AllItems reads. With pages of 100, it is a list of ten million items.
	maxPages = 100_000
	// maxEmptyPages bounds the pages without an item that follow each other.
	maxEmptyPages = 100
)

// AllItems returns the items of every page, beginning with the page of first. It reads a page when the one before is
// used up. An error ends the sequence. A list that does not end is an error too: its cursors repeat, more than 100 of
// its pages in a row are empty, or it has more than 100,000 pages.
func AllItems[T any](first Paging, read func(Paging) ([]T, Page, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		paging, guard := first, pagesGuard{}
		for {
			items, page, err := read(paging)
			if err == nil {
				err = guard.check(len(items), page.NextCursor)
			}
			if err != nil {
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
			paging.Cursor = Cursor(page.NextCursor)
		}
	}
}

// A pagesGuard detects a list that does not end. It finds a cycle of cursors by Brent's algorithm, which keeps one.
type pagesGuard struct {
	pages, empty int
	earlier      string // the cursor of a page, replaced at each power of two
}

// check returns an error if the pages after this one cannot be those of a list.
func (g *pagesGuard) check(items int, next string) error {
	if g.empty++; items > 0 {
		g.empty = 0
	}
	g.pages++
	switch {
	case next == "":
		return nil
	case next == g.earlier || g.empty > maxEmptyPages || g.pages >= maxPages:
		return Errorf(CodeUnavailable, "the server's list does not end: check the address and any proxy before it")
	}
	if g.pages&(g.pages-1) == 0 {
		g.earlier = next
	}
	return nil
}
