package search

import (
	"cmp"
	"slices"
	"strings"
)

// Attributes are what a search filters and orders by. Times are microseconds;
// ValidUntil zero means forever. Memories of one Group stand at a Position in what
// they come from, as the turns of a conversation do; Group zero is none.
type Attributes struct {
	Memory, Atlas, Created, ValidUntil int64
	Group, Position                    int64
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

// postingsOf writes the postings of n occurrences of terms. It numbers the
// distinct terms, sorts those, and places each posting by counting: to sort all
// occurrences by their texts took six times as long.
func postingsOf(list []*Change, n int) *pager {
	numbers := make(map[string]uint32, n/4)
	var terms []numbered
	occurrences := make([]uint32, 0, n)
	for _, c := range list {
		for _, t := range c.Document.terms {
			number, known := numbers[t.text]
			if !known {
				number = uint32(len(terms))
				numbers[t.text] = number
				terms = append(terms, numbered{text: t.text, key: prefixKey(t.text), number: number})
			}
			terms[number].count++
			occurrences = append(occurrences, number)
		}
	}
	return writePostings(terms, place(list, terms, occurrences))
}

// numbered is a distinct term with the number of documents that hold it.
type numbered struct {
	text   string
	key    uint64
	number uint32
	count  uint32
}

// place puts the postings of each term together, by its number, in the order
// of documents.
func place(list []*Change, terms []numbered, occurrences []uint32) (runs [][]posting) {
	all := make([]posting, len(occurrences))
	runs = make([][]posting, len(terms))
	for i, t := range terms {
		runs[i], all = all[:0:t.count], all[t.count:]
	}
	at := 0
	for doc, c := range list {
		for _, t := range c.Document.terms {
			number := occurrences[at]
			runs[number] = append(runs[number], posting{uint32(doc), t.freq})
			at++
		}
	}
	return runs
}

func writePostings(terms []numbered, runs [][]posting) *pager {
	slices.SortFunc(terms, func(a, b numbered) int {
		if a.key != b.key {
			return cmp.Compare(a.key, b.key)
		}
		return strings.Compare(a.text, b.text)
	})
	var p pager
	for _, t := range terms {
		p.add(t.text, runs[t.number])
	}
	return &p
}

func (b *columnsBuilder) blob(p *pager) Blob {
	p.flush()
	b.terms, b.pages = p.terms, p.firsts
	return Blob{Head: b.encode(), Pages: p.pages, Docs: b.docs()}
}
