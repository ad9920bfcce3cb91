package store

import (
	"context"
	"fmt"
	"github.com/loci-memory/loci"
)

// purgePendingKey is the row of table instance that stands while rows are gone and
// their bytes may not be.
const purgePendingKey = "purge"

// A vacuumer is a database that can clear the space of what was deleted.
type vacuumer interface {
	Vacuum(ctx context.Context) error
}

// purgePending reports whether a purge was cut off before the free space was cleared.
func (s *Store) purgePending(ctx context.Context) (bool, error) {
	return SystemRead(ctx, s, "look for an unfinished purge", func(t *SystemTx) (bool, error) {
		var n int
		err := t.t.conn.QueryRow(`SELECT count(*) FROM metadata WHERE name = ?1`, []any{purgePendingKey}, []any{&n})
		return n > 0, err
	})
}

// markPurgePending notes that bytes may be left from here on, until finishPurge.
func (t *SystemTx) markPurgePending() error {
	_, err := t.t.exec(`INSERT INTO metadata (name, value) VALUES (?1, 'unfinished') ON CONFLICT (name) DO NOTHING`,
		purgePendingKey)
	return err
}

// finishPurge clears the space of what was deleted.
func (s *Store) finishPurge(ctx context.Context) error {
	if err := s.db.DB.(vacuumer).Vacuum(ctx); err != nil {
		return &loci.Error{Code: loci.CodeUnavailable, Err: err, Message: fmt.Sprintf(
			"The rows are gone, but their bytes are still in free space that could not be cleared (%v): run the same "+
				"command again, with the server stopped if need be.", err)}
	}
	_, err := System(ctx, s, "mark a purge as finished", func(t *SystemTx) (loci.Empty, error) {
		_, err := t.t.exec(`DELETE FROM metadata WHERE name = ?1`, purgePendingKey)
		return loci.Empty{}, err
	})
	return err
}

// beginSecureDelete makes a transaction one that overwrites what it deletes, or that may
// delete for long. unprepare ends what does not end with it.
func (t *SystemTx) beginSecureDelete() error {
	q := `PRAGMA secure_delete = ON`
	if t.t.conn.Dialect.RowLocks {
		q = `SET LOCAL statement_timeout = 0`
	}
	_, err := t.t.exec(q)
	return err
}

func (t *SystemTx) endSecureDelete() {
	if !t.t.conn.Dialect.RowLocks {
		_, _ = t.t.exec(`PRAGMA secure_delete = FAST`) // where it fails, more is overwritten than need be
	}
}
