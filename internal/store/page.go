package store

import (
	"math"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/page"
	"github.com/loci-memory/loci/internal/sqldb"
)

// A PageKey is a place in a list: newest first by (creation, id).
type PageKey struct {
	At loci.Time
	ID string
}

// A Page is a part of a list: after a Mark, or from the start where it is zero.
type Page struct {
	Limit int
	After PageKey
}

// seek returns what the first row of the page comes after. One row more than
// the limit is read, which tells whether there is another page.
func (p Page) seek() (loci.Time, string, int) {
	if p.After == (PageKey{}) {
		return math.MaxInt64, "", p.Limit + 1
	}
	return p.After.At, p.After.ID, p.Limit + 1
}

// A List is the records of a page.
type List[T any] struct {
	Items   []T
	HasMore bool // other records follow

	limit  int
	budget page.Budget
}

func newList[T any](p Page) List[T] {
	return List[T]{Items: []T{}, limit: p.Limit}
}

// add puts a record on the page. Where it has no room, errEnough ends the query.
func (l *List[T]) add(record T) error {
	n := len(l.Items)
	if n < l.limit {
		l.Items = append(l.Items, record)
		if l.budget.Spend(page.JSONSize(&l.Items[n])) {
			return nil
		}
		l.Items = l.Items[:n]
	}
	l.HasMore = true
	return sqldb.ErrStop
}

// collect returns what adds each row of a query to the page.
func (l *List[T]) collect(scan func(sqldb.Row) (T, error)) func(sqldb.Row) error {
	return func(r sqldb.Row) error {
		record, err := scan(r)
		if err != nil {
			return err
		}
		return l.add(record)
	}
}
