package purge

import (
	"context"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/index"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store/erasedb"
	"github.com/loci-memory/loci/internal/store/indexdb"
)

// PurgeDeleted erases the remains of deletions and changes. These are deleted atlases and sessions, and words in
// deleted documents of the keyword index, in stored responses of reads, and in free space. Without apply it counts the
// deleted atlases with their memories and attachments, the deleted sessions and documents, and the rows of the log.
func (p *Purger) PurgeDeleted(ctx context.Context, apply bool) (out Result, err error) {
	out.deleted = true
	workspaces, err := sqldb.SystemRead(ctx, p.db, "list the workspaces with a keyword index",
		func(t *sqldb.Tx) (list []int64, err error) {
			return list, t.ReadWithoutTimeout(func() error {
				if err := t.QueryRow(`SELECT count(*) FROM index_log`, nil, []any{&out.Changes}); err != nil {
					return err
				}
				var err error
				if out.Atlases, out.Memories, out.Attachments, err = erasedb.CountAtlases(t); err != nil {
					return err
				}
				if out.Sessions, err = erasedb.CountSessions(t); err != nil {
					return err
				}
				return t.Query(`SELECT x.workspace FROM keyword_indexes x ORDER BY x.workspace`, nil,
					sqldb.ScanInts(&list))
			})
		})
	if err == nil && apply {
		_, err = sqldb.System(ctx, p.db, "delete stored responses of reads",
			func(t *sqldb.Tx) (_ loci.Empty, err error) {
				if err = markPending(t); err == nil {
					_, err = t.Exec(`DELETE FROM idempotency_keys WHERE ` + readCondition)
				}
				return loci.Empty{}, err
			})
	}
	if err == nil && apply {
		err = p.eraser.EraseAll(ctx)
	}
	if err != nil {
		return out, err
	}
	for _, w := range workspaces {
		n, err := p.purgeTombstones(ctx, w, apply)
		if err != nil {
			return out, err
		}
		out.Documents += n
	}
	if !apply {
		return out, nil
	}
	return out, p.Finish(ctx)
}

// purgeTombstones rewrites the segments of a workspace with deleted documents, and returns the number of those. It
// flushes the log first, whose rows hold words too.
func (p *Purger) purgeTombstones(ctx context.Context, workspace int64, apply bool) (dead int64, err error) {
	count := func(t *sqldb.Tx) (int64, error) {
		segments, err := p.index.Segments(t, workspace)
		return countTombstones(segments), err
	}
	if !apply {
		return sqldb.SystemRead(ctx, p.db, "count remains of deletions", count)
	}
	if err := p.index.Flush(ctx, workspace); err != nil {
		return 0, err
	}
	defer p.invalidate(workspace)
	return sqldb.System(ctx, p.db, "erase remains of deletions", func(t *sqldb.Tx) (int64, error) {
		if err := beginSecureDelete(t); err != nil {
			return 0, err
		}
		defer endSecureDelete(t)
		if err := markPending(t); err != nil { // also for the rows of the log that were flushed
			return 0, err
		}
		n, err := count(t)
		if err != nil || n == 0 {
			return 0, err
		}
		if err := indexdb.RaiseVersion(t, workspace); err != nil {
			return 0, err
		}
		return n, p.index.RewriteSegments(t, workspace, nil)
	})
}

func countTombstones(segments []*index.Segment) (n int64) {
	for _, s := range segments {
		n += int64(s.Docs() - s.LiveDocs())
	}
	return n
}
