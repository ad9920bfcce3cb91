package sqldb

import (
	"context"
	"sync/atomic"
)

// DB is one of the two that stand behind a Store.
type DB interface {
	// Read runs f on a connection that cannot write. write runs it in a
	// transaction, again where the database asks for it, and returns once the
	// transaction is durable. Connections are shared fairly between users; without
	// one the service works for itself.
	Read(ctx context.Context, user string, f func(Conn) error) error
	Write(ctx context.Context, user string, f func(Conn) error) error
	Close() error
	Dialect() *Dialect
	Stats(ctx context.Context) Stats
	// CheckFiles returns an error while a file of the database is not where it was opened.
	CheckFiles() error
}

// Conn is a connection in one of the two databases.
type Conn interface {
	// Exec returns the number of rows that the statement changed.
	Exec(q string, args []any) (int64, error)
	// Insert adds one row to a table with row ids and returns its own.
	Insert(q string, args []any) (rowID int64, err error)
	// QueryRow scans the only row of a query, or returns errNoRow.
	QueryRow(q string, args []any, dest []any) error
	// Query calls f with every row of a query; it ends at f's first error, of which
	// errEnough is none.
	Query(q string, args []any, f func(Row) error) error
	// QueryFew is each for a query that reads few rows, by their keys: nothing ends
	// it, and nothing watches over it.
	QueryFew(q string, args []any, f func(Row) error) error
}

// Row is one row of a result.
type Row interface{ Scan(dest ...any) error }

// A Dialect is what the two databases say differently.
type Dialect struct {
	Name        string
	RowLocks    bool   // rows are locked one by one; else there is one writer
	InList      string // a condition: %[1]s is one of the integers of the JSON list ?%[2]d
	ContainsAll string // a condition: the JSON list %[1]s holds all texts of the JSON list ?%[2]d
	JoinIDs     string // the start of a query that joins a row for each integer
	LogVersion  string // an aggregate that tells two states of a log apart to which rows c are only added
}

// statements counts what is sent to a database, for tests.
var statements atomic.Int64

// Statements returns how many statements have been sent in this process.
func Statements() int64 { return statements.Load() }

// ScanFunc is a row that was read for one scan.
type ScanFunc struct {
	Func func(dest ...any) error
}

func (s ScanFunc) Scan(dest ...any) error { return s.Func(dest...) }
