package index

import (
	"cmp"
	"slices"
	"strings"
)

// DocAttributes are the attributes by which searches filter and order documents. Times are microseconds since 1970.
// ValidUntil zero means that a memory never expires. Memories of one Group have a Position in their source, such as the
// turns of a conversation. Group zero means no group.
type DocAttributes struct {
	Memory, Atlas, Created, ValidUntil int64
	Group, Position                    int64
	Kind, Status                       uint8
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
	n := 0
	for _, c := range latest {
		col.add(c.DocAttributes, c.Document.Length)
		n += len(c.Document.Terms)
	}
	return col.encodeSegment(buildPostings(latest, n))
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

// buildPostings writes n postings. It numbers the distinct terms, sorts them, and distributes the postings by counting.
// Sorting all postings by text took six times as long.
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

// numberedTerm is a distinct term with its document frequency.
type numberedTerm struct {
	text   string
	key    uint64 // first bytes of text: see prefixKey
	number uint32
	count  uint32
}

// distributePostings returns the postings of each term, by its number. Each list is sorted by document.
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

func (b *segmentHeaderBuilder) encodeSegment(p *postingsWriter) EncodedSegment {
	p.flush()
	b.termCount, b.pageFirstTerms = p.terms, p.firstTerms
	return EncodedSegment{Header: b.encode(), Pages: p.pages, Docs: b.Docs()}
}
