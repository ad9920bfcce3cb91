package attachmentdb

import (
	"fmt"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
)

// ListActive lists active attachments after a row id.
func ListActive(t *sqldb.Tx, after int64, limit int) (list []Record, err error) {
	err = t.Query(`SELECT`+Columns+`FROM attachments x WHERE x.row_id > ?1 AND x.active ORDER BY x.row_id LIMIT ?2`,
		[]any{after, limit}, func(r sqldb.Row) error {
			a, err := Scan(r)
			list = append(list, a)
			return err
		})
	return list, err
}

// Find returns those of some attachments that exist.
func Find(t *sqldb.Tx, ids []loci.ID) (map[loci.ID]Record, error) {
	found := map[loci.ID]Record{}
	err := t.Query(`SELECT`+Columns+`FROM attachments x WHERE x.id IN (SELECT list.value FROM `+
		fmt.Sprintf(t.Dialect.StringRows, 1)+`)`, []any{sqldb.EncodeStrings(ids)}, func(r sqldb.Row) error {
		a, err := Scan(r)
		found[a.ID] = a
		return err
	})
	return found, err
}
