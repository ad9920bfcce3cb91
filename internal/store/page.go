package store

import (
	"math"
	"reflect"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
)

// MaxPageBytes is the most bytes of an answer that lists records, as JSON.
const MaxPageBytes = 4 << 20

// Bytes of the records of a page, and how many memories one statement reads: with the
// largest texts that is little more than a page holds.
const (
	pageByteBudget   = MaxPageBytes - 64<<10 // the rest is for what stands beside them, such as the cursor
	memoriesPerQuery = 20
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
	budget byteBudget
}

func newList[T any](p Page) List[T] {
	return List[T]{Items: []T{}, limit: p.Limit, budget: byteBudget{remaining: pageByteBudget}}
}

// add puts a record on the page. Where it has no room, errEnough ends the query.
func (l *List[T]) add(record T) error {
	n := len(l.Items)
	if n < l.limit {
		l.Items = append(l.Items, record)
		if l.budget.spend(JSONSize(&l.Items[n])) {
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

// A byteBudget is the bytes that are left on a page.
type byteBudget struct {
	remaining int
	used      bool // a record has taken some of them
}

// spend reports whether the page has room for that many bytes. It has always room
// for the first record: so pages end, whatever the size of records.
func (r *byteBudget) spend(bytes int) bool {
	if r.used && bytes > r.remaining {
		return false
	}
	r.used = true
	r.remaining -= bytes
	return true
}

// jsonScalarSize is the most bytes that a value other than a text takes, or a name
// with what stands around it.
const jsonScalarSize = 32

// JSONSize returns how many bytes a value has at most as JSON. It costs less than
// to write the value.
func JSONSize(v any) int { return jsonSize(reflect.ValueOf(v)) }

func jsonSize(v reflect.Value) (n int) {
	switch v.Kind() {
	case reflect.String:
		return jsonStringSize(v.String())
	case reflect.Pointer:
		if v.IsNil() {
			return jsonScalarSize
		}
		return jsonSize(v.Elem())
	case reflect.Slice:
		n = jsonScalarSize
		for i := range v.Len() {
			n += jsonSize(v.Index(i)) + 1
		}
		return n
	case reflect.Struct:
		n = jsonScalarSize
		for i := range v.NumField() {
			n += jsonScalarSize + jsonSize(v.Field(i))
		}
		return n
	}
	return jsonScalarSize
}

// jsonStringSize returns the bytes of a text as JSON, quotes included, or a few more.
func jsonStringSize(s string) int {
	n := 2
	for i := range len(s) {
		n += int(jsonByteSizes[s[i]])
	}
	return n
}

// jsonByteSizes are the bytes that each byte of a text takes in JSON (RFC 8259,
// section 7).
var jsonByteSizes = func() (sizes [256]uint8) {
	for b := range sizes {
		sizes[b] = 1
		if b < ' ' {
			sizes[b] = 6
		}
	}
	for _, b := range []byte("\b\f\n\r\t\"\\") {
		sizes[b] = 2
	}
	sizes[0xE2] = 4 // begins U+2028 and U+2029, which take six
	return sizes
}()
