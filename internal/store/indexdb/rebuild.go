package indexdb

import (
	"context"
	"errors"
	"slices"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/analysis"
	"github.com/loci-memory/loci/internal/index"
	"github.com/loci-memory/loci/internal/sqldb"
)

// Rebuild replaces the documents and the segments of a workspace by new ones from the rows of its memories. Searches
// find the former documents meanwhile. The document of a damaged row stays if its segment is readable. It returns
// ErrNewerAnalyzer for the index of a newer program.
func (x *Index) Rebuild(ctx context.Context, workspace int64) error {
	rowIDs, err := sqldb.System(ctx, x.db, "begin to rebuild an index", func(t *sqldb.Tx) ([]int64, error) {
		return beginRebuild(t, workspace)
	})
	if err != nil {
		return err
	}
	former, err := sqldb.SystemRead(ctx, x.db, "list segments to replace", func(t *sqldb.Tx) (list []int64, err error) {
		err = t.Query(`SELECT row_id FROM segments WHERE workspace = ?1 ORDER BY row_id`, []any{workspace},
			sqldb.ScanInts(&list))
		return list, err
	})
	if err != nil {
		return err
	}
	indexed, err := x.reindexMemories(ctx, workspace, rowIDs)
	for _, segment := range former {
		if err == nil {
			_, err = sqldb.System(ctx, x.db, "replace a segment", func(t *sqldb.Tx) (loci.Empty, error) {
				return loci.Empty{}, replaceSegment(t, workspace, segment, indexed)
			})
		}
	}
	x.Invalidate(workspace)
	return err
}

// beginRebuild raises the version of an index, or gives it a state with that of the vectors. It drops the segments with
// an unreadable header, because these prevent flushes. It returns the memories of the workspace, of the log and of the
// other segments, or ErrNewerAnalyzer.
func beginRebuild(t *sqldb.Tx, workspace int64) (rowIDs []int64, err error) {
	begun, err := t.Exec(`INSERT INTO keyword_indexes (workspace, version, analyzer, vector_seq, generation)
		SELECT w.row_id, 0, CAST(?2 AS INTEGER), COALESCE((SELECT max(v.seq) FROM vectors v WHERE v.workspace = ?1), 0),
			COALESCE((SELECT max(v.generation) FROM vectors v JOIN generations g ON g.row_id = v.generation
			JOIN metadata n ON n.name = 'vectors' AND n.value = g.name WHERE v.workspace = ?1), 0)
		FROM workspaces w WHERE w.row_id = ?1
		ON CONFLICT (workspace) DO UPDATE SET version = keyword_indexes.version + 1
			WHERE keyword_indexes.analyzer <= ?2`, workspace, analysis.Version)
	if err == nil && begun == 0 {
		var indexes int
		if err = t.QueryRow(`SELECT count(*) FROM keyword_indexes WHERE workspace = ?1`, []any{workspace},
			[]any{&indexes}); err == nil && indexes > 0 {
			err = ErrNewerAnalyzer
		}
	}
	if err != nil {
		return nil, err
	}
	if err := t.Query(`SELECT row_id FROM memories WHERE workspace = ?1 UNION SELECT memory FROM index_log
		WHERE workspace = ?1`, []any{workspace}, sqldb.ScanInts(&rowIDs)); err != nil {
		return nil, err
	}
	var segments []int64
	if err := t.Query(`SELECT row_id FROM segments WHERE workspace = ?1`, []any{workspace},
		sqldb.ScanInts(&segments)); err != nil {
		return nil, err
	}
	for _, id := range segments {
		s, err := OpenSegment(t, id)
		if errors.Is(err, index.ErrCorrupt) {
			err = DropSegment(t, id)
		} else if err == nil {
			rowIDs = append(rowIDs, liveMemories(s)...)
		}
		if err != nil {
			return nil, err
		}
	}
	slices.Sort(rowIDs)
	return slices.Compact(rowIDs), nil
}

// replaceSegment drops a segment. A new one keeps those of its documents that are not indexed again.
func replaceSegment(t *sqldb.Tx, workspace, id int64, indexed []int64) error {
	if err := RaiseVersion(t, workspace); err != nil {
		return err
	}
	s, err := OpenSegment(t, id)
	if errors.Is(err, ErrStale) {
		return nil // it was merged meanwhile
	}
	if err != nil {
		return err
	}
	if s, _ = s.MarkDeleted(indexed); s.LiveDocs() > 0 {
		kept, err := index.Merge(t.Ctx, FetchPages(t), []*index.Segment{s})
		if err == nil {
			err = insertSegment(t, workspace, kept)
		}
		if err != nil && !errors.Is(err, ErrStale) && !errors.Is(err, index.ErrCorrupt) {
			return err
		}
	}
	return DropSegment(t, id)
}

// OpenSegment opens a segment. It returns ErrStale if there is none with this row id.
func OpenSegment(t *sqldb.Tx, rowID int64) (*index.Segment, error) {
	var dead []byte
	err := t.QueryRow(`SELECT tombstones FROM segments WHERE row_id = ?1`, []any{rowID}, []any{&dead})
	if errors.Is(err, sqldb.ErrNoRows) {
		return nil, ErrStale
	}
	if err != nil {
		return nil, err
	}
	return openSegment(t, rowID, dead)
}
