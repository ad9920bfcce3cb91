package sqlite

import (
	"errors"
	"slices"
	"syscall"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
)

// Result codes of SQLite (https://sqlite.org/rescode.html).
const (
	codeBusy         = 5
	codeLocked       = 6
	codeIOError      = 10
	codeCorrupt      = 11
	codeFull         = 13
	codeCantOpen     = 14
	codeConstraint   = 19
	codeNotADatabase = 26
)

// Extended result codes, of which the last byte is the result code.
const (
	codeConstraintForeignKey = 787
	codeConstraintPrimaryKey = 1555
	codeConstraintUnique     = 2067
	codeIOErrorNoMemory      = 3082
)

// mapError returns the error of the domain for an error of SQLite.
func (d *database) mapError(err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*loci.Error](err); ok {
		return err
	}
	switch code := extendedCode(err); {
	case code == codeConstraintUnique, code == codeConstraintPrimaryKey:
		return sqldb.NewConflictError(err)
	case code == codeConstraintForeignKey:
		return sqldb.NewParentError(err)
	case isFull(err):
		return sqldb.NewStorageFullError(err)
	case slices.Contains([]int{codeBusy, codeLocked, codeCantOpen}, code&0xff): // codeCantOpen: no file descriptors
		return sqldb.NewBusyError(err)
	case isUnreadable(err):
		d.damaged.Store(true)
		sqldb.CountCorruption()
		if lost := d.checkFiles(); lost != nil {
			return lost
		}
	}
	return err
}

// isCorrupt reports an error of a damaged file.
func isCorrupt(err error) bool {
	code := extendedCode(err) & 0xff
	return code == codeCorrupt || code == codeNotADatabase
}

// isFull reports an error of a full disk.
func isFull(err error) bool {
	full := []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG}
	return extendedCode(err)&0xff == codeFull || slices.Contains(full, systemError(err))
}

// isUnreadable reports an error of a damaged file or a failing disk.
func isUnreadable(err error) bool {
	code := extendedCode(err)
	return isCorrupt(err) || code&0xff == codeIOError && code != codeIOErrorNoMemory && !isFull(err)
}

// markUnreadable marks the error of a damaged file or a failing disk.
func markUnreadable(err error) error {
	if isUnreadable(err) {
		return sqldb.NewUnreadableError(err)
	}
	return err
}
