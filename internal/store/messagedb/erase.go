package messagedb

import (
	"context"
	"fmt"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
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
	if _, err = t.Exec(`DELETE FROM idempotency_keys WHERE (credential, key) IN (SELECT r.credential, r.key
		FROM idempotency_records r WHERE r.record IN (SELECT list.value FROM `+
		fmt.Sprintf(t.Dialect.StringRows, 1)+`))`, sqldb.EncodeStrings(ids)); err != nil {
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

// EraseAgents erases what is left of the agents of deleted users in transactions of bounded length: their receipts, and
// those that sent none of the messages that are kept. Nobody reaches them any more.
func EraseAgents(ctx context.Context, db *sqldb.Handle) error {
	_, err := sqldb.InBatches(ctx, time.Now().Add(time.Hour), func() (bool, error) {
		return sqldb.System(ctx, db, "erase agents of deleted users", eraseAgents)
	})
	return err
}

// eraseAgents deletes some receipts of agents of deleted users, or without such ones some agents. It reports whether it
// found any.
func eraseAgents(t *sqldb.Tx) (more bool, err error) {
	n, err := t.Exec(`DELETE FROM receipts WHERE row_id IN (SELECT r.row_id FROM agents g
		JOIN receipts r ON r.agent = g.row_id WHERE g.user_id IS NULL LIMIT ?1)`, receiptBatch)
	if err != nil || n > 0 {
		return true, err
	}
	n, err = t.Exec(`DELETE FROM agents WHERE row_id IN (SELECT g.row_id FROM agents g WHERE g.user_id IS NULL
		AND NOT EXISTS (SELECT 1 FROM messages x WHERE x.agent = g.row_id) LIMIT ?1)`, receiptBatch)
	return n > 0, err
}
