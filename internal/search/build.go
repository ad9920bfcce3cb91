package search

import (
	"cmp"
	"slices"
	"strings"
)

// Attributes are what a search filters and orders by. Times are microseconds;
// ValidUntil zero means forever.
type Attributes struct {
	Memory, Atlas, Created, ValidUntil int64
	Kind, Status                       uint8
	Verified                           bool
	Tags                               []string
}

// Change is one row of the change log: the memory's new attributes and document,
// or that it is gone. Seq rises; the highest of a memory wins.
type Change struct {
	Seq int64
	Attributes
	Gone     bool
	Document Document
}

// Build folds changes into a segment. Earlier changes of a memory and memories
// that are gone leave no document.
func Build(changes []Change) (Blob, error) {
	latest := newest(changes)
	col := newColumns()
	n := 0
	for _, c := range latest {
		col.add(c.Attributes, c.Document.length)
		n += len(c.Document.terms)
	}
	return col.blob(postingsOf(latest, n)), nil
}

// newest keeps the last change of each memory that still exists, in the order of
// memories.
func newest(changes []Change) []*Change {
	list := make([]*Change, len(changes))
	for i := range changes {
		list[i] = &changes[i]
	}
	slices.SortFunc(list, func(a, b *Change) int {
		return cmp.Or(cmp.Compare(a.Memory, b.Memory), cmp.Compare(b.Seq, a.Seq))
	})
	list = slices.CompactFunc(list, func(a, b *Change) bool { return a.Memory == b.Memory })
	return slices.DeleteFunc(list, func(c *Change) bool { return c.Gone })
}

// occurrence is one posting before it is sorted into its term's list.
type occurrence struct {
	text string
	key  uint64
	posting
}

func postingsOf(list []*Change, n int) *pager {
	all := make([]occurrence, 0, n)
	for doc, c := range list {
		for _, t := range c.Document.terms {
			all = append(all, occurrence{t.text, prefixKey(t.text), posting{uint32(doc), t.freq}})
		}
	}
	slices.SortFunc(all, func(a, b occurrence) int {
		if a.key != b.key {
			return cmp.Compare(a.key, b.key)
		}
		if c := strings.Compare(a.text, b.text); c != 0 {
			return c
		}
		return cmp.Compare(a.doc, b.doc)
	})
	var p pager
	var run []posting
	for i, o := range all {
		run = append(run, o.posting)
		if i+1 == len(all) || all[i+1].text != o.text {
			p.add(o.text, run)
			run = run[:0]
		}
	}
	return &p
}

func (b *columnsBuilder) blob(p *pager) Blob {
	p.flush()
	b.terms, b.pages = p.terms, p.firsts
	return Blob{Head: b.encode(), Pages: p.pages, Docs: b.docs()}
}
