//go:build !cgo || !sqlite_fts5

package sqlite

import (
	"database/sql/driver"
	"errors"
	"syscall"

	"modernc.org/sqlite"

	"github.com/loci-memory/loci/internal/sqldb"
)

// Driver is the name of the module, and SQLName the name that it registers in database/sql.
const (
	Driver  = "modernc"
	SQLName = "sqlite"
)

func init() {
	sqlite.MustRegisterDeterministicScalarFunction(sqldb.ChecksumFunction, -1,
		func(_ *sqlite.FunctionContext, args []driver.Value) (driver.Value, error) {
			more, _ := args[1].(int64)
			columns, _ := args[2].(string)
			values := make([]any, len(args)-3)
			for i, a := range args[3:] {
				values[i] = a
			}
			return sqldb.Checksum(args[0], more, columns, values...), nil
		})
}

// extendedCode returns SQLite's extended result code of err, or 0.
func extendedCode(err error) int {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return e.Code()
	}
	return 0
}

// systemError returns 0: the driver does not tell.
func systemError(error) syscall.Errno { return 0 }
