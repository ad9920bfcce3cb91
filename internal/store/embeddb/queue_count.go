package embeddb

import (
	"fmt"
	"time"
	"unsafe"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/cache"
	"github.com/loci-memory/loci/internal/sqldb"
)

// countedExactly is the length up to which the queue of a workspace is counted by every call. A longer one is counted
// every countLifetime: a count of 100,000 rows takes milliseconds.
const (
	countedExactly = 100
	countLifetime  = 5 * time.Second
)

// QueueCountSQL is a column that counts the queued memories of a workspace w, up to one beyond countedExactly.
// FailedCountSQL counts those whose last attempt failed.
var (
	QueueCountSQL  = boundedCount("")
	FailedCountSQL = boundedCount(" AND x.error <> ''")
)

func boundedCount(condition string) string {
	return fmt.Sprintf(`(SELECT count(*) FROM (SELECT 1 FROM embedding_queue x WHERE x.workspace = w.row_id%s LIMIT %d)
		AS counted)`, condition, countedExactly+1)
}

// A QueueCount is the length of the queue of a workspace.
type QueueCount struct {
	Workspace       int64
	Pending, Failed int64
	at              loci.Time
}

// A QueueCounter counts the queues of workspaces, and remembers long ones for a while.
type QueueCounter struct {
	long *cache.Cache[int64, QueueCount]
}

// NewQueueCounter returns a counter that remembers nothing.
func NewQueueCounter(caches *cache.Budget) *QueueCounter {
	return &QueueCounter{cache.New(caches, "queues", func(_ int64, n QueueCount) int { return int(unsafe.Sizeof(n)) })}
}

// Complete returns the whole counts for those that the columns above returned.
func (c *QueueCounter) Complete(t *sqldb.Tx, n QueueCount) (QueueCount, error) {
	if n.Pending <= countedExactly {
		return n, nil
	}
	if known := c.long.Get(n.Workspace); known.at > 0 && t.Now.Std().Sub(known.at.Std()).Abs() < countLifetime {
		return known, nil
	}
	n.at = t.Now
	err := t.QueryRow(`SELECT count(*), (SELECT count(*) FROM embedding_queue WHERE workspace = ?1 AND error <> '')
		FROM embedding_queue WHERE workspace = ?1`, []any{n.Workspace}, []any{&n.Pending, &n.Failed})
	if err == nil {
		c.long.Put(n.Workspace, n)
	}
	return n, err
}
