package index

import (
	"cmp"
	"maps"
	"slices"
)

// DocAttributes are the attributes by which searches filter and order documents. Times are microseconds since 1970.
// ValidUntil zero means that a memory never expires. Memories of one Group have a Position in their source, such as the
// turns of a conversation. Group zero means no group.
type DocAttributes struct {
	Memory, Atlas, Created, ValidUntil int64
	Group, Position                    int64
	Type, Status                       uint8
	Verified                           bool
	Tags                               []string
}

// DocUpdate is one row of the index log: the new attributes and document of a memory, or its deletion. Seq ascends. The
// update with the highest Seq of a memory wins.
type DocUpdate struct {
	Seq int64
	DocAttributes
	Deleted  bool
	Document Document
}

// Build builds a segment from updates. Superseded updates and deleted memories leave no document.
func Build(updates []DocUpdate) EncodedSegment {
	latest := latestUpdates(updates)
	col := newSegmentHeaderBuilder()
	for _, c := range latest {
		col.add(c.DocAttributes, c.Document.Length)
	}
	return col.encodeSegment(buildPostings(latest))
}

// latestUpdates returns the last update of each memory that was not deleted, sorted by memory id.
func latestUpdates(updates []DocUpdate) []*DocUpdate {
	list := make([]*DocUpdate, len(updates))
	for i := range updates {
		list[i] = &updates[i]
	}
	slices.SortFunc(list, func(a, b *DocUpdate) int {
		return cmp.Or(cmp.Compare(a.Memory, b.Memory), cmp.Compare(b.Seq, a.Seq))
	})
	list = slices.CompactFunc(list, func(a, b *DocUpdate) bool { return a.Memory == b.Memory })
	return slices.DeleteFunc(list, func(c *DocUpdate) bool { return c.Deleted })
}

// buildPostings writes the postings of documents, which get ordinals in their order.
func buildPostings(docs []*DocUpdate) *postingsWriter {
	lists := map[string][]posting{}
	for i, c := range docs {
		for _, t := range c.Document.Terms {
			lists[t.Term] = append(lists[t.Term], posting{uint32(i), t.Freq})
		}
	}
	var p postingsWriter
	for _, term := range slices.Sorted(maps.Keys(lists)) {
		p.add(term, lists[term])
	}
	return &p
}

func (b *segmentHeaderBuilder) encodeSegment(p *postingsWriter) EncodedSegment {
	p.flush()
	b.termCount, b.pageFirstTerms = p.terms, p.firstTerms
	return EncodedSegment{Header: b.encode(), Pages: p.pages, Docs: b.Docs()}
}
