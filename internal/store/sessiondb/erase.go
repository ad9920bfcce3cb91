package sessiondb

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
)

// EraseJob is the kind of the jobs that erase deleted sessions. Their subject is the session or its user.
const EraseJob = "erase_sessions"

// DeletedCondition is the condition of sessions that are marked as deleted.
const DeletedCondition = `workspace IS NULL`

// Erase erases the sessions of a condition in transactions of bounded length, until end or the end of ctx. It reports
// whether others are left. The condition has the arguments.
func Erase(ctx context.Context, db *sqldb.Handle, end time.Time, condition string, args ...any) (more bool, err error) {
	return sqldb.InBatches(ctx, end, func() (bool, error) {
		return sqldb.System(ctx, db, "erase sessions", func(t *sqldb.Tx) (bool, error) {
			return eraseBatch(t, condition, args)
		})
	})
}

// A budget is what remains for the rows of one transaction, because other writers wait for it.
type budget struct{ rows, bytes int }

func newBudget() budget { return budget{rows: 500, bytes: 2 << 20} }

// spent reports whether nothing remains.
func (b budget) spent() bool { return b.rows <= 0 || b.bytes <= 0 }

// take returns the keys of rows within the budget. The query returns keys and sizes; its last argument is a limit.
func (b *budget) take(t *sqldb.Tx, q string, args ...any) (keys []int64, err error) {
	err = t.Query(q, append(args, b.rows), func(r sqldb.Row) error {
		var key int64
		var size int
		err := r.Scan(&key, &size)
		keys = append(keys, key)
		b.rows--
		if b.bytes -= size; b.bytes <= 0 && err == nil {
			return sqldb.ErrStop
		}
		return err
	})
	return keys, err
}

// An erasedPart is a table of which a session may have many or large rows.
type erasedPart struct{ table, key, size string }

// erasedParts have the keys of tables and the sizes of rows. Rows of other tables are deleted with that of the session.
var erasedParts = []erasedPart{
	{"session_events", "row_id", "octet_length(p.content) + octet_length(p.metadata)"},
	{"redaction_audits", "row_id", "octet_length(p.rules)"},
	{"compilations", "row_id", "octet_length(p.input_event_ids)"},
	{"candidates", "row_id", "octet_length(p.content) + octet_length(p.evidence)"},
	{"checkpoints", "number", "octet_length(p.summary)"},
}

// erase erases the rows with some keys of a session. A row_id is a key by itself. With the session beside it,
// PostgreSQL 15 would read the index entries of the whole session for each key.
func (p erasedPart) erase(t *sqldb.Tx, session int64, keys []int64) (err error) {
	list := sqldb.EncodeInts(keys)
	q := `DELETE FROM ` + p.table + ` WHERE ` + fmt.Sprintf(t.Dialect.InList, p.key, 1)
	if p.key == "row_id" {
		_, err = t.Exec(q, list)
	} else {
		_, err = t.Exec(q+` AND session = ?2`, list, session)
	}
	return err
}

// eraseBatch erases rows of a session, and the session once it has none. It reports whether it found a session.
func eraseBatch(t *sqldb.Tx, condition string, args []any) (found bool, err error) {
	var rowID int64
	err = t.QueryRow(`SELECT row_id FROM sessions WHERE `+condition+` LIMIT 1`, args, []any{&rowID})
	if errors.Is(err, sqldb.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	b := newBudget()
	for _, p := range erasedParts {
		keys, err := b.take(t, `SELECT p.`+p.key+`, `+p.size+` FROM `+p.table+` p WHERE p.session = ?1 LIMIT ?2`, rowID)
		if err == nil && len(keys) > 0 {
			err = p.erase(t, rowID, keys)
		}
		if err != nil || b.spent() {
			return true, err
		}
	}
	_, err = t.Exec(`DELETE FROM sessions WHERE row_id = ?1`, rowID)
	return true, err
}

// MarkDeletedOf hides the sessions of a user whose account is deleted.
func MarkDeletedOf(t *sqldb.Tx, userID loci.ID) (sessions int64, err error) {
	return t.Exec(`UPDATE sessions SET workspace = NULL, user_id = NULL, external_id = '' WHERE user_id = ?1`, userID)
}
