package sqldb

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"reflect"

	"github.com/loci-memory/loci"
)

// sqliteRows are the rows of a query, at one of them.
type sqliteRows struct {
	driver.Rows
	values []driver.Value
}

// closeWith closes the rows and returns err, or what went wrong here.
func (r *sqliteRows) closeWith(err error) error {
	if failed := r.Close(); err == nil {
		err = failed
	}
	return err
}

// errColumnType is a value that its place does not take.
var errColumnType = errors.New("it holds another type")

// Scan copies the row's columns to where dest points.
func (r *sqliteRows) Scan(dest ...any) error {
	if len(dest) != len(r.values) {
		return fmt.Errorf("sqldb: %d columns for %d places", len(r.values), len(dest))
	}
	for i, v := range r.values {
		if err := assign(dest[i], v); err != nil {
			return fmt.Errorf("sqldb: column %d: %w: %w", i+1, errColumnType, err)
		}
	}
	return nil
}

// assign copies a value. The types that most columns have need no reflection.
func assign(dest any, v driver.Value) error {
	switch d := dest.(type) {
	case *string:
		if s, ok := v.(string); ok {
			*d = s
			return nil
		}
	case *int64:
		if n, ok := v.(int64); ok {
			*d = n
			return nil
		}
	case *int:
		if n, ok := v.(int64); ok {
			*d = int(n)
			return nil
		}
	case *loci.Time:
		if n, ok := v.(int64); ok {
			*d = loci.Time(n)
			return nil
		}
	case *[]byte:
		if b, ok := v.([]byte); ok {
			*d = b
			return nil
		}
	}
	return convert(reflect.ValueOf(dest).Elem(), v)
}

// convert is assign for every type that a column may have.
func convert(d reflect.Value, v driver.Value) error {
	if d.Kind() == reflect.Pointer {
		if d.SetZero(); v == nil {
			return nil
		}
		d.Set(reflect.New(d.Type().Elem()))
		return convert(d.Elem(), v)
	}
	switch v := v.(type) {
	case string:
		if d.Kind() == reflect.String {
			d.SetString(v)
			return nil
		}
	case bool:
		if d.Kind() == reflect.Bool {
			d.SetBool(v)
			return nil
		}
	case float64:
		if d.CanFloat() {
			d.SetFloat(v)
			return nil
		}
	case int64:
		switch {
		case d.Kind() == reflect.Bool:
			d.SetBool(v != 0)
			return nil
		case d.CanInt() && !d.OverflowInt(v):
			d.SetInt(v)
			return nil
		case d.CanUint() && v >= 0 && !d.OverflowUint(uint64(v)):
			d.SetUint(uint64(v))
			return nil
		}
	}
	return fmt.Errorf("%T is no %s", v, d.Type())
}
