package store

import (
	"context"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/index"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store/indexdb"
)

// PurgeDeleted erases what deletions and changes have left: documents of the
// keyword index that are no longer true, stored answers that concern nothing by
// name, and free space. Where it is not for good it counts the documents, and
// the rows of the log of changes: what those hold is known once they are folded.
func (s *Store) PurgeDeleted(ctx context.Context, apply bool) (out PurgeResult, err error) {
	out.deleted = true
	workspaces, err := SystemRead(ctx, s, "list the workspaces with a keyword index",
		func(t *SystemTx) (list []int64, err error) {
			if err = t.t.conn.QueryRow(`SELECT count(*) FROM index_log`, nil, []any{&out.Changes}); err == nil {
				err = t.t.conn.Query(`SELECT x.workspace FROM keyword_indexes x ORDER BY x.workspace`, nil,
					sqldb.ScanInts(&list))
			}
			return list, err
		})
	if err == nil && apply {
		_, err = System(ctx, s, "delete stored answers of reads",
			func(t *SystemTx) (_ loci.Empty, err error) {
				if err = t.markPurgePending(); err == nil {
					_, err = t.t.exec(`DELETE FROM idempotency_keys WHERE ` + readAnswers)
				}
				return loci.Empty{}, err
			})
	}
	if err != nil {
		return out, err
	}
	for _, w := range workspaces {
		n, err := s.purgeTombstones(ctx, w, apply)
		if err != nil {
			return out, err
		}
		out.Documents += n
	}
	if !apply {
		return out, nil
	}
	return out, s.finishPurge(ctx)
}

// purgeTombstones rewrites the segments of a workspace that hold dead documents, and
// returns how many there were. The log of changes is folded first: its rows hold
// words too.
func (s *Store) purgeTombstones(ctx context.Context, workspace int64, apply bool) (dead int64, err error) {
	count := func(t *SystemTx) (int64, error) {
		segments, err := s.index.Segments(t.t.conn, workspace)
		return countTombstones(segments), err
	}
	if !apply {
		return SystemRead(ctx, s, "count remains of deletions", count)
	}
	if err := s.index.Flush(ctx, workspace); err != nil {
		return 0, err
	}
	defer s.invalidate(workspace)
	return System(ctx, s, "erase remains of deletions", func(t *SystemTx) (int64, error) {
		if err := t.beginSecureDelete(); err != nil {
			return 0, err
		}
		defer t.endSecureDelete()
		n, err := count(t)
		if err != nil || n == 0 {
			return 0, err
		}
		if err := indexdb.Lock(t.t.conn, workspace); err != nil {
			return 0, err
		}
		return n, s.index.RewriteSegments(t.t.conn, workspace, nil)
	})
}

func countTombstones(segments []*index.Segment) (n int64) {
	for _, s := range segments {
		n += int64(s.Docs() - s.LiveDocs())
	}
	return n
}
