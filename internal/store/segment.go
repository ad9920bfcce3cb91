package store

import (
	"bytes"
	"errors"

	"github.com/loci-memory/loci/internal/search"
)

// opened is a segment with the bytes by which it knows its dead.
type opened struct {
	segment *search.Segment // nil: not opened yet
	dead    []byte
}

// with is the same segment with other dead.
func (o opened) with(dead []byte) (opened, error) {
	if o.segment == nil || bytes.Equal(o.dead, dead) {
		return opened{o.segment, dead}, nil
	}
	s, err := o.segment.WithDead(dead)
	return opened{s, dead}, err
}

func documents(list map[int64]opened) (n int) {
	for _, o := range list {
		n += o.segment.Docs()
	}
	return n
}

// segments opens the segments of a workspace. Those that were opened before are
// taken from the cache: a segment never changes, but for what of it is dead. Folds
// and searches after them need all, and nobody changes the map of them afterwards.
func (t *Tx) segments(workspace int64) (list []*search.Segment, err error) {
	known := t.s.indexes.segments.get(workspace)
	now := map[int64]opened{}
	var rids []int64
	err = t.c.each(`SELECT rid, dead FROM segments WHERE workspace = ?1 ORDER BY rid`, []any{workspace}, func(r row) error {
		var rid int64
		var dead []byte
		if err := r.Scan(&rid, &dead); err != nil {
			return err
		}
		rids = append(rids, rid)
		o, err := known[rid].with(dead)
		now[rid] = o
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, rid := range rids {
		o := now[rid]
		if o.segment == nil {
			if o.segment, err = t.openSegment(rid, o.dead); err != nil {
				return nil, err
			}
			now[rid] = o
		}
		list = append(list, o.segment)
	}
	t.s.indexes.segments.put(workspace, now)
	return list, nil
}

// openSegment reads the head of a segment.
func (t *Tx) openSegment(rid int64, dead []byte) (*search.Segment, error) {
	var head []byte
	err := t.c.one(`SELECT head FROM segments WHERE rid = ?1`, []any{rid}, []any{&head})
	if errors.Is(err, errNoRow) {
		return nil, errStale
	}
	if err != nil {
		return nil, err
	}
	return search.Open(rid, head, dead)
}
