package store

import (
	"math"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/page"
	"github.com/loci-memory/loci/internal/sqldb"
)

// A PageKey is the sort key of a record in a list, which is ordered by (At, ID), newest first.
type PageKey struct {
	At loci.Time
	ID loci.ID
}

// A Page asks for the records after a key; the zero key starts at the first record.
type Page struct {
	Limit int
	After PageKey
}

// seek returns the upper bound of the sort key and the number of rows to read. One row more than the limit shows
// whether another page follows.
func (p Page) seek() (loci.Time, loci.ID, int) {
	if p.After == (PageKey{}) {
		return math.MaxInt64, "", p.Limit + 1
	}
	return p.After.At, p.After.ID, p.Limit + 1
}

// A List holds the records of a page.
type List[T any] struct {
	Items   []T
	HasMore bool // other records follow

	limit  int
	budget page.Budget
}

func newList[T any](p Page) List[T] {
	return List[T]{Items: []T{}, limit: p.Limit}
}

// add adds a record to the page. It returns ErrStop, which ends the query, when the page is full.
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

// queryPage returns the page that a query selects, run by a method of a transaction. The query has three placeholders
// after args: the time and the id of the upper bound, and the LIMIT.
func queryPage[T any](p Page, run func(q string, args []any, f func(sqldb.Row) error) error, q string,
	scan func(sqldb.Row) (T, error), args ...any) (List[T], error) {
	at, id, limit := p.seek()
	list := newList[T](p)
	err := run(q, append(args, at, id, limit), func(r sqldb.Row) error {
		record, err := scan(r)
		if err != nil {
			return err
		}
		return list.add(record)
	})
	return list, err
}
