//go:build !cgo || !sqlite_fts5

package sqlitedriver

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

// ExtendedCode returns SQLite's extended result code of err, or 0.
func ExtendedCode(err error) int {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return e.Code()
	}
	return 0
}

// SystemError returns 0: the driver does not tell.
func SystemError(error) syscall.Errno { return 0 }
