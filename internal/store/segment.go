package store

import (
	"bytes"
	"errors"
	"sync"

	"github.com/loci-memory/loci/internal/search"
)

// segmentCache keeps the opened segments of workspaces: folds and searches after
// them need all of a workspace, and most were there before.
type segmentCache struct {
	mu   sync.Mutex
	of   map[int64]map[int64]opened // by workspace and rid
	docs int
}

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

func (c *segmentCache) get(workspace int64) map[int64]opened {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.of[workspace]
}

// put keeps the segments of a workspace; nobody changes the map afterwards.
func (c *segmentCache) put(workspace int64, list map[int64]opened) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.docs += documents(list) - documents(c.of[workspace])
	if c.of == nil || c.docs > maxDocs || len(c.of) >= maxViews {
		c.of, c.docs = map[int64]map[int64]opened{}, documents(list)
	}
	c.of[workspace] = list
}

func documents(list map[int64]opened) (n int) {
	for _, o := range list {
		n += o.segment.Docs()
	}
	return n
}

// segments opens the segments of a workspace. Those that were opened before are
// taken from the cache: a segment never changes, but for what of it is dead.
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
