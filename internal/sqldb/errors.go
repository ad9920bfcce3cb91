package sqldb

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/loci-memory/loci"
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

// NewConflictError returns an error of CodeConflict for a violated unique constraint that the service did not find
// before.
func NewConflictError(err error) error {
	return &loci.Error{Code: loci.CodeConflict, Message: "Another request has made the same thing: read it again, or " +
		"choose another name.", Err: err}
}

// NewParentError returns an error of CodeNotFound for a violated foreign key: the parent row was deleted meanwhile.
// An example is a write of a purged user, whose credential is still cached.
func NewParentError(err error) error {
	return &loci.Error{Code: loci.CodeNotFound, Message: loci.CodeNotFound.Hint(), Err: err}
}

// NewStorageFullError returns an error of CodeStorageFull: the disk of the database is full.
func NewStorageFullError(err error) error {
	return &loci.Error{Code: loci.CodeStorageFull, Message: loci.CodeStorageFull.Hint(), Err: err}
}

// ErrUnknownOutcome reports a connection that was lost during the commit.
var ErrUnknownOutcome = errors.New("sqldb: the outcome of the commit is unknown")

// corruptionErrors counts the statements that failed on a damaged file or a failing disk.
var corruptionErrors atomic.Int64

// CorruptionErrors returns how many statements of this process failed on a damaged file or a failing disk.
func CorruptionErrors() int64 { return corruptionErrors.Load() }

// CountCorruption counts such a statement.
func CountCorruption() { corruptionErrors.Add(1) }

// An unreadableError says why a row cannot be read, without the contents of the row.
type unreadableError struct {
	error
	reason string
}

func (e *unreadableError) Unwrap() error { return e.error }

// NewUnreadableError marks the error of a statement that met a damaged file or a failing disk.
func NewUnreadableError(err error) error { return &unreadableError{err, RootCause(err).Error()} }

// NewColumnError marks the error of a column that holds a value of the wrong type.
func NewColumnError(err error) error {
	return &unreadableError{err, "a column holds a value of the wrong type"}
}

// UnreadableReason returns why a row cannot be read, without the contents of the row. It is empty if err does not
// concern the row: the database is busy or gone, or the caller left.
func UnreadableReason(err error) string {
	unreadable, marked := errors.AsType[*unreadableError](err)
	_, mapped := errors.AsType[*loci.Error](err)
	if !marked || mapped || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return ""
	}
	return unreadable.reason
}

// InReadableBatches calls f with batches of row ids. It calls f with each row of an unreadable batch alone, and skips
// the unreadable rows.
func InReadableBatches(rowIDs []int64, size int, f func(batch []int64) error) error {
	for batch := range slices.Chunk(rowIDs, size) {
		err := f(batch)
		if UnreadableReason(err) != "" {
			err = nil
			if size > 1 {
				err = InReadableBatches(batch, 1, f)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
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
