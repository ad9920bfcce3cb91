//go:build !cgo || !sqlite_fts5

package sqldb

import (
	"errors"

	"modernc.org/sqlite"
)

// SQLDriver is database/sql's name for the driver of plain go run, go test and
// cross builds: SQLite in Go.
const SQLDriver = "sqlite"

// Driver names the SQLite driver of this build.
const Driver = "modernc"

// sqliteCode returns SQLite's extended result code of err, whose last byte is the
// primary one, or 0.
func sqliteCode(err error) int {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return e.Code()
	}
	return 0
}
