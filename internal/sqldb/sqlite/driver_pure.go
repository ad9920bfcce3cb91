//go:build !cgo || !sqlite_fts5

package sqlite

import (
	"errors"
	"syscall"

	"modernc.org/sqlite"
)

// Driver is the name of the module, and SQLName the name that it registers in database/sql.
const (
	Driver  = "modernc"
	SQLName = "sqlite"
)

// extendedCode returns SQLite's extended result code of err, or 0.
func extendedCode(err error) int {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return e.Code()
	}
	return 0
}

// systemError returns 0: the driver does not tell.
func systemError(error) syscall.Errno { return 0 }
