package messagedb

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store/internal/scope"
)

// Messages and receipts that one transaction deletes: other writers wait for it.
const (
	messageBatch = 64 // of at most 32 KiB
	receiptBatch = 500
)

// Erase erases the messages x of a condition, their receipts and stored responses in transactions of bounded length,
// until end or the end of ctx. It reports whether others are left. The condition has the arguments.
func Erase(ctx context.Context, db *sqldb.Handle, end time.Time, condition string, args ...any) (more bool, err error) {
	return sqldb.InBatches(ctx, end, func() (bool, error) {
		return sqldb.System(ctx, db, "erase messages", func(t *sqldb.Tx) (bool, error) {
			return eraseBatch(t, condition, args)
		})
	})
}

// eraseBatch deletes some messages of a condition, and reports whether it found one.
func eraseBatch(t *sqldb.Tx, condition string, args []any) (found bool, err error) {
	var list []int64
	var ids []loci.ID
	err = t.Query(`SELECT x.row_id, x.id FROM messages x WHERE `+condition+fmt.Sprintf(` LIMIT %d`, messageBatch), args,
		func(r sqldb.Row) error {
			var rowID int64
			var id loci.ID
			err := r.Scan(&rowID, &id)
			list, ids = append(list, rowID), append(ids, id)
			return err
		})
	if err != nil || len(list) == 0 {
		return false, err
	}
	if err = scope.DeleteResponses(t, ids...); err != nil {
		return false, err
	}
	_, err = deleteSome(t, list)
	return true, err
}

// deleteSome deletes the first messages of a list with their receipts, and returns those that are left. A message of
// many recipients loses its receipts in several transactions.
func deleteSome(t *sqldb.Tx, list []int64) (left []int64, err error) {
	some := list[:min(len(list), messageBatch)]
	n, err := t.Exec(`DELETE FROM receipts WHERE row_id IN (SELECT r.row_id FROM receipts r WHERE `+
		fmt.Sprintf(t.Dialect.InList, "r.message", 1)+` LIMIT ?2)`, sqldb.EncodeInts(some), receiptBatch)
	if err != nil || n == receiptBatch {
		return list, err
	}
	_, err = t.Exec(`DELETE FROM messages WHERE `+fmt.Sprintf(t.Dialect.InList, "row_id", 1), sqldb.EncodeInts(some))
	return list[len(some):], err
}

// EraseAgents erases the receipts of agents whose grant or user was deleted, in transactions of bounded length. It also
// erases the agents that sent none of the messages that are kept.
func EraseAgents(ctx context.Context, db *sqldb.Handle) error {
	for after := int64(0); ; {
		list, err := sqldb.SystemRead(ctx, db, "find agents that have ended",
			func(t *sqldb.Tx) ([]int64, error) { return findDeletedAgents(t, after) })
		if err != nil || len(list) == 0 {
			return err
		}
		for _, rowID := range list {
			if _, err = sqldb.InBatches(ctx, time.Now().Add(time.Hour), func() (bool, error) {
				return sqldb.System(ctx, db, "erase an agent that has ended",
					func(t *sqldb.Tx) (bool, error) { return eraseAgent(t, rowID) })
			}); err != nil || ctx.Err() != nil {
				return errors.Join(err, ctx.Err())
			}
		}
		after = list[len(list)-1]
	}
}

// findDeletedAgents returns some agents without a key and a grant that have receipts, or sent no message.
func findDeletedAgents(t *sqldb.Tx, after int64) (list []int64, err error) {
	return list, t.Query(`SELECT g.row_id FROM agents g WHERE g.key_id IS NULL AND g.grant_id IS NULL AND g.row_id > ?1
		AND (EXISTS (SELECT 1 FROM receipts r WHERE r.agent = g.row_id)
			OR NOT EXISTS (SELECT 1 FROM messages x WHERE x.agent = g.row_id))
		ORDER BY g.row_id LIMIT ?2`, []any{after, receiptBatch}, sqldb.ScanInts(&list))
}

// eraseAgent deletes some receipts of an agent, or without one the agent itself. It reports whether it found one.
func eraseAgent(t *sqldb.Tx, rowID int64) (more bool, err error) {
	n, err := t.Exec(`DELETE FROM receipts WHERE row_id IN (SELECT r.row_id FROM receipts r WHERE r.agent = ?1 LIMIT ?2)`,
		rowID, receiptBatch)
	if err != nil || n > 0 {
		return true, err
	}
	_, err = t.Exec(`DELETE FROM agents WHERE row_id = ?1 AND key_id IS NULL AND grant_id IS NULL
		AND NOT EXISTS (SELECT 1 FROM messages x WHERE x.agent = ?1)`, rowID)
	return false, err
}
