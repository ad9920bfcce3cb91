package sqldb

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb/sqlitedriver"
)

// ErrNoRows is the error of QueryRow for a query without rows.
var ErrNoRows = errors.New("sqldb: no row")

// ErrStop ends a query before its last row, without an error.
var ErrStop = errors.New("sqldb: enough rows")

// MapNoRows returns an error of CodeNotFound in place of ErrNoRows.
func MapNoRows(err error) error {
	if errors.Is(err, ErrNoRows) {
		return loci.NewError(loci.CodeNotFound)
	}
	return err
}

// NotFoundMessage returns an error of CodeNotFound with a message in place of ErrNoRows.
func NotFoundMessage(err error, text string) error {
	if errors.Is(err, ErrNoRows) {
		return loci.Errorf(loci.CodeNotFound, "%s", text)
	}
	return err
}

// WrapQueryError adds the start of the query to its error.
func WrapQueryError(q string, err error) error {
	if err == nil || errors.Is(err, ErrNoRows) {
		return err
	}
	return fmt.Errorf("sqldb: %.80s: %w", q, err)
}

// NewBusyError returns an error of CodeUnavailable: the database cannot accept more work at the moment.
func NewBusyError(err error) error {
	return &loci.Error{Code: loci.CodeUnavailable, Message: loci.CodeUnavailable.Hint(), RetryAfter: time.Second,
		Err: err}
}

// newConflictError returns an error of CodeConflict for a violated unique constraint that the service did not find
// before.
func newConflictError(err error) error {
	return &loci.Error{Code: loci.CodeConflict, Message: "Another request has made the same thing: read it again, or " +
		"choose another name.", Err: err}
}

// newNotFoundError returns an error of CodeNotFound for a violated foreign key: the parent row was deleted meanwhile.
// An example is a write of a purged user, whose credential is still cached.
func newNotFoundError(err error) error {
	return &loci.Error{Code: loci.CodeNotFound, Message: loci.CodeNotFound.Hint(), Err: err}
}

func newUnreachableError(err error) error {
	return &loci.Error{Code: loci.CodeUnavailable, Message: fmt.Sprintf("the database cannot be reached: %v", err),
		Err: err}
}

// mapError returns the error of the domain for an error of SQLite.
func (d *sqliteDB) mapError(err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*loci.Error](err); ok {
		return err
	}
	code := sqlitedriver.ExtendedCode(err)
	switch code {
	case sqlitedriver.ConstraintUnique, sqlitedriver.ConstraintPrimaryKey:
		return newConflictError(err)
	case sqlitedriver.ConstraintForeignKey:
		return newNotFoundError(err)
	}
	switch sqlitedriver.SystemError(err) {
	case syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG:
		code = sqlitedriver.Full
	}
	switch code & 0xff {
	case sqlitedriver.Busy, sqlitedriver.Locked, sqlitedriver.CantOpen: // CantOpen: out of file descriptors
		return NewBusyError(err)
	case sqlitedriver.Full:
		return &loci.Error{Code: loci.CodeStorageFull, Message: loci.CodeStorageFull.Hint(), Err: err}
	}
	if isCorrupt(err) || code&0xff == sqlitedriver.IOError && code != sqlitedriver.IOErrorNoMemory {
		d.damaged.Store(true)
		corruptionErrors.Add(1)
		if lost := d.CheckFiles(); lost != nil {
			return lost
		}
	}
	return err
}

// corruptionErrors counts the statements that failed on a damaged file or a failing disk.
var corruptionErrors atomic.Int64

// CorruptionErrors returns how many statements of this process failed on a damaged file or a failing disk.
func CorruptionErrors() int64 { return corruptionErrors.Load() }

// isCorrupt reports an error of a damaged file.
func isCorrupt(err error) bool {
	switch sqlitedriver.ExtendedCode(err) & 0xff {
	case sqlitedriver.Corrupt, sqlitedriver.NotADatabase:
		return true
	}
	switch sqlState(err) {
	case "XX001", "XX002": // data_corrupted, index_corrupted
		return true
	}
	return false
}

// UnreadableReason returns why a row cannot be read, without the contents of the row. It is empty if err does not
// concern the row: the database is busy or gone, or the caller left.
func UnreadableReason(err error) string {
	var connect *pgconn.ConnectError
	_, mapped := errors.AsType[*loci.Error](err)
	switch {
	case err == nil, mapped, errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded),
		errors.As(err, &connect):
		return ""
	case isCorrupt(err), sqlitedriver.ExtendedCode(err)&0xff == sqlitedriver.IOError:
		return RootCause(err).Error()
	case errors.Is(err, errColumnType):
		return "a column holds a value of the wrong type"
	}
	return ""
}

// RootCause returns the innermost error that err wraps.
func RootCause(err error) error {
	for {
		next := errors.Unwrap(err)
		if next == nil {
			return err
		}
		err = next
	}
}
