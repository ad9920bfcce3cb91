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
	for {
		began := time.Now()
		more, err = sqldb.System(ctx, db, "erase messages", func(t *sqldb.Tx) (bool, error) {
			return eraseBatch(t, condition, args)
		})
		if err != nil && ctx.Err() != nil {
			return true, nil
		}
		if err != nil || !more || time.Now().After(end) {
			return more, err
		}
		select { // as long as it took, for others
		case <-ctx.Done():
			return true, nil
		case <-time.After(time.Since(began)):
		}
	}
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
