package integrity

import (
	"math/rand/v2"

	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store/messagedb"
)

// Messages that one query checks, and those of a sample.
const (
	messageBatchSize  = 200
	messageSampleSize = 10
)

// checkMessages checks the messages of the workspace with their receipts, and the agents of its owner if it is a
// personal one.
func (w *workspaceCheck) checkMessages() error {
	after, size, err := int64(-1), messageBatchSize, error(nil)
	if w.sampleSize > 0 {
		size = messageSampleSize
		after, err = w.randomMessage()
	}
	for n := messageBatchSize; n == messageBatchSize && err == nil; {
		n, after, err = w.checkMessageBatch(after, size)
		w.progress(n)
	}
	if err == nil {
		err = w.reportMessages(messagedb.CheckAgents(w.t, w.workspace))
	}
	return err
}

// randomMessage returns a row id before that of a random message.
func (w *workspaceCheck) randomMessage() (int64, error) {
	var oldest, newest int64
	err := w.t.QueryRow(`SELECT COALESCE(min(x.row_id), 0), COALESCE(max(x.row_id), 0) FROM messages x
		WHERE x.workspace = ?1`, []any{w.workspace}, []any{&oldest, &newest})
	return oldest - 1 + rand.Int64N(newest-oldest+1), err
}

// checkMessageBatch checks some messages after a row id. It returns their number and the row id of the last.
func (w *workspaceCheck) checkMessageBatch(after int64, size int) (n int, last int64, err error) {
	var rowIDs []int64
	err = w.t.Query(`SELECT x.row_id FROM messages x WHERE x.workspace = ?1 AND x.row_id > ?2 ORDER BY x.row_id LIMIT ?3`,
		[]any{w.workspace, after, size}, sqldb.ScanInts(&rowIDs))
	if err != nil || len(rowIDs) == 0 {
		return 0, after, err
	}
	return len(rowIDs), rowIDs[len(rowIDs)-1], w.reportMessages(messagedb.CheckMessages(w.t, rowIDs))
}

func (w *workspaceCheck) reportMessages(list []messagedb.Damage, err error) error {
	for _, d := range list {
		w.report(InconsistentMessages, d.ID, d.Repair, "%s", d.Detail)
	}
	return err
}
