package search

import (
	"cmp"
	"context"
	"slices"
)

// Merge writes segments into one and drops their dead documents. Where two hold
// the same memory, the one further back in the list wins. It holds the merged
// pages in memory, and one page of each source at a time.
func Merge(ctx context.Context, fetch Fetch, segments []*Segment) (Blob, error) {
	col, moved := mergeColumns(segments)
	m := merger{fetch: fetch}
	for i, s := range segments {
		m.sources = append(m.sources, &source{segment: s, moved: moved[i]})
	}
	for ctx.Err() == nil {
		more, err := m.step()
		if err != nil {
			return Blob{}, err
		}
		if !more {
			return col.blob(&m.out), nil
		}
	}
	return Blob{}, ctx.Err()
}

// gone marks an old ordinal without a new one.
const gone = ^uint32(0)

// mergeColumns merges the documents in the order of their memories and says
// where each ordinal of each segment went.
func mergeColumns(segments []*Segment) (*columnsBuilder, [][]uint32) {
	type origin struct {
		memory  int64
		segment int
		doc     int
	}
	var all []origin
	moved := make([][]uint32, len(segments))
	for i, s := range segments {
		moved[i] = slices.Repeat([]uint32{gone}, s.docs())
		for doc, m := range s.memories {
			if !isSet(s.dead, doc) {
				all = append(all, origin{m, i, doc})
			}
		}
	}
	slices.SortFunc(all, func(a, b origin) int {
		return cmp.Or(cmp.Compare(a.memory, b.memory), cmp.Compare(b.segment, a.segment))
	})
	all = slices.CompactFunc(all, func(a, b origin) bool { return a.memory == b.memory })
	col := newColumns()
	for i, o := range all {
		moved[o.segment][o.doc] = uint32(i)
		col.add(segments[o.segment].attributes(o.doc), segments[o.segment].lengths[o.doc])
	}
	return col, moved
}

type merger struct {
	fetch   Fetch
	sources []*source
	out     pager
	term    []byte
	list    []posting
	hits    hits
}

// source reads one segment's blocks in order.
type source struct {
	segment *Segment
	moved   []uint32
	page    int
	rest    cursor
	block   block
	ready   bool // block is read and not yet taken
}

// step merges the next term; false when nothing is left.
func (m *merger) step() (bool, error) {
	least := false
	for _, s := range m.sources {
		ok, err := s.fill(m.fetch)
		if err != nil {
			return false, err
		}
		if ok && (!least || string(s.block.term) < string(m.term)) {
			m.term, least = append(m.term[:0], s.block.term...), true
		}
	}
	if !least {
		return false, nil
	}
	m.list = m.list[:0]
	for _, s := range m.sources {
		if err := m.take(s); err != nil {
			return false, err
		}
	}
	if !slices.IsSortedFunc(m.list, byDoc) {
		slices.SortFunc(m.list, byDoc)
	}
	if len(m.list) > 0 {
		m.out.add(string(m.term), m.list)
	}
	return true, nil
}

func byDoc(a, b posting) int { return cmp.Compare(a.doc, b.doc) }

// take adds all of a source's postings of the current term.
func (m *merger) take(s *source) error {
	for {
		ok, err := s.fill(m.fetch)
		if err != nil || !ok || string(s.block.term) != string(m.term) {
			return err
		}
		m.hits.reset()
		if err := s.block.decode(&m.hits, 0, s.segment.docs()); err != nil {
			return err
		}
		s.ready = false
		for i, doc := range m.hits.docs {
			if to := s.moved[doc]; to != gone {
				m.list = append(m.list, posting{to, m.hits.freqs[i]})
			}
		}
	}
}

// fill makes the source's next block ready; false at its end.
func (s *source) fill(fetch Fetch) (bool, error) {
	if s.ready {
		return true, nil
	}
	for len(s.rest.data) == 0 {
		if s.page == len(s.segment.pages) {
			return false, nil
		}
		page, err := fetch(s.segment.id, s.page)
		if err != nil {
			return false, err
		}
		blocks, _, err := openPage(page)
		if err != nil {
			return false, err
		}
		s.page++
		s.rest, s.block.term = cursor{data: blocks[1:]}, s.block.term[:0]
	}
	s.block.next(&s.rest)
	s.ready = true
	return true, s.rest.err()
}
