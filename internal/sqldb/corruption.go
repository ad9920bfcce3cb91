package sqldb

import (
	"context"
	"errors"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/loci-memory/loci"
	"sync/atomic"
)

// corruptionErrors counts the statements that met damage in the file of the database.
var corruptionErrors atomic.Int64

// CorruptionErrors returns how many statements of this process the database refused
// because its file is damaged.
func CorruptionErrors() int64 { return corruptionErrors.Load() }

// isCorrupt reports whether the database says that its file is damaged.
func isCorrupt(err error) bool {
	switch sqliteCode(err) & 0xff {
	case sqliteCorrupt, sqliteNotADatabase:
		return true
	}
	switch sqlState(err) {
	case "XX001", "XX002": // data_corrupted, index_corrupted
		return true
	}
	return false
}

// UnreadableReason returns what kept a row from being read, in words without its contents.
// It is empty where err says nothing about the row: others are in the way, the caller
// left, or the database is gone.
func UnreadableReason(err error) string {
	var connect *pgconn.ConnectError
	_, told := errors.AsType[*loci.Error](err)
	switch {
	case err == nil, told, errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded),
		errors.As(err, &connect):
		return ""
	case isCorrupt(err), sqliteCode(err)&0xff == sqliteIO:
		return RootCause(err).Error()
	case errors.Is(err, errColumnType):
		return "a column holds what does not belong there"
	}
	return ""
}

func RootCause(err error) error {
	for {
		next := errors.Unwrap(err)
		if next == nil {
			return err
		}
		err = next
	}
}
