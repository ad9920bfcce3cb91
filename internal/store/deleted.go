package store

import (
	"context"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/search"
)

// PurgeDeleted erases what deletions and changes have left: documents of the
// keyword index that are no longer true, stored answers that concern nothing by
// name, and free space. Where it is not for good it counts the documents, and
// the rows of the log of changes: what those hold is known once they are folded.
func (s *Store) PurgeDeleted(ctx context.Context, forGood bool) (out Purged, err error) {
	out.deleted = true
	workspaces, err := SystemRead(ctx, s, "list the workspaces in which something was deleted", func(t *SystemTx) (list []int64, err error) {
		if err = t.t.c.one(`SELECT count(*) FROM changes`, nil, []any{&out.Changes}); err == nil {
			err = t.t.c.each(`SELECT x.workspace FROM indexes x ORDER BY x.workspace`, nil, into(&list))
		}
		return list, err
	})
	if err == nil && forGood {
		_, err = System(ctx, s, "forget answers that may name what was deleted", func(t *SystemTx) (_ loci.Nothing, err error) {
			if err = t.beginPurge(); err == nil {
				_, err = t.t.exec(`DELETE FROM onces WHERE resource = ''`)
			}
			return loci.Nothing{}, err
		})
	}
	if err != nil {
		return out, err
	}
	for _, w := range workspaces {
		n, err := s.purgeDead(ctx, w, forGood)
		if err != nil {
			return out, err
		}
		out.Documents += n
	}
	if !forGood {
		return out, nil
	}
	return out, s.finishPurge(ctx)
}

// purgeDead rewrites the segments of a workspace that hold dead documents, and
// returns how many there were. The log of changes is folded first: its rows hold
// words too.
func (s *Store) purgeDead(ctx context.Context, workspace int64, forGood bool) (dead int64, err error) {
	count := func(t *SystemTx) (int64, error) {
		segments, err := t.t.segments(workspace)
		return deadIn(segments), err
	}
	if !forGood {
		return SystemRead(ctx, s, "count what deletions have left", count)
	}
	if err := s.fold(ctx, folding{workspace, 1, search.FanIn}); err != nil {
		return 0, err
	}
	defer s.indexes.drop(workspace)
	return System(ctx, s, "erase what deletions have left", func(t *SystemTx) (int64, error) {
		if err := t.prepare(); err != nil {
			return 0, err
		}
		defer t.unprepare()
		n, err := count(t)
		if err != nil || n == 0 {
			return 0, err
		}
		if err := t.hold(workspace); err != nil {
			return 0, err
		}
		return n, t.rewrite(workspace, nil)
	})
}

func deadIn(segments []*search.Segment) (n int64) {
	for _, s := range segments {
		n += int64(s.Docs() - s.Live())
	}
	return n
}
