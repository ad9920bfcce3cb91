package page

import (
	"math"

	"github.com/loci-memory/loci"
)

// A Key is the sort key of a record in a list, which is ordered by (At, ID), newest first.
type Key struct {
	At loci.Time
	ID loci.ID
}

// A Request asks for the records after a key; the zero key starts at the first record.
type Request struct {
	Limit int
	After Key
}

// Seek returns the upper bound of the sort key and the number of rows to read. One row more than the limit shows
// whether another page follows.
func (r Request) Seek() (loci.Time, loci.ID, int) {
	if r.After == (Key{}) {
		return math.MaxInt64, "", r.Limit + 1
	}
	return r.After.At, r.After.ID, r.Limit + 1
}

// A List holds the records of a page.
type List[T any] struct {
	Items   []T
	HasMore bool // other records follow

	limit  int
	budget Budget
}

// NewList returns an empty page.
func NewList[T any](r Request) List[T] {
	return List[T]{Items: []T{}, limit: r.Limit}
}

// Add adds a record, and reports whether the page had room for it.
func (l *List[T]) Add(record T) bool {
	n := len(l.Items)
	if n < l.limit {
		l.Items = append(l.Items, record)
		if l.budget.Spend(JSONSize(&l.Items[n])) {
			return true
		}
		l.Items = l.Items[:n]
	}
	l.HasMore = true
	return false
}
