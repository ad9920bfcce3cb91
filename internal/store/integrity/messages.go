package integrity

import (
	"context"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store/messagedb"
)

// messageBatchSize is the number of messages that one query checks.
const messageBatchSize = 200

// checkMessages checks the messages of the workspace with their receipts, and the agents of its owner if it is a
// personal one.
func (w *workspaceCheck) checkMessages() error {
	err := w.checkSome("messages", "row_id", messageBatchSize, func(rowIDs []int64) error {
		return w.reportMessages(messagedb.CheckMessages(w.t, rowIDs))
	})
	if err != nil {
		return err
	}
	return w.reportMessages(messagedb.CheckAgents(w.t, w.workspace))
}

func (w *workspaceCheck) reportMessages(list []messagedb.Damage, err error) error {
	for _, d := range list {
		if d.Repair == nil {
			w.report(InconsistentMessages, d.ID, "%s", d.Detail)
		} else {
			w.differ(InconsistentMessages, "%s: %s", d.ID, d.Detail)
		}
	}
	return err
}

// rebuildMessages rebuilds the derived columns of messages, receipts and agents, and delivers lost receipts again. It
// takes the messages one by one, because the thread of a reply is that of an earlier message.
func rebuildMessages(ctx context.Context, c *Checker, workspace int64) error {
	err := inBatches("messages", rebuildBatchSize, func(_ *Checker, t *sqldb.Tx, rowIDs []int64) error {
		for _, rowID := range rowIDs {
			if err := repairMessages(t)(messagedb.CheckMessages(t, []int64{rowID})); err != nil {
				return err
			}
		}
		return nil
	})(ctx, c, workspace)
	if err != nil {
		return err
	}
	_, err = sqldb.System(ctx, c.db, "rebuild the last numbers of agents", func(t *sqldb.Tx) (loci.Empty, error) {
		return loci.Empty{}, repairMessages(t)(messagedb.CheckAgents(t, workspace))
	})
	return err
}

func repairMessages(t *sqldb.Tx) func([]messagedb.Damage, error) error {
	return func(list []messagedb.Damage, err error) error {
		for _, d := range list {
			if err == nil && d.Repair != nil {
				err = d.Repair(t)
			}
		}
		return err
	}
}
