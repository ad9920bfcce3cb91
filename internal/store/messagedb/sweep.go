package messagedb

import (
	"context"
	"math"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store/accountdb"
)

const (
	// keepClosed is how long a message is kept after its last recipient has closed it.
	keepClosed = 90 * 24 * time.Hour
	// sweepWindow is the number of old messages that one query looks at.
	sweepWindow = 500
)

// DeleteClosed deletes the messages that all recipients have closed 90 days ago, in bounded transactions. A recipient
// whose key was revoked then, whose grant has ended, or whose user has left the workspace, can close nothing any more.
// Nothing opens a closed message again, and nothing adds a recipient. Then it erases what is left of the agents that
// have ended.
func DeleteClosed(ctx context.Context, db *sqldb.Handle) error {
	for w := (window{before: db.Now() - loci.Time(keepClosed.Microseconds()), at: math.MinInt64}); ; {
		found, err := sqldb.SystemRead(ctx, db, "find closed messages", w.find)
		if err != nil {
			return err
		}
		for len(found.closed) > 0 {
			found.closed, err = sqldb.System(ctx, db, "delete closed messages",
				func(t *sqldb.Tx) ([]int64, error) { return deleteSome(t, found.closed) })
			if err != nil {
				return err
			}
		}
		if found.read < sweepWindow {
			return EraseAgents(ctx, db)
		}
		w = found.next
	}
}

// A window is a place among the messages that are older than a time.
type window struct {
	before loci.Time
	at     int64 // the time of the message before the window
	rowID  int64 // its row id
}

// A windowResult is what a query found in a window.
type windowResult struct {
	closed []int64 // messages that can be deleted
	read   int
	next   window
}

// find looks for closed messages in the window. A walk reads each old message once, however many are kept.
func (w window) find(t *sqldb.Tx) (out windowResult, err error) {
	out.next = w
	err = t.Query(`SELECT x.row_id, x.created_at, NOT EXISTS (SELECT 1 FROM receipts r
			JOIN agents g ON g.row_id = r.agent`+accountdb.AgentCredentials+`
			LEFT JOIN members m ON m.workspace = x.workspace AND m.user_id = g.user_id WHERE r.message = x.row_id
			AND (r.status <> 'closed' AND m.user_id IS NOT NULL AND (k.revoked_at = 0 OR k.revoked_at > ?1
				OR g.grant_id IS NOT NULL AND`+accountdb.ReachingAgent("x.workspace")+`) OR r.updated_at > ?1)) FROM messages x
		WHERE x.created_at <= ?1 AND (x.created_at, x.row_id) > (?2, ?3) ORDER BY x.created_at, x.row_id LIMIT ?4`,
		[]any{w.before, w.at, w.rowID, sweepWindow}, func(r sqldb.Row) error {
			var closed bool
			err := r.Scan(&out.next.rowID, &out.next.at, &closed)
			if out.read++; closed {
				out.closed = append(out.closed, out.next.rowID)
			}
			return err
		})
	return out, err
}
