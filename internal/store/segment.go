package store

import (
	"bytes"
	"errors"

	"github.com/loci-memory/loci/internal/index"
	"github.com/loci-memory/loci/internal/sqldb"
)

// cachedSegment is a segment with the bytes by which it knows its dead.
type cachedSegment struct {
	segment    *index.Segment // nil: not opened yet
	tombstones []byte
}

// withTombstones is the same segment with other dead.
func (o cachedSegment) withTombstones(dead []byte) (cachedSegment, error) {
	if o.segment == nil || bytes.Equal(o.tombstones, dead) {
		return cachedSegment{o.segment, dead}, nil
	}
	s, err := o.segment.WithTombstones(dead)
	return cachedSegment{s, dead}, err
}

func countDocs(list map[int64]cachedSegment) (n int) {
	for _, o := range list {
		n += o.segment.Docs()
	}
	return n
}

// segments opens the segments of a workspace. Those that were opened before are
// taken from the cache: a segment never changes, but for what of it is dead. Folds
// and searches after them need all, and nobody changes the map of them afterwards.
func (t *Tx) segments(workspace int64) (list []*index.Segment, err error) {
	known := t.store.indexes.segments.Get(workspace)
	now := map[int64]cachedSegment{}
	var rowIDs []int64
	err = t.conn.Query(`SELECT row_id, tombstones FROM segments WHERE workspace = ?1 ORDER BY row_id`, []any{workspace},
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
			if o.segment, err = t.openSegment(rowID, o.tombstones); err != nil {
				return nil, err
			}
			now[rowID] = o
		}
		list = append(list, o.segment)
	}
	t.store.indexes.segments.Put(workspace, now)
	return list, nil
}

// openSegment reads the head of a segment.
func (t *Tx) openSegment(rowID int64, dead []byte) (*index.Segment, error) {
	var head []byte
	err := t.conn.QueryRow(`SELECT header FROM segments WHERE row_id = ?1`, []any{rowID}, []any{&head})
	if errors.Is(err, sqldb.ErrNoRows) {
		return nil, errStale
	}
	if err != nil {
		return nil, err
	}
	return index.Open(rowID, head, dead)
}
