package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"reflect"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
)

// conn is a connection of the driver with its prepared statements. One goroutine at a time uses it. So it needs
// none of the locks and copies of database/sql, which take a twentieth of a create.
type conn struct {
	conn        driver.Conn
	prepared    map[string]*statement
	args        []driver.NamedValue // of the current statement, reused by the next
	ctx         context.Context     // of the current transaction
	busyTimeout time.Duration
	isOld       bool // the schema is one without checksums
}

// A statement is a prepared statement of either driver.
type statement struct {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
	rewritten *sqldb.Statement
	columns   int // of its rows; 0 before the first execution
}

// maxPrepared is the limit of prepared statements of a connection.
const maxPrepared = 256

func (c *conn) prepare(q string) (*statement, error) {
	if s := c.prepared[q]; s != nil {
		return s, nil
	}
	if len(c.prepared) >= maxPrepared {
		c.closeStatements()
	}
	rewritten := &sqldb.Statement{Text: q}
	if !c.isOld {
		var err error
		if rewritten, err = sqldb.Rewrite(q, dialect); err != nil {
			return nil, err
		}
	}
	raw, err := c.conn.Prepare(rewritten.Text)
	if err != nil {
		return nil, markUnreadable(err)
	}
	s := &statement{Stmt: raw, StmtExecContext: raw.(driver.StmtExecContext),
		StmtQueryContext: raw.(driver.StmtQueryContext), rewritten: rewritten}
	c.prepared[q] = s
	return s, nil
}

func (c *conn) closeStatements() {
	for q, s := range c.prepared {
		s.Close()
		delete(c.prepared, q)
	}
}

// close finalizes the statements too: SQLite keeps a connection open for them.
func (c *conn) close() error {
	c.closeStatements()
	return c.conn.Close()
}

// bindArgs converts arguments for the driver, and adds those of checksums. They are valid until the next statement.
func (c *conn) bindArgs(s *statement, args []any) (_ []driver.NamedValue, err error) {
	c.args = c.args[:0]
	for i, a := range args {
		var v driver.Value
		switch a := a.(type) {
		case string, int64, []byte, bool, nil:
			v = a
		case int:
			v = int64(a)
		case loci.Time:
			v = int64(a)
		default:
			if v, err = driver.DefaultParameterConverter.ConvertValue(a); err != nil {
				return nil, fmt.Errorf("argument %d: %w", i+1, err)
			}
		}
		c.args = append(c.args, driver.NamedValue{Ordinal: i + 1, Value: v})
	}
	err = s.rewritten.AddSums(dialect, func(i int) any { return c.args[i].Value }, func(sum int64) {
		c.args = append(c.args, driver.NamedValue{Ordinal: len(c.args) + 1, Value: sum})
	})
	return c.args, err
}

// bind returns a statement with its arguments, after it has cleared the references to what that deletes.
func (c *conn) bind(q string, args []any) (*statement, []driver.NamedValue, error) {
	sqldb.CountStatement()
	s, err := c.prepare(q)
	if err != nil {
		return nil, nil, err
	}
	for _, before := range s.rewritten.Before {
		if _, err := c.execStatement(before, args); err != nil {
			return nil, nil, err
		}
		if s, err = c.prepare(q); err != nil { // another statement may have closed it
			return nil, nil, err
		}
	}
	values, err := c.bindArgs(s, args)
	return s, values, err
}

// execStatement executes a statement without cancellation, which would cost a goroutine each time.
func (c *conn) execStatement(q string, args []any) (driver.Result, error) {
	s, values, err := c.bind(q, args)
	if err != nil {
		return nil, err
	}
	result, err := s.ExecContext(context.Background(), values)
	return result, markUnreadable(err)
}

func (c *conn) Exec(q string, args []any) (int64, error) {
	r, err := c.execStatement(q, args)
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
}

// Insert uses the row id that SQLite reports. A RETURNING clause would cost a result set.
func (c *conn) Insert(q string, args []any) (rowID int64, err error) {
	r, err := c.execStatement(q, args)
	if err != nil {
		return 0, err
	}
	return r.LastInsertId()
}

func (c *conn) QueryRow(q string, args []any, dest []any) error {
	r, err := c.startQuery(context.Background(), q, args)
	if err != nil {
		return err
	}
	switch err = r.Next(r.values); err {
	case nil:
		err = r.Scan(dest...)
	case io.EOF:
		err = sqldb.ErrNoRows
	}
	return r.closeWith(err)
}

// Query interrupts a query after the busy timeout.
func (c *conn) Query(q string, args []any, f func(sqldb.Row) error) error {
	ctx, cancel := context.WithTimeoutCause(c.ctx, c.busyTimeout, errQueryTimeout)
	defer cancel()
	err := c.queryContext(ctx, q, args, f)
	if err != nil && context.Cause(ctx) == errQueryTimeout {
		return sqldb.NewBusyError(errors.Join(errQueryTimeout, err))
	}
	return err
}

// QueryFew saves the goroutine that interrupts a query.
func (c *conn) QueryFew(q string, args []any, f func(sqldb.Row) error) error {
	return c.queryContext(context.Background(), q, args, f)
}

func (c *conn) queryContext(ctx context.Context, q string, args []any, f func(sqldb.Row) error) (err error) {
	r, err := c.startQuery(ctx, q, args)
	if err != nil {
		return err
	}
	defer func() { err = r.closeWith(err) }() // even if f panics: the connection is used again
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		switch err := r.Next(r.values); err {
		case nil:
		case io.EOF:
			return nil
		default:
			return err
		}
		if err := f(r); err == sqldb.ErrStop {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// startQuery executes a query. The caller must close its rows.
func (c *conn) startQuery(ctx context.Context, q string, args []any) (*resultSet, error) {
	s, values, err := c.bind(q, args)
	if err != nil {
		return nil, err
	}
	rows, err := s.QueryContext(ctx, values)
	if err != nil {
		return nil, markUnreadable(err)
	}
	if s.columns == 0 {
		s.columns = len(rows.Columns())
	}
	return &resultSet{rows, make([]driver.Value, s.columns)}, nil
}

// execContext executes a long statement, such as a pragma that returns a row, with cancellation.
func (c *conn) execContext(ctx context.Context, q string) error {
	return c.queryContext(ctx, q, nil, func(sqldb.Row) error { return nil })
}

var errQueryTimeout = errors.New("sqldb: a query took too long")

// resultSet is a result set and its current row.
type resultSet struct {
	driver.Rows
	values []driver.Value
}

// closeWith closes the rows, and returns err or the error of closing.
func (r *resultSet) closeWith(err error) error {
	if failed := r.Close(); err == nil {
		err = failed
	}
	return markUnreadable(err)
}

// Scan copies the columns of the row to the destinations.
func (r *resultSet) Scan(dest ...any) error {
	if len(dest) != len(r.values) {
		return fmt.Errorf("sqldb: %d columns for %d destinations", len(r.values), len(dest))
	}
	for i, v := range r.values {
		if err := assign(dest[i], v); err != nil {
			return sqldb.NewColumnError(fmt.Errorf("sqldb: column %d holds another type: %w", i+1, err))
		}
	}
	return nil
}

// assign copies a value, without reflection for the types of most columns.
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
		if b, ok := v.([]byte); ok || v == nil { // NULL is nil, as with database/sql
			*d = b
			return nil
		}
	case *any:
		*d = v
		return nil
	}
	return convert(reflect.ValueOf(dest).Elem(), v)
}

// convert copies a value by reflection.
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
