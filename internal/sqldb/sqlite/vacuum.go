package sqlite

import (
	"context"
	"errors"

	"github.com/loci-memory/loci/internal/sqldb"
)

// Vacuum rewrites the file without deleted content, and empties the write-ahead log. No pragma overwrites pages that
// were freed earlier, so nothing less is certain. Readers continue. Writers wait, and get CodeUnavailable after the
// busy timeout.
func (d *database) Vacuum(ctx context.Context) error {
	// The copy may not fit into memory.
	c, err := d.connect(d.dsn, `PRAGMA temp_store = FILE`, `PRAGMA secure_delete = ON`)
	if err != nil {
		return err
	}
	err = sqldb.RetryWhileBusy(func() error { return d.mapError(c.execContext(ctx, `VACUUM`)) })
	if err == nil {
		err = sqldb.RetryWhileBusy(func() error {
			busy, err := c.checkpoint()
			if busy {
				err = sqldb.NewBusyError(errors.New("a transaction reads an old state of the database"))
			}
			return d.mapError(err)
		})
	}
	return errors.Join(err, c.close())
}
