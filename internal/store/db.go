package store

import (
	"context"
	"fmt"
	"sync/atomic"
)

// advisoryLock makes everybody who names the same thing wait for one another
// until the end of the transaction. SQLite has one writer anyway.
func (d *dialect) advisoryLock(c conn, name string) error {
	if d != postgresDialect {
		return nil
	}
	_, err := c.exec(`SELECT pg_advisory_xact_lock(hashtextextended(?1, 0))`, []any{name})
	if err != nil {
		return fmt.Errorf("store: serialize: %w", err)
	}
	return nil
}

// database is one of the two that stand behind a Store.
type database interface {
	// read runs f on a connection that cannot write. write runs it in a
	// transaction, again where the database asks for it, and returns once the
	// transaction is durable. Connections are shared fairly between users; without
	// one the service works for itself.
	read(ctx context.Context, user string, f func(conn) error) error
	write(ctx context.Context, user string, f func(conn) error) error
	close() error
	dialect() *dialect
	stats(ctx context.Context) Stats
	// checkFiles returns an error while a file of the database is not where it was opened.
	checkFiles() error
}

// conn is a connection in one of the two databases.
type conn interface {
	// exec returns the number of rows that the statement changed.
	exec(q string, args []any) (int64, error)
	// insert adds one row to a table with row ids and returns its own.
	insert(q string, args []any) (rowID int64, err error)
	// queryRow scans the only row of a query, or returns errNoRow.
	queryRow(q string, args []any, dest []any) error
	// query calls f with every row of a query; it ends at f's first error, of which
	// errEnough is none.
	query(q string, args []any, f func(row) error) error
	// queryFew is each for a query that reads few rows, by their keys: nothing ends
	// it, and nothing watches over it.
	queryFew(q string, args []any, f func(row) error) error
}

// row is one row of a result.
type row interface{ Scan(dest ...any) error }

// A dialect is what the two databases say differently.
type dialect struct {
	name        string
	rowLocks    bool   // rows are locked one by one; else there is one writer
	inList      string // a condition: %[1]s is one of the integers of the JSON list ?%[2]d
	containsAll string // a condition: the JSON list %[1]s holds all texts of the JSON list ?%[2]d
	joinIDs     string // the start of a query that joins a row for each integer
	logVersion  string // an aggregate that tells two states of a log apart to which rows c are only added
}

// statements counts what is sent to a database, for tests.
var statements atomic.Int64

// Statements returns how many statements have been sent in this process.
func Statements() int64 { return statements.Load() }

// scanFunc is a row that was read for one scan.
type scanFunc struct {
	scan func(dest ...any) error
}

func (s scanFunc) Scan(dest ...any) error { return s.scan(dest...) }
