package attachmentdb

import (
	"fmt"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
)

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
