package sqldb

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/loci-memory/loci"
)

// sqliteConn is one connection of the driver's own, with its prepared
// statements. It belongs to one goroutine at a time, so that it needs none of
// the locks and copies of database/sql: they took a twentieth of a create.
type sqliteConn struct {
	conn        driver.Conn
	prepared    map[string]*statement
	args        []driver.NamedValue // of the statement under way
	ctx         context.Context     // of the transaction under way
	busyTimeout time.Duration
}

// A statement is one that both drivers of SQLite prepare.
type statement struct {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
	columns int // of its rows, once there were some
}

// maxPrepared bounds the statements that a connection keeps.
const maxPrepared = 256

func (c *sqliteConn) prepare(q string) (*statement, error) {
	statements.Add(1)
	if s := c.prepared[q]; s != nil {
		return s, nil
	}
	if len(c.prepared) >= maxPrepared {
		c.closeStatements()
	}
	raw, err := c.conn.Prepare(q)
	if err != nil {
		return nil, err
	}
	s := &statement{Stmt: raw, StmtExecContext: raw.(driver.StmtExecContext),
		StmtQueryContext: raw.(driver.StmtQueryContext)}
	c.prepared[q] = s
	return s, nil
}

func (c *sqliteConn) closeStatements() {
	for q, s := range c.prepared {
		s.Close()
		delete(c.prepared, q)
	}
}

// close ends the statements too: SQLite keeps a connection open for them.
func (c *sqliteConn) close() error {
	c.closeStatements()
	return c.conn.Close()
}

// bindArgs returns arguments as the driver takes them. They are good until the next
// statement: SQLite has copied them by then.
func (c *sqliteConn) bindArgs(args []any) (_ []driver.NamedValue, err error) {
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
	return c.args, nil
}

// execStatement and one touch few rows: they run to their end. A context that could
// end would cost a goroutine for each.
func (c *sqliteConn) execStatement(q string, args []any) (driver.Result, error) {
	s, err := c.prepare(q)
	if err != nil {
		return nil, err
	}
	values, err := c.bindArgs(args)
	if err != nil {
		return nil, err
	}
	return s.ExecContext(context.Background(), values)
}

func (c *sqliteConn) Exec(q string, args []any) (int64, error) {
	r, err := c.execStatement(q, args)
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
}

// Insert takes the rid from the answer to the write itself: a RETURNING clause
// would make rows of it.
func (c *sqliteConn) Insert(q string, args []any) (rowID int64, err error) {
	r, err := c.execStatement(q, args)
	if err != nil {
		return 0, err
	}
	return r.LastInsertId()
}

func (c *sqliteConn) QueryRow(q string, args []any, dest []any) error {
	r, err := c.startQuery(context.Background(), q, args)
	if err != nil {
		return err
	}
	switch err = r.Next(r.values); err {
	case nil:
		err = r.Scan(dest...)
	case io.EOF:
		err = ErrNoRows
	}
	return r.closeWith(err)
}

// Query ends a query that runs away, at the connection's patience.
func (c *sqliteConn) Query(q string, args []any, f func(Row) error) error {
	ctx, cancel := context.WithTimeoutCause(c.ctx, c.busyTimeout, errQueryTimeout)
	defer cancel()
	err := c.queryContext(ctx, q, args, f)
	if err != nil && context.Cause(ctx) == errQueryTimeout {
		return BusyError(errors.Join(errQueryTimeout, err))
	}
	return err
}

// QueryFew saves what would watch over the query.
func (c *sqliteConn) QueryFew(q string, args []any, f func(Row) error) error {
	return c.queryContext(context.Background(), q, args, f)
}

func (c *sqliteConn) queryContext(ctx context.Context, q string, args []any, f func(Row) error) (err error) {
	r, err := c.startQuery(ctx, q, args)
	if err != nil {
		return err
	}
	defer func() { err = r.closeWith(err) }() // the connection is used again even where f panics
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
		if err := f(r); err == ErrStop {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// startQuery begins a query. Its rows must be closed.
func (c *sqliteConn) startQuery(ctx context.Context, q string, args []any) (*sqliteRows, error) {
	s, err := c.prepare(q)
	if err != nil {
		return nil, err
	}
	values, err := c.bindArgs(args)
	if err != nil {
		return nil, err
	}
	rows, err := s.QueryContext(ctx, values)
	if err != nil {
		return nil, err
	}
	if s.columns == 0 {
		s.columns = len(rows.Columns())
	}
	return &sqliteRows{rows, make([]driver.Value, s.columns)}, nil
}

// execContext executes a statement that may take long, and may answer with a row.
func (c *sqliteConn) execContext(ctx context.Context, q string) error {
	return c.queryContext(ctx, q, nil, func(Row) error { return nil })
}

var errQueryTimeout = errors.New("sqldb: a query took too long")
