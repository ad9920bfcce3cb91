package sessiondb

import (
	"context"
	"errors"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
)

// eventsPerBatch is the number of events that one transaction erases: other writers wait for it.
const eventsPerBatch = 1000

// DeletedCondition is the condition of sessions that are marked as deleted.
const DeletedCondition = `workspace IS NULL`

// Erase erases the sessions of a condition, each in transactions of bounded length. The condition has the arguments.
func Erase(ctx context.Context, db *sqldb.Handle, condition string, args ...any) error {
	for {
		more, err := sqldb.System(ctx, db, "erase sessions", func(t *sqldb.Tx) (bool, error) {
			return eraseBatch(t, condition, args)
		})
		if err != nil || !more {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// eraseBatch erases some events of a session, or a session without events. It reports whether it found one.
func eraseBatch(t *sqldb.Tx, condition string, args []any) (found bool, err error) {
	var rowID int64
	err = t.QueryRow(`SELECT row_id FROM sessions WHERE `+condition+` ORDER BY row_id LIMIT 1`, args, []any{&rowID})
	if errors.Is(err, sqldb.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	n, err := t.Exec(`DELETE FROM session_events WHERE row_id IN (SELECT v.row_id FROM session_events v
		WHERE v.session = ?1 LIMIT ?2)`, rowID, eventsPerBatch)
	if err == nil && n < eventsPerBatch {
		_, err = t.Exec(`DELETE FROM sessions WHERE row_id = ?1`, rowID)
	}
	return true, err
}

// MarkDeletedOf hides the sessions of a user whose account is deleted.
func MarkDeletedOf(t *sqldb.Tx, userID loci.ID) (sessions int64, err error) {
	return t.Exec(`UPDATE sessions SET workspace = NULL, user_id = NULL, external_id = '' WHERE user_id = ?1`, userID)
}
