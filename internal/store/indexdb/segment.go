package indexdb

import (
	"bytes"
	"errors"
	"slices"

	"github.com/loci-memory/loci/internal/index"
	"github.com/loci-memory/loci/internal/sqldb"
)

// cachedSegment is a segment with its encoded tombstones.
type cachedSegment struct {
	segment    *index.Segment // nil: not opened yet
	tombstones []byte
}

// withTombstones returns the same segment with other tombstones.
func (o cachedSegment) withTombstones(dead []byte) (cachedSegment, error) {
	if o.segment == nil || bytes.Equal(o.tombstones, dead) {
		return cachedSegment{o.segment, dead}, nil
	}
	s, err := o.segment.WithTombstones(dead)
	return cachedSegment{s, dead}, err
}

// cachedSegmentBytes is the size of a cachedSegment in its map, beside what it refers to.
const cachedSegmentBytes = 80

// Segments opens the segments of a workspace. Those that were opened before come from the cache: a segment never
// changes except for its tombstones. No map in the cache is changed afterwards.
func (x *Index) Segments(t *sqldb.Tx, workspace int64) (list []*index.Segment, err error) {
	next := new(cachedIndex)
	if have := x.cached.Get(workspace); have != nil {
		*next = *have
	}
	known, now := next.segments, map[int64]cachedSegment{}
	var rowIDs []int64
	err = t.Query(`SELECT row_id, tombstones FROM segments WHERE workspace = ?1 ORDER BY row_id`, []any{workspace},
		func(r sqldb.Row) error {
			var rowID int64
			var dead []byte
			if err := r.Scan(&rowID, &dead); err != nil {
				return err
			}
			rowIDs = append(rowIDs, rowID)
			o, err := known[rowID].withTombstones(dead)
			now[rowID] = o
			return err
		})
	if err != nil {
		return nil, err
	}
	for _, rowID := range rowIDs {
		o := now[rowID]
		if o.segment == nil {
			if o.segment, err = openSegment(t, rowID, o.tombstones); err != nil {
				return nil, err
			}
			now[rowID] = o
		}
		list = append(list, o.segment)
	}
	if t.ReadOnly {
		next.segments = now
		x.cached.Put(workspace, next)
	}
	return list, nil
}

// openSegment reads the header of a segment.
func openSegment(t *sqldb.Tx, rowID int64, dead []byte) (*index.Segment, error) {
	var header []byte
	err := t.QueryRow(`SELECT header FROM segments WHERE row_id = ?1`, []any{rowID}, []any{&header})
	if errors.Is(err, sqldb.ErrNoRows) {
		return nil, ErrStale
	}
	if err != nil {
		return nil, err
	}
	return index.Open(rowID, header, dead)
}

// FetchPages returns a function that reads pages of segments.
func FetchPages(t *sqldb.Tx) index.PageFetcher {
	return func(segment int64, page int) (bytes []byte, err error) {
		err = t.QueryRow(`SELECT data FROM segment_pages WHERE segment = ?1 AND page = ?2`, []any{segment, page},
			[]any{&bytes})
		if errors.Is(err, sqldb.ErrNoRows) {
			return nil, ErrStale
		}
		return bytes, err
	}
}

// RaiseVersion raises the version of an index, so that flushes and merges that others have prepared fail. On PostgreSQL
// it locks the row of the index until the commit.
func RaiseVersion(t *sqldb.Tx, workspace int64) error {
	_, err := t.Exec(`UPDATE keyword_indexes SET version = version + 1 WHERE workspace = ?1`, workspace)
	return err
}

// DropSegment deletes a segment and, by its foreign key, its pages.
func DropSegment(t *sqldb.Tx, rowID int64) error {
	_, err := t.Exec(`DELETE FROM segments WHERE row_id = ?1`, rowID)
	return err
}

func saveTombstones(t *sqldb.Tx, s *index.Segment) error {
	_, err := t.Exec(`UPDATE segments SET tombstones = ?2 WHERE row_id = ?1`, s.ID(), s.Tombstones())
	return err
}

// DeleteAtlas deletes the documents of an atlas, to which no writer may add any. It drops what the log adds to the
// counters of the atlas. The caller has raised the version of the index.
func (x *Index) DeleteAtlas(t *sqldb.Tx, workspace, atlas int64) error {
	segments, err := x.Segments(t, workspace)
	if err != nil {
		return err
	}
	for _, s := range segments {
		if after, changed := s.MarkAtlasDeleted(atlas); changed {
			if err := saveTombstones(t, after); err != nil {
				return err
			}
		}
	}
	_, err = t.Exec(`DELETE FROM index_log WHERE workspace = ?1 AND atlas = ?2`, workspace, atlas)
	t.OnCommit(func() { x.compactor.noteUpdate(workspace) }) // merges the segments once the workspace is idle
	return err
}

func insertSegment(t *sqldb.Tx, workspace int64, b index.EncodedSegment) error {
	if b.Docs == 0 {
		return nil
	}
	rowID, err := t.Insert(
		`INSERT INTO segments (workspace, doc_count, header, tombstones) VALUES (?1, ?2, ?3, ?4)`,
		[]any{workspace, b.Docs, b.Header, []byte{}})
	if err != nil {
		return err
	}
	for i, page := range b.Pages {
		if _, err := t.Exec(`INSERT INTO segment_pages (segment, page, data) VALUES (?1, ?2, ?3)`, rowID, i,
			page); err != nil {
			return err
		}
	}
	return nil
}

// RewriteSegments deletes memories from all segments, and rewrites each segment with a document of theirs. Without
// memories it rewrites each segment with a deleted document. The new segments hold no word of a deleted document. The
// caller has raised the version of the index.
func (x *Index) RewriteSegments(t *sqldb.Tx, workspace int64, gone []int64) error {
	segments, err := x.Segments(t, workspace)
	if err != nil {
		return err
	}
	for _, s := range segments {
		isGone := func(memory int64) bool { return slices.Contains(gone, memory) }
		if len(gone) > 0 && !slices.ContainsFunc(s.Memories(), isGone) {
			continue
		}
		if s, _ = s.MarkDeleted(gone); s.LiveDocs() == s.Docs() {
			continue
		}
		encoded, err := index.Merge(t.Ctx, FetchPages(t), []*index.Segment{s})
		if errors.Is(err, ErrStale) { // no flush can be committed now, so pages of the segment are lost
			err = x.reindex(t, workspace, liveMemories(s)...)
		}
		if err != nil {
			return err
		}
		if err := DropSegment(t, s.ID()); err != nil {
			return err
		}
		if err := insertSegment(t, workspace, encoded); err != nil {
			return err
		}
	}
	return nil
}

func liveMemories(s *index.Segment) (list []int64) {
	for doc, memory := range s.Memories() {
		if !s.IsDeleted(doc) {
			list = append(list, memory)
		}
	}
	return list
}
