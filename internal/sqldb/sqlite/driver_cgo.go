//go:build cgo && sqlite_fts5

package sqlite

import (
	"database/sql"
	"errors"
	"syscall"

	"github.com/mattn/go-sqlite3"

	"github.com/loci-memory/loci/internal/sqldb"
)

// Driver is the name of the module, and SQLName the name in database/sql.
const (
	Driver  = "mattn"
	SQLName = "sqlite3-loci"
)

func init() {
	sql.Register(SQLName, &sqlite3.SQLiteDriver{ConnectHook: func(c *sqlite3.SQLiteConn) error {
		return c.RegisterFunc(sqldb.ChecksumFunction, sqldb.Checksum, true)
	}})
}

// extendedCode returns SQLite's extended result code of err, or 0.
func extendedCode(err error) int {
	if e, ok := errors.AsType[sqlite3.Error](err); ok {
		return int(e.ExtendedCode)
	}
	return 0
}

// systemError returns the error of the operating system behind err, or 0.
func systemError(err error) syscall.Errno {
	if e, ok := errors.AsType[sqlite3.Error](err); ok {
		return e.SystemErrno
	}
	return 0
}
