package index

import (
	"cmp"
	"slices"
	"strings"
)

// DocAttributes are what a search filters and orders by. Times are microseconds;
// ValidUntil zero means forever. Memories of one Group stand at a Position in what
// they come from, as the turns of a conversation do; Group zero is none.
type DocAttributes struct {
	Memory, Atlas, Created, ValidUntil int64
	Group, Position                    int64
	Kind, Status                       uint8
	Verified                           bool
	Tags                               []string
}

// DocUpdate is one row of the change log: the memory's new attributes and document,
// or that it is gone. Seq rises; the highest of a memory wins.
type DocUpdate struct {
	Seq int64
	DocAttributes
	Deleted  bool
	Document Document
}

// Build folds changes into a segment. Earlier changes of a memory and memories
// that are gone leave no document.
func Build(changes []DocUpdate) (EncodedSegment, error) {
	latest := latestUpdates(changes)
	col := newDocColumnsBuilder()
	n := 0
	for _, c := range latest {
		col.add(c.DocAttributes, c.Document.Length)
		n += len(c.Document.Terms)
	}
	return col.encodeSegment(buildPostings(latest, n)), nil
}

// latestUpdates keeps the last change of each memory that still exists, in the order of
// memories.
func latestUpdates(changes []DocUpdate) []*DocUpdate {
	list := make([]*DocUpdate, len(changes))
	for i := range changes {
		list[i] = &changes[i]
	}
	slices.SortFunc(list, func(a, b *DocUpdate) int {
		return cmp.Or(cmp.Compare(a.Memory, b.Memory), cmp.Compare(b.Seq, a.Seq))
	})
	list = slices.CompactFunc(list, func(a, b *DocUpdate) bool { return a.Memory == b.Memory })
	return slices.DeleteFunc(list, func(c *DocUpdate) bool { return c.Deleted })
}

// buildPostings writes the postings of n occurrences of terms. It numbers the
// distinct terms, sorts those, and places each posting by counting: to sort all
// occurrences by their texts took six times as long.
func buildPostings(list []*DocUpdate, n int) *postingsWriter {
	numbers := make(map[string]uint32, n/4)
	var terms []numberedTerm
	occurrences := make([]uint32, 0, n)
	for _, c := range list {
		for _, t := range c.Document.Terms {
			number, known := numbers[t.Term]
			if !known {
				number = uint32(len(terms))
				numbers[t.Term] = number
				terms = append(terms, numberedTerm{text: t.Term, key: prefixKey(t.Term), number: number})
			}
			terms[number].count++
			occurrences = append(occurrences, number)
		}
	}
	return writePostings(terms, distributePostings(list, terms, occurrences))
}

// numberedTerm is a distinct term with the number of documents that hold it.
type numberedTerm struct {
	text   string
	key    uint64
	number uint32
	count  uint32
}

// distributePostings puts the postings of each term together, by its number, in the order
// of documents.
func distributePostings(list []*DocUpdate, terms []numberedTerm, occurrences []uint32) (runs [][]posting) {
	all := make([]posting, len(occurrences))
	runs = make([][]posting, len(terms))
	for i, t := range terms {
		runs[i], all = all[:0:t.count], all[t.count:]
	}
	at := 0
	for doc, c := range list {
		for _, t := range c.Document.Terms {
			number := occurrences[at]
			runs[number] = append(runs[number], posting{uint32(doc), t.Freq})
			at++
		}
	}
	return runs
}

func writePostings(terms []numberedTerm, runs [][]posting) *postingsWriter {
	slices.SortFunc(terms, func(a, b numberedTerm) int {
		if a.key != b.key {
			return cmp.Compare(a.key, b.key)
		}
		return strings.Compare(a.text, b.text)
	})
	var p postingsWriter
	for _, t := range terms {
		p.add(t.text, runs[t.number])
	}
	return &p
}

func (b *docColumnsBuilder) encodeSegment(p *postingsWriter) EncodedSegment {
	p.flush()
	b.termCount, b.pageFirstTerms = p.terms, p.firstTerms
	return EncodedSegment{Header: b.encode(), Pages: p.pages, Docs: b.numDocs()}
}
