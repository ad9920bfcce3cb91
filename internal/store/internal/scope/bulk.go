package scope

import (
	"cmp"
	"slices"

	"github.com/loci-memory/loci"
)

// Bulk calls f with each record of a call and its place, and returns the results in their order. It does what can be
// done: a refusal undoes what f has written for its record alone. Records are changed in the order of their ids, so
// that concurrent calls lock rows in the same order.
func Bulk(h Holder, ids []loci.ID, f func(i int, id loci.ID) error) ([]loci.BulkResult, error) {
	s := Of(h)
	if err := s.CheckIdempotency(); err != nil {
		return nil, err
	}
	order := make([]int, len(ids))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(ids[i], ids[j]) })
	results := make([]loci.BulkResult, len(ids))
	for _, i := range order {
		refusal, err := s.Conn.Attempt(IsRefusal, func() error { return f(i, ids[i]) })
		if err != nil {
			return nil, err
		}
		results[i] = loci.BulkResult{ID: ids[i], OK: refusal == nil}
		if refusal != nil {
			results[i].Code = loci.AsError(refusal).Code
		}
	}
	return results, nil
}

// IsRefusal reports whether an error refuses an action to one record, and concerns no other one.
func IsRefusal(err error) bool {
	switch loci.AsError(err).Code {
	case loci.CodeNotFound, loci.CodeForbidden, loci.CodeStateConflict, loci.CodeInvalidQuery, loci.CodeQuotaExceeded:
		return true
	}
	return false
}
