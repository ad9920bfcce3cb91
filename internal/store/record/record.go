// Package record lists the columns of a table once. Column lists, scans, INSERT and UPDATE statements follow from it.
package record

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// A When says which statements write a column.
type When int

// The kinds of columns. A table adds groups of its own from Group, which an update names.
const (
	Inserted  When = iota // by the INSERT alone
	Always                // by the INSERT and each update
	Changed               // by the INSERT, and by an update that changes it: it has an index, or is long
	Elsewhere             // by other statements
	Group                 // by an update that names the group; an INSERT leaves its default
)

// A Column is a column of the rows F.
type Column[F any] struct {
	name  string
	when  When
	field accessor[F]
}

// Of returns the column that holds a field of F.
func Of[F any, T comparable](name string, when When, of func(*F) *T) Column[F] {
	return Column[F]{name, when, field[F, T](of)}
}

// An accessor reads and writes a field of F.
type accessor[F any] interface {
	dest(f *F) any
	value(f *F) any
	copyTo(f, from *F)
	differs(f, from *F) bool
}

type field[F any, T comparable] func(*F) *T

func (x field[F, T]) dest(f *F) any           { return x(f) }
func (x field[F, T]) value(f *F) any          { return *x(f) }
func (x field[F, T]) copyTo(f, from *F)       { *x(f) = *x(from) }
func (x field[F, T]) differs(f, from *F) bool { return *x(f) != *x(from) }

// A Table has the columns of the rows F.
type Table[F any] []Column[F]

// List returns the columns of a table alias: those of groups, or all. It begins and ends with a space.
func (t Table[F]) List(alias string, groups ...When) string {
	var names []string
	for _, c := range t {
		if len(groups) == 0 || slices.Contains(groups, c.when) {
			names = append(names, alias+c.name)
		}
	}
	return " " + strings.Join(names, ", ") + " "
}

// Dest returns the destinations of a scan of List, with space for some more.
func (t Table[F]) Dest(f *F) []any {
	dest := make([]any, len(t), len(t)+8)
	for i, c := range t {
		dest[i] = c.field.dest(f)
	}
	return dest
}

// isInserted reports whether an INSERT writes the column.
func (c Column[F]) isInserted() bool { return c.when < Elsewhere }

// Insert returns the statement that adds a row to the table name, with more columns before those of t.
func (t Table[F]) Insert(name string, more ...string) string {
	for _, c := range t {
		if c.isInserted() {
			more = append(more, c.name)
		}
	}
	values := make([]string, len(more))
	for i := range values {
		values[i] = "?" + strconv.Itoa(i+1)
	}
	return "INSERT INTO " + name + " (" + strings.Join(more, ", ") + ") VALUES (" + strings.Join(values, ", ") + ")"
}

// Values returns the arguments of Insert, with those of more columns first.
func (t Table[F]) Values(f *F, more ...any) []any {
	values := append(make([]any, 0, len(more)+len(t)), more...)
	for _, c := range t {
		if c.isInserted() {
			values = append(values, c.field.value(f))
		}
	}
	return values
}

// Keep gives next the values of was in the columns that an update of groups does not write.
func (t Table[F]) Keep(next, was *F, groups ...When) {
	for _, c := range t {
		if c.when == Inserted || c.when >= Elsewhere && !slices.Contains(groups, c.when) {
			c.field.copyTo(next, was)
		}
	}
}

// Equal reports whether two rows have equal values in all columns.
func (t Table[F]) Equal(a, b *F) bool {
	return !slices.ContainsFunc(t, func(c Column[F]) bool { // pointers may differ with equal values
		return c.field.differs(a, b) && !reflect.DeepEqual(c.field.value(a), c.field.value(b))
	})
}

// An Update collects the columns of an UPDATE.
type Update struct {
	columns []string
	Args    []any // those of its condition come first
}

// Set adds a column.
func (u *Update) Set(column string, value any) {
	u.Args = append(u.Args, value)
	u.columns = append(u.columns, column+" = ?"+strconv.Itoa(len(u.Args)))
}

// Clause returns the text after SET.
func (u *Update) Clause() string { return strings.Join(u.columns, ", ") }

// Assign adds the columns that a change from was to next writes. It omits unchanged columns that have an index: naming
// a column updates its indexes, even with the same value.
func (t Table[F]) Assign(u *Update, next, was *F, groups ...When) {
	for _, c := range t {
		if c.when == Always || c.when == Changed && c.field.differs(next, was) || slices.Contains(groups, c.when) {
			u.Set(c.name, c.field.value(next))
		}
	}
}
