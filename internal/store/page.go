package store

import (
	"errors"
	"math"
	"reflect"

	"github.com/loci-memory/loci"
)

// MaxPage is the most bytes of an answer that lists records, as JSON.
const MaxPage = 4 << 20

// Bytes of the records of a page, and how many memories one statement reads: with the
// largest texts that is little more than a page holds.
const (
	pageRoom   = MaxPage - 64<<10 // the rest is for what stands beside them, such as the cursor
	readAtOnce = 20
)

// A Mark is a place in a list: newest first by (creation, id).
type Mark struct {
	At loci.Time
	ID string
}

// A Page is a part of a list: after a Mark, or from the start where it is zero.
type Page struct {
	Limit int
	After Mark
}

// from returns what the first row of the page comes after. One row more than
// the limit is read, which tells whether there is another page.
func (p Page) from() (loci.Time, string, int) {
	if p.After == (Mark{}) {
		return math.MaxInt64, "", p.Limit + 1
	}
	return p.After.At, p.After.ID, p.Limit + 1
}

// A List is the records of a page.
type List[T any] struct {
	Items []T
	More  bool // other records follow

	limit int
	room  room
}

// errEnough ends a query of which no more rows are wanted.
var errEnough = errors.New("store: enough rows")

func newList[T any](p Page) List[T] {
	return List[T]{Items: []T{}, limit: p.Limit, room: room{bytes: pageRoom}}
}

// add puts a record on the page. Where it has no room, errEnough ends the query.
func (l *List[T]) add(record T) error {
	n := len(l.Items)
	if n < l.limit {
		l.Items = append(l.Items, record)
		if l.room.take(JSONSize(&l.Items[n])) {
			return nil
		}
		l.Items = l.Items[:n]
	}
	l.More = true
	return errEnough
}

// scanning returns what adds each row of a query to the page.
func (l *List[T]) scanning(scan func(row) (T, error)) func(row) error {
	return func(r row) error {
		record, err := scan(r)
		if err != nil {
			return err
		}
		return l.add(record)
	}
}

// A room is the bytes that are left on a page.
type room struct {
	bytes int
	some  bool // a record has taken some of them
}

// take reports whether the page has room for that many bytes. It has always room
// for the first record: so pages end, whatever the size of records.
func (r *room) take(bytes int) bool {
	if r.some && bytes > r.bytes {
		return false
	}
	r.some = true
	r.bytes -= bytes
	return true
}

// memberSize is the most bytes that a value other than a text takes, or a name
// with what stands around it.
const memberSize = 32

// JSONSize returns how many bytes a value has at most as JSON. It costs less than
// to write the value.
func JSONSize(v any) int { return jsonSize(reflect.ValueOf(v)) }

func jsonSize(v reflect.Value) (n int) {
	switch v.Kind() {
	case reflect.String:
		return textSize(v.String())
	case reflect.Pointer:
		if v.IsNil() {
			return memberSize
		}
		return jsonSize(v.Elem())
	case reflect.Slice:
		n = memberSize
		for i := range v.Len() {
			n += jsonSize(v.Index(i)) + 1
		}
		return n
	case reflect.Struct:
		n = memberSize
		for i := range v.NumField() {
			n += memberSize + jsonSize(v.Field(i))
		}
		return n
	}
	return memberSize
}

// textSize returns the bytes of a text as JSON, quotes included, or a few more.
func textSize(s string) int {
	n := 2
	for i := range len(s) {
		n += int(byteSizes[s[i]])
	}
	return n
}

// byteSizes are the bytes that each byte of a text takes in JSON (RFC 8259,
// section 7).
var byteSizes = func() (sizes [256]uint8) {
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
