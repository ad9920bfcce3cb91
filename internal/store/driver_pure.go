//go:build !cgo || !sqlite_fts5

package store

import (
	"errors"

	"modernc.org/sqlite"
)

// SQLDriver is database/sql's name for the driver of plain go run, go test and
// cross builds: SQLite in Go.
const SQLDriver = "sqlite"

// Driver names the SQLite driver of this build.
const Driver = "modernc"

// sqliteCode returns SQLite's primary result code of err, or 0.
func sqliteCode(err error) int {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return e.Code() & 0xff
	}
	return 0
}
