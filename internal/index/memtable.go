package index

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
	"unsafe"
)

// memtable is an inverted index of the updates that no segment holds. It only grows. Snapshots share it: each sees a
// number of its first rows and has its own tombstones. A new snapshot copies tombstones and sums the lengths of all
// rows, but copies no postings.
type memtable struct {
	mu            sync.RWMutex
	rows          []DocAttributes
	seqs          []int64
	lengths       []uint32
	lengthCodes   []uint8
	previousRow   []int32 // the previous row of the same memory, or -1
	latestRow     map[int64]int32
	rowBySeq      map[int64]int32
	postingLists  map[string]*[]posting
	termsByLetter map[rune][]string // terms by their first letter
	termBytes     int               // of terms and postings: see sizeBytes
}

// Sizes for sizeBytes, in bytes: a slot of a map beside key and value with its share of the free ones, and what a map
// and a small allocation need.
const (
	slotBytes   = 1
	mapBytes    = 300
	minMapSlots = 8
)

// mapSize returns about the size of a map of n entries. A table of a map has at most seven of eight slots in use, and
// grows twofold.
func mapSize(n, entry int) int {
	return mapBytes + max(minMapSlots, n*8/5)*(entry+slotBytes)
}

// sizeBytes returns about the size of the memtable in RAM.
func (t *memtable) sizeBytes() int {
	n := len(t.rows)
	return cap(t.rows)*int(unsafe.Sizeof(DocAttributes{})) + 8*cap(t.seqs) + 4*cap(t.lengths) + cap(t.lengthCodes) +
		4*cap(t.previousRow) + mapSize(len(t.latestRow), 16) + mapSize(n, 16) + mapSize(len(t.postingLists), 24) +
		mapSize(len(t.termsByLetter), 32) + t.termBytes
}

// termOverhead is the size of a term beside its text: the list of its postings, and its place in termsByLetter with
// what slices have to spare.
const termOverhead = 24 + 22

func newMemtable() *memtable {
	return &memtable{latestRow: map[int64]int32{}, rowBySeq: map[int64]int32{}, postingLists: map[string]*[]posting{},
		termsByLetter: map[rune][]string{}}
}

// add appends a row. An out-of-order row is older than the latest row of its memory. Its terms are not indexed.
func (t *memtable) add(c DocUpdate, outOfOrder bool) {
	row := int32(len(t.rows))
	t.rows = append(t.rows, c.DocAttributes)
	t.seqs = append(t.seqs, c.Seq)
	t.lengths = append(t.lengths, c.Document.Length)
	t.lengthCodes = append(t.lengthCodes, EncodeLength(c.Document.Length))
	t.rowBySeq[c.Seq] = row
	before := int32(-1)
	if !outOfOrder {
		if at, ok := t.latestRow[c.Memory]; ok {
			before = at
		}
		t.latestRow[c.Memory] = row
	}
	t.previousRow = append(t.previousRow, before)
	if outOfOrder || c.Deleted {
		return
	}
	for _, tag := range c.Tags {
		t.termBytes += 16 + (len(tag)+7)&^7
	}
	for _, e := range c.Document.Terms {
		list := t.postingLists[e.Term]
		if list == nil {
			term := strings.Clone(e.Term) // those of a document share one allocation, which none is to keep
			list = new([]posting)
			t.postingLists[term] = list
			t.termsByLetter[firstLetter(term)] = append(t.termsByLetter[firstLetter(term)], term)
			t.termBytes += termOverhead + (len(term)+7)&^7
		}
		t.termBytes -= cap(*list) * int(unsafe.Sizeof(posting{}))
		*list = append(*list, posting{uint32(row), e.Freq})
		t.termBytes += cap(*list) * int(unsafe.Sizeof(posting{}))
	}
}

// latestRowIn returns the latest row of a memory among the first n rows, or -1.
func (t *memtable) latestRowIn(memory int64, n int) int {
	row, ok := t.latestRow[memory]
	if !ok {
		return -1
	}
	for int(row) >= n {
		row = t.previousRow[row]
	}
	return int(row)
}

func (t *memtable) containsSeq(seq int64, n int) bool {
	row, ok := t.rowBySeq[seq]
	return ok && int(row) < n
}

// postings returns the postings of a term. Callers ignore rows beyond those of their snapshot.
func (t *memtable) postings(term string) []posting {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if list := t.postingLists[term]; list != nil {
		return *list
	}
	return nil
}

// termsWithPrefix returns the terms with a prefix of at least one character, in any order.
func (t *memtable) termsWithPrefix(prefix string) (list []string) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	for _, term := range t.termsByLetter[firstLetter(prefix)] {
		if strings.HasPrefix(term, prefix) {
			list = append(list, term)
		}
	}
	return list
}

func firstLetter(term string) rune {
	r, _ := utf8.DecodeRuneInString(term)
	return r
}

// spellingDict returns a dictionary of the words with a prefix.
func (t *memtable) spellingDict(prefix string) *spellingDict {
	d := new(spellingDict)
	for _, term := range t.termsWithPrefix(prefix) {
		d.add([]byte(term))
	}
	return d
}

// cloneRows copies the first n rows, for a second snapshot derived from the same parent.
func (t *memtable) cloneRows(n int) *memtable {
	f := &memtable{
		rows: slices.Clone(t.rows[:n]), seqs: slices.Clone(t.seqs[:n]), lengths: slices.Clone(t.lengths[:n]),
		lengthCodes: slices.Clone(t.lengthCodes[:n]), previousRow: slices.Clone(t.previousRow[:n]),
		latestRow: map[int64]int32{}, rowBySeq: maps.Clone(t.rowBySeq), postingLists: map[string]*[]posting{},
		termsByLetter: map[rune][]string{},
	}
	maps.DeleteFunc(f.rowBySeq, func(_ int64, row int32) bool { return int(row) >= n })
	for memory := range t.latestRow {
		if row := t.latestRowIn(memory, n); row >= 0 {
			f.latestRow[memory] = int32(row)
		}
	}
	for term, list := range t.postingLists {
		end := 0
		for end < len(*list) && int((*list)[end].doc) < n {
			end++
		}
		if end > 0 {
			own := slices.Clone((*list)[:end])
			f.postingLists[term] = &own
			f.termsByLetter[firstLetter(term)] = append(f.termsByLetter[firstLetter(term)], term)
		}
	}
	f.termBytes = t.termBytes
	return f
}
