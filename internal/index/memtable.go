package index

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// memtable is the change rows that no segment holds yet, as a small inverted index
// that only grows. Views share it: each looks at its first rows and has its own
// dead set, so that a newer view costs only the rows it adds.
type memtable struct {
	mu            sync.RWMutex
	rows          []DocAttributes
	seqs          []int64
	lengths       []uint32
	lengthCodes   []uint8
	previousRow   []int32 // the row of the same memory before, or -1
	latestRow     map[int64]int32
	rowBySeq      map[int64]int32
	postingLists  map[string][]posting
	termsByPrefix map[string][]string // the terms, by their first bytes
	termDicts     map[rune]*termDict  // of the words, by their first letter; nil until somebody asks
}

// bucketPrefixBytes is how many bytes of a term are looked up to find all that begin so.
const bucketPrefixBytes = 4

func bucketPrefix(term string) string { return term[:min(len(term), bucketPrefixBytes)] }

func newMemtable() *memtable {
	return &memtable{latestRow: map[int64]int32{}, rowBySeq: map[int64]int32{}, postingLists: map[string][]posting{},
		termsByPrefix: map[string][]string{}}
}

// add appends a row. A late row, older than what is known of its memory, is kept
// only for its number.
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
	for _, e := range c.Document.Terms {
		list := t.postingLists[e.Term]
		if list == nil {
			t.termsByPrefix[bucketPrefix(e.Term)] = append(t.termsByPrefix[bucketPrefix(e.Term)], e.Term)
			if t.termDicts != nil {
				t.addToTermDict(e.Term)
			}
		}
		t.postingLists[e.Term] = append(list, posting{uint32(row), e.Freq})
	}
}

// latestRowIn is the newest row of a memory among the first n, or -1.
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

// postings of a term; those at or after a view's last row are not its own.
func (t *memtable) postings(term string) []posting {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.postingLists[term]
}

// termsWithPrefix lists the terms that begin with a prefix, in any order.
func (t *memtable) termsWithPrefix(prefix string) (list []string) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if len(prefix) >= bucketPrefixBytes {
		for _, term := range t.termsByPrefix[bucketPrefix(prefix)] {
			if strings.HasPrefix(term, prefix) {
				list = append(list, term)
			}
		}
		return list
	}
	for start, terms := range t.termsByPrefix {
		if strings.HasPrefix(start, prefix) {
			list = append(list, terms...)
		}
	}
	return list
}

// termDictFor is the list of the words that begin with a letter, as it is now. The lists
// are made when they are wanted first: few workspaces are asked for misspelled words.
func (t *memtable) termDictFor(letter rune) *termDict {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.termDicts == nil {
		t.termDicts = map[rune]*termDict{}
		for term := range t.postingLists {
			t.addToTermDict(term)
		}
	}
	if l := t.termDicts[letter]; l != nil {
		return &termDict{lengthClasses: slices.Clone(l.lengthClasses), buckets: slices.Clone(l.buckets)}
	}
	return new(termDict)
}

// addToTermDict adds a term to the list of its first letter.
func (t *memtable) addToTermDict(term string) {
	letter, _ := utf8.DecodeRuneInString(term)
	l := t.termDicts[letter]
	if l == nil {
		l = new(termDict)
		t.termDicts[letter] = l
	}
	l.add([]byte(term))
}

// cloneRows copies the first n rows: for a second view derived from the same one.
func (t *memtable) cloneRows(n int) *memtable {
	f := &memtable{
		rows: slices.Clone(t.rows[:n]), seqs: slices.Clone(t.seqs[:n]), lengths: slices.Clone(t.lengths[:n]),
		lengthCodes: slices.Clone(t.lengthCodes[:n]), previousRow: slices.Clone(t.previousRow[:n]),
		latestRow: map[int64]int32{}, rowBySeq: maps.Clone(t.rowBySeq), postingLists: map[string][]posting{},
		termsByPrefix: map[string][]string{},
	}
	maps.DeleteFunc(f.rowBySeq, func(_ int64, row int32) bool { return int(row) >= n })
	for memory := range t.latestRow {
		if row := t.latestRowIn(memory, n); row >= 0 {
			f.latestRow[memory] = int32(row)
		}
	}
	for term, list := range t.postingLists {
		end := 0
		for end < len(list) && int(list[end].doc) < n {
			end++
		}
		if end > 0 {
			f.postingLists[term] = slices.Clone(list[:end])
			f.termsByPrefix[bucketPrefix(term)] = append(f.termsByPrefix[bucketPrefix(term)], term)
		}
	}
	return f
}
