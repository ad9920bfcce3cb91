// Package idempotencydb deletes the stored responses of calls with an idempotency key.
package idempotencydb

import (
	"fmt"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
)

// DeleteResponses deletes the stored responses that show one of the records.
func DeleteResponses(t *sqldb.Tx, records []loci.ID) error {
	_, err := t.Exec(`DELETE FROM idempotency_keys WHERE (credential, key) IN (SELECT r.credential, r.key
		FROM idempotency_records r WHERE r.record IN (SELECT list.value FROM `+
		fmt.Sprintf(t.Dialect.StringRows, 1)+`))`, sqldb.EncodeStrings(records))
	return err
}
