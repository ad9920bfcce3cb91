package messagedb

import (
	"context"
	"fmt"

	"github.com/loci-memory/loci/internal/sqldb"
)

// purgeWindow is the number of messages that one transaction reads.
const purgeWindow = 200

// Find returns the row ids of the messages of a workspace with texts that match. It runs before the transaction of a
// purge, because other writers would wait for it.
func Find(ctx context.Context, db *sqldb.Handle, workspace int64, matches func(texts ...string) bool) (list []int64,
	err error) {
	type window struct {
		found []int64
		last  int64
		n     int
	}
	w := window{n: purgeWindow}
	for after := int64(0); w.n == purgeWindow; after = w.last {
		w, err = sqldb.SystemRead(ctx, db, "look for a text in messages", func(t *sqldb.Tx) (w window, err error) {
			err = t.Query(`SELECT x.row_id, x.subject, x.content FROM messages x WHERE x.workspace = ?1 AND x.row_id > ?2
				ORDER BY x.row_id LIMIT ?3`, []any{workspace, after, purgeWindow}, func(r sqldb.Row) error {
				var subject, content string
				err := r.Scan(&w.last, &subject, &content)
				if w.n++; matches(subject, content) {
					w.found = append(w.found, w.last)
				}
				return err
			})
			return w, err
		})
		if err != nil {
			return nil, err
		}
		list = append(list, w.found...)
	}
	return list, nil
}

// Purge replaces the texts of messages by another one. Their receipts stay.
func Purge(t *sqldb.Tx, rowIDs []int64, text string) error {
	_, err := t.Exec(`UPDATE messages SET subject = '', content = ?2 WHERE `+fmt.Sprintf(t.Dialect.InList, "row_id", 1),
		sqldb.EncodeInts(rowIDs), text)
	return err
}
