package messagedb

import (
	"context"
	"fmt"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
)

const (
	// keepClosed is how long a message is kept after its last recipient has closed it.
	keepClosed = 90 * 24 * time.Hour
	// sweepBatch is the number of messages that one transaction deletes: other writers of SQLite wait for it.
	sweepBatch = 500
)

// DeleteClosed deletes the messages that all recipients have closed 90 days ago, in bounded transactions.
func DeleteClosed(ctx context.Context, db *sqldb.Handle) error {
	for {
		before := db.Now() - loci.Time(keepClosed.Microseconds())
		rows, err := sqldb.SystemRead(ctx, db, "find closed messages", func(t *sqldb.Tx) (rows []int64, err error) {
			return rows, t.Query(`SELECT x.row_id FROM messages x WHERE x.created_at <= ?1 AND NOT EXISTS (SELECT 1
				FROM receipts r WHERE r.message = x.row_id AND (r.status <> 'closed' OR r.updated_at > ?1))
				ORDER BY x.created_at LIMIT ?2`, []any{before, sweepBatch}, sqldb.ScanInts(&rows))
		})
		if err != nil || len(rows) == 0 {
			return err
		}
		_, err = sqldb.System(ctx, db, "delete closed messages", func(t *sqldb.Tx) (loci.Empty, error) {
			_, err := t.Exec(`DELETE FROM messages WHERE `+fmt.Sprintf(t.Dialect.InList, "row_id", 1)+` AND NOT EXISTS
				(SELECT 1 FROM receipts r WHERE r.message = messages.row_id AND (r.status <> 'closed'
				OR r.updated_at > ?2))`, sqldb.EncodeInts(rows), before)
			return loci.Empty{}, err
		})
		if err != nil || len(rows) < sweepBatch {
			return err
		}
	}
}
