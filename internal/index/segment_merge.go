package index

import (
	"cmp"
	"context"
	"slices"
)

// Merge writes several segments as one without their deleted documents. If two segments hold the same memory, the later
// one in the list wins. Merge holds the merged pages in memory, and one page of each source at a time.
func Merge(ctx context.Context, fetch PageFetcher, segments []*Segment) (EncodedSegment, error) {
	col, newOrdinals := mergeHeaders(segments)
	var m merger
	for i, g := range segments {
		source := &mergeSource{newOrdinals: newOrdinals[i]}
		source.begin(g, fetch, "", lastTerm)
		m.sources = append(m.sources, source)
	}
	for ctx.Err() == nil {
		more, err := m.mergeNextTerm()
		if err != nil {
			return EncodedSegment{}, err
		}
		if !more {
			return col.encodeSegment(&m.out), nil
		}
	}
	return EncodedSegment{}, ctx.Err()
}

// droppedDoc is the new ordinal of a document that the merge drops.
const droppedDoc = ^uint32(0)

// mergeHeaders merges the columns in the order of memory ids. It returns the new ordinals of the documents of each
// segment.
func mergeHeaders(segments []*Segment) (*segmentHeaderBuilder, [][]uint32) {
	type origin struct {
		memory  int64
		segment int
		doc     int
	}
	var all []origin
	newOrdinals := make([][]uint32, len(segments))
	for i, g := range segments {
		newOrdinals[i] = slices.Repeat([]uint32{droppedDoc}, g.Docs())
		for doc, m := range g.memories {
			if !isSet(g.deleted, doc) {
				all = append(all, origin{m, i, doc})
			}
		}
	}
	slices.SortFunc(all, func(a, b origin) int {
		return cmp.Or(cmp.Compare(a.memory, b.memory), cmp.Compare(b.segment, a.segment))
	})
	all = slices.CompactFunc(all, func(a, b origin) bool { return a.memory == b.memory })
	col := newSegmentHeaderBuilder()
	for i, o := range all {
		newOrdinals[o.segment][o.doc] = uint32(i)
		col.add(segments[o.segment].Attributes(o.doc), segments[o.segment].lengths[o.doc])
	}
	return col, newOrdinals
}

// merger merges the postings of segments term by term.
type merger struct {
	sources  []*mergeSource
	out      postingsWriter
	term     []byte
	merged   []posting
	postings decodedPostings
}

// mergeSource reads the blocks of one segment in order.
type mergeSource struct {
	termIterator
	newOrdinals []uint32
	blockLoaded bool // the header of block was read, and its postings are not merged yet
}

// mergeNextTerm merges the postings of the next term. It returns false after the last one.
func (m *merger) mergeNextTerm() (bool, error) {
	least := false
	for _, s := range m.sources {
		ok, err := s.loadBlock()
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
	m.merged = m.merged[:0]
	for _, s := range m.sources {
		if err := m.appendPostings(s); err != nil {
			return false, err
		}
	}
	if !slices.IsSortedFunc(m.merged, byDoc) {
		slices.SortFunc(m.merged, byDoc)
	}
	if len(m.merged) > 0 {
		m.out.add(string(m.term), m.merged)
	}
	return true, nil
}

func byDoc(a, b posting) int { return cmp.Compare(a.doc, b.doc) }

// appendPostings appends the postings of the current term in one source.
func (m *merger) appendPostings(s *mergeSource) error {
	for {
		ok, err := s.loadBlock()
		if err != nil || !ok || string(s.block.term) != string(m.term) {
			return err
		}
		m.postings.reset()
		if err := s.block.decode(&m.postings, 0, s.segment.Docs()); err != nil {
			return err
		}
		s.blockLoaded = false
		for i, doc := range m.postings.docs {
			if to := s.newOrdinals[doc]; to != droppedDoc {
				m.merged = append(m.merged, posting{to, m.postings.freqs[i]})
			}
		}
	}
}

// loadBlock reads the header of the next block of the source, unless one is loaded. It returns false at the end.
func (s *mergeSource) loadBlock() (bool, error) {
	if !s.blockLoaded {
		s.blockLoaded = s.next()
	}
	return s.blockLoaded, s.err
}
