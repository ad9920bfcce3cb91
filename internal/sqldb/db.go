package sqldb

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"
)

// DB is an open database: SQLite or PostgreSQL.
type DB interface {
	// Read runs f, which must not write, on a connection. Connections are shared fairly between users; the service
	// itself has no user. SQLite reads one snapshot, PostgreSQL a snapshot for each statement.
	Read(ctx context.Context, user string, f func(Conn) error) error
	// Write runs f in a transaction, and returns once that is durable. PostgreSQL runs f again after a deadlock, a
	// serialization failure, a unique violation or a lost connection. So f must have no effect outside of the
	// transaction. It must not call Write, which would wait for f.
	Write(ctx context.Context, user string, f func(Conn) error) error
	Close() error
	Dialect() *Dialect
	Stats(ctx context.Context) Stats
	// Notify wakes the listeners of a channel in other processes with a payload of less than 8,000 bytes. It is a hint:
	// it may be lost.
	Notify(ctx context.Context, channel, payload string) error
	// Listen calls f with an empty payload once it listens, then with each payload of a channel, until ctx ends or the
	// connection is lost.
	Listen(ctx context.Context, channel string, f func(payload string)) error
	// Check returns an error while the database is not the one that was opened: a file is not where it was (SQLite), or
	// another database has the address (PostgreSQL).
	Check(ctx context.Context) error
}

// Conn is a connection for the length of one Read or Write.
type Conn interface {
	// Exec returns the number of rows that the statement changed.
	Exec(q string, args []any) (int64, error)
	// Insert adds one row to a table with a column row_id, and returns its row id.
	Insert(q string, args []any) (rowID int64, err error)
	// QueryRow scans the only row of a query, or returns ErrNoRows.
	QueryRow(q string, args []any, dest []any) error
	// Query calls f with every row of a query, until f returns an error. ErrStop ends the query without an error. f
	// must not use the connection. A time limit includes the calls of f.
	Query(q string, args []any, f func(Row) error) error
	// QueryFew is Query, on SQLite without time limit and cancellation, for queries that read few rows by their keys.
	QueryFew(q string, args []any, f func(Row) error) error
}

// Row is one row of a result.
type Row interface{ Scan(dest ...any) error }

type rowFunc func(dest ...any) error

func (f rowFunc) Scan(dest ...any) error { return f(dest...) }

// A Dialect holds the parts of SQL that the databases write differently.
type Dialect struct {
	Name        string
	Postgres    bool   // rows are locked one by one, and a failed statement ends its transaction
	InList      string // a condition: %[1]s is one of the integers of the JSON list ?%[2]d
	ContainsAll string // a condition: the JSON list %[1]s holds all texts of the JSON list ?%[2]d
	StringRows  string // a table: list.value is a text of the JSON list ?%[1]d
	PairRows    string // a table: list.name and list.number are the pairs of the JSON list ?%[1]d
	JoinIDs     string // a table: the rows of %[2]s with %[3]s among the integers of the JSON list ?%[1]d
	GroupLists  string // an aggregate: a JSON list of the lists of the columns %s
	LogVersion  string // an aggregate over the rows c of a log; it increases with each appended row
}

// Options configure an open database.
type Options struct {
	Log         *slog.Logger  // nil logs nothing
	OneShot     bool          // the process runs one command
	KeepSchema  bool          // an older schema is refused instead of upgraded
	BusyTimeout time.Duration // for a connection; on SQLite also for the writer, a lock or a Query; 0 is 10 s
	MaxWALSize  int64         // of SQLite, in bytes; 0 is 64 MiB
	Identity    string        // of PostgreSQL: another database is refused; empty accepts any
	Migrations  fs.FS         // in the folder migrations; nil is MigrationFiles
}

// TimeoutOrDefault returns the busy timeout.
func (o Options) TimeoutOrDefault() time.Duration { return cmp.Or(o.BusyTimeout, 10*time.Second) }

// statements counts the statements that are sent to a database.
var statements atomic.Int64

// Statements returns how many statements this process has sent.
func Statements() int64 { return statements.Load() }

// CountStatement counts a statement before it is sent.
func CountStatement() { statements.Add(1) }

// EmptyList is a list column without elements.
const EmptyList = "[]"

// IntegerCondition is that of a column that holds an integer within bounds. SQLite stores values of any type.
func IntegerCondition(column string, least, most int64) string {
	return fmt.Sprintf(` (CAST(%[1]s AS BIGINT) = %[1]s AND %[1]s BETWEEN %[2]d AND %[3]d) `, column, least, most)
}

// EncodeInts returns integers as a JSON list, for Dialect.InList.
func EncodeInts(list []int64) string {
	if list == nil {
		return EmptyList
	}
	b, _ := json.Marshal(list) // integers always marshal
	return string(b)
}

// ScanInts appends the only column of each row to list.
func ScanInts(list *[]int64) func(Row) error {
	var n int64
	into := []any{&n}
	return func(r Row) error {
		err := r.Scan(into...)
		*list = append(*list, n)
		return err
	}
}

// EncodeStrings returns texts as a JSON list.
func EncodeStrings[S ~string](list []S) string {
	if len(list) == 0 {
		return EmptyList
	}
	b, _ := json.Marshal(list) // strings always marshal
	return string(b)
}

// DecodeStrings returns the texts of a JSON list.
func DecodeStrings[S ~string](column string) ([]S, error) {
	list := []S{}
	if column == EmptyList {
		return list, nil
	}
	if strings.HasPrefix(column, `["`) && strings.HasSuffix(column, `"]`) && len(column) > 4 &&
		!strings.Contains(column, `\`) {
		for s := range strings.SplitSeq(column[2:len(column)-2], `","`) { // EncodeStrings escaped nothing
			list = append(list, S(s))
		}
		return list, nil
	}
	err := json.Unmarshal([]byte(column), &list)
	return list, err
}

// Stats are the figures of a database for its operator. An unknown figure is negative.
type Stats struct {
	Connections   int64 // of readers (SQLite), or the limit of the pool (PostgreSQL)
	InUse         int64 // connections in use
	WaitCount     int64 // callers that waited for a connection, since the start
	QueuedWrites  int64 // writes that wait for the writer (SQLite)
	DatabaseBytes int64
	WALBytes      int64 // of the write-ahead log (SQLite)
	DiskFreeBytes int64 // of the disk with the database (SQLite)
}
