package sqlite

import (
	"errors"
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
	code := extendedCode(err)
	switch code {
	case codeConstraintUnique, codeConstraintPrimaryKey:
		return sqldb.NewConflictError(err)
	case codeConstraintForeignKey:
		return sqldb.NewParentError(err)
	}
	switch systemError(err) {
	case syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG:
		code = codeFull
	}
	switch code & 0xff {
	case codeBusy, codeLocked, codeCantOpen: // codeCantOpen: out of file descriptors
		return sqldb.NewBusyError(err)
	case codeFull:
		return sqldb.NewStorageFullError(err)
	}
	if isCorrupt(err) || code&0xff == codeIOError && code != codeIOErrorNoMemory {
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

// markUnreadable marks the error of a damaged file or a failing disk.
func markUnreadable(err error) error {
	if isCorrupt(err) || extendedCode(err)&0xff == codeIOError {
		return sqldb.NewUnreadableError(err)
	}
	return err
}
