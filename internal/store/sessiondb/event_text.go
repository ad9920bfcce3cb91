package sessiondb

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
)

// textLifetime is how long the texts of events are kept after the last use of their session.
const textLifetime = 30 * 24 * time.Hour

// expiredTexts is the condition of the sessions s whose texts have expired at ?1.
const expiredTexts = ` s.has_texts AND (CASE WHEN s.ended_at > 0 THEN s.ended_at ELSE s.updated_at END) <= ?1 `

// withText is the condition of the events v of which a text is stored.
const withText = ` (v.content <> '' OR v.metadata <> '') `

func textsExpireAt(now loci.Time) loci.Time { return now - loci.Time(textLifetime.Microseconds()) }

// DeleteExpiredTexts deletes the texts of the events of sessions that ended, or were last used, 30 days ago. Its
// transactions are of bounded length.
func DeleteExpiredTexts(ctx context.Context, db *sqldb.Handle) error {
	const window = 1000 // sessions
	for after := int64(0); ; {
		list, err := sqldb.SystemRead(ctx, db, "list sessions with expired texts",
			func(t *sqldb.Tx) (list []int64, err error) {
				return list, t.Query(`SELECT s.row_id FROM sessions s WHERE`+expiredTexts+`AND s.row_id > ?2
					ORDER BY s.row_id LIMIT ?3`, []any{textsExpireAt(t.Now), after, window}, sqldb.ScanInts(&list))
			})
		if err != nil {
			return err
		}
		for _, rowID := range list {
			if err := deleteExpiredTexts(ctx, db, rowID); err != nil {
				return err
			}
			after = rowID
		}
		if len(list) < window {
			return nil
		}
	}
}

func deleteExpiredTexts(ctx context.Context, db *sqldb.Handle, session int64) error {
	_, err := sqldb.InBatches(ctx, time.Now().Add(time.Hour), func() (bool, error) {
		return sqldb.System(ctx, db, "delete expired texts of events", func(t *sqldb.Tx) (bool, error) {
			var id int64 // a session that was resumed meanwhile keeps its texts
			err := t.QueryRow(`SELECT s.row_id FROM sessions s WHERE`+expiredTexts+`AND s.row_id = ?2`+
				t.LockClause("NO KEY UPDATE", "s"), []any{textsExpireAt(t.Now), session}, []any{&id})
			if errors.Is(err, sqldb.ErrNoRows) {
				return false, nil
			}
			if err != nil {
				return false, err
			}
			return deleteTexts(t, session)
		})
	})
	return errors.Join(err, ctx.Err())
}

// deleteTexts deletes the texts of some events of a session, and reports whether others are left.
func deleteTexts(t *sqldb.Tx, session int64) (more bool, err error) {
	b := newBudget()
	rows, err := b.take(t, `SELECT v.row_id, octet_length(v.content) + octet_length(v.metadata) FROM session_events v
		WHERE v.session = ?1 AND`+withText+`LIMIT ?2`, session)
	if err == nil && len(rows) > 0 {
		_, err = t.Exec(`UPDATE session_events SET content = '', metadata = '' WHERE `+
			fmt.Sprintf(t.Dialect.InList, "row_id", 1), sqldb.EncodeInts(rows))
	}
	if err != nil || b.spent() {
		return true, err
	}
	_, err = t.Exec(`UPDATE sessions SET has_texts = ?2 WHERE row_id = ?1`, session, false)
	return false, err
}
