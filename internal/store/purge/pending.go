package purge

import (
	"context"
	"fmt"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store/memorydb"
	"github.com/loci-memory/loci/internal/store/messagedb"
)

// pendingKey is a row of metadata from the deletion of purged rows until the vacuum that erases their bytes.
const pendingKey = "purge"

// A vacuumer is a database that can erase the bytes of deleted rows.
type vacuumer interface {
	Vacuum(ctx context.Context) error
}

// Pending returns the mark of purges that were interrupted before their vacuum, or "".
func (p *Purger) Pending(ctx context.Context) (mark string, err error) {
	return sqldb.SystemRead(ctx, p.db, "look for an unfinished purge", func(t *sqldb.Tx) (mark string, err error) {
		return mark, t.QueryRow(`SELECT COALESCE(max(value), '') FROM metadata WHERE name = ?1`, []any{pendingKey},
			[]any{&mark})
	})
}

// markPending records that bytes of rows that t deletes may remain until Finish. Each mark is a new one.
func markPending(t *sqldb.Tx) error {
	_, err := t.Exec(`INSERT INTO metadata (name, value) VALUES (?1, ?2)
		ON CONFLICT (name) DO UPDATE SET value = excluded.value`, pendingKey, loci.NewID(t.Now.Std()))
	return err
}

// Finish erases deleted sessions, which may hold purged texts, the agents of deleted users, then the bytes of all
// deleted rows, and the objects of deleted attachments. A mark that another purge sets during the vacuum stays.
func (p *Purger) Finish(ctx context.Context) error {
	mark, err := p.Pending(ctx)
	if err != nil {
		return err
	}
	if err := p.eraser.EraseSessions(ctx); err != nil {
		return err
	}
	if err := messagedb.EraseAgents(ctx, p.db); err != nil {
		return err
	}
	if err := p.db.DB.(vacuumer).Vacuum(ctx); err != nil {
		return &loci.Error{Code: loci.CodeUnavailable, Err: err, Message: fmt.Sprintf(
			"The rows are gone, but their bytes are still in free space that could not be cleared (%v): run the same "+
				"command again, with the server stopped if need be.", err)}
	}
	_, err = sqldb.System(ctx, p.db, "mark a purge as finished", func(t *sqldb.Tx) (int64, error) {
		return t.Exec(`DELETE FROM metadata WHERE name = ?1 AND value = ?2`, pendingKey, mark)
	})
	if err != nil {
		return err
	}
	err = p.jobs.RunNow(ctx, memorydb.DeleteObjectJob)
	if err != nil && ctx.Err() == nil {
		err = &loci.Error{Code: loci.CodeUnavailable, Err: err, Message: fmt.Sprintf("The rows are gone, but not all "+
			"files of their attachments, because the file store failed (%v): a running server deletes them, or loci "+
			"admin memory purge --deleted.", err)}
	}
	return err
}

// beginSecureDelete makes SQLite overwrite deleted bytes until endSecureDelete, and lifts the statement timeout of
// PostgreSQL.
func beginSecureDelete(t *sqldb.Tx) error {
	q := `PRAGMA secure_delete = ON`
	if t.Dialect.Postgres {
		q = `SET LOCAL statement_timeout = 0`
	}
	_, err := t.Exec(q)
	return err
}

func endSecureDelete(t *sqldb.Tx) {
	if !t.Dialect.Postgres {
		_, _ = t.Exec(`PRAGMA secure_delete = FAST`) // a failure only costs writes
	}
}
