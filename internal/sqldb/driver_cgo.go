//go:build cgo && sqlite_fts5

package sqldb

import (
	"errors"

	"github.com/mattn/go-sqlite3"
)

// SQLDriver is database/sql's name for the driver of release builds: SQLite in C.
const SQLDriver = "sqlite3"

// Driver names the SQLite driver of this build.
const Driver = "mattn"

// sqliteCode returns SQLite's extended result code of err, whose last byte is the
// primary one, or 0.
func sqliteCode(err error) int {
	if e, ok := errors.AsType[sqlite3.Error](err); ok {
		return int(e.ExtendedCode)
	}
	return 0
}
