package scope

import (
	"github.com/loci-memory/loci/internal/page"
	"github.com/loci-memory/loci/internal/sqldb"
)

// QueryPage returns the page that a query selects, run by a method of a transaction. The query has three placeholders
// after args: the time and the id of the upper bound, and the LIMIT.
func QueryPage[T any](p page.Request, run func(q string, args []any, f func(sqldb.Row) error) error, q string,
	scan func(sqldb.Row) (T, error), args ...any) (page.List[T], error) {
	at, id, limit := p.Seek()
	list := page.NewList[T](p)
	err := run(q, append(args, at, id, limit), func(r sqldb.Row) error {
		record, err := scan(r)
		if err != nil {
			return err
		}
		return AddTo(&list, record)
	})
	return list, err
}

// AddTo adds a record to a page, or returns ErrStop, which ends the query, when the page is full.
func AddTo[T any](list *page.List[T], record T) error {
	if list.Add(record) {
		return nil
	}
	return sqldb.ErrStop
}
