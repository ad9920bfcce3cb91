package search

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// tail is the change rows that no segment holds yet, as a small inverted index
// that only grows. Views share it: each looks at its first rows and has its own
// dead set, so that a newer view costs only the rows it adds.
type tail struct {
	mu     sync.RWMutex
	rows   []Attributes
	seqs   []int64
	length []uint32
	codes  []uint8
	before []int32 // the row of the same memory before, or -1
	latest map[int64]int32
	bySeq  map[int64]int32
	terms  map[string][]posting
	starts map[string][]string // the terms, by their first bytes
	lists  map[rune]*wordlist  // of the words, by their first letter; nil until somebody asks
}

// startBytes is how many bytes of a term are looked up to find all that begin so.
const startBytes = 4

func startOf(term string) string { return term[:min(len(term), startBytes)] }

func newTail() *tail {
	return &tail{latest: map[int64]int32{}, bySeq: map[int64]int32{}, terms: map[string][]posting{}, starts: map[string][]string{}}
}

// add appends a row. A late row, older than what is known of its memory, is kept
// only for its number.
func (t *tail) add(c Change, late bool) {
	row := int32(len(t.rows))
	t.rows = append(t.rows, c.Attributes)
	t.seqs = append(t.seqs, c.Seq)
	t.length = append(t.length, c.Document.length)
	t.codes = append(t.codes, lengthCode(c.Document.length))
	t.bySeq[c.Seq] = row
	before := int32(-1)
	if !late {
		if at, ok := t.latest[c.Memory]; ok {
			before = at
		}
		t.latest[c.Memory] = row
	}
	t.before = append(t.before, before)
	if late || c.Gone {
		return
	}
	for _, e := range c.Document.terms {
		list := t.terms[e.text]
		if list == nil {
			t.starts[startOf(e.text)] = append(t.starts[startOf(e.text)], e.text)
			if t.lists != nil {
				t.list(e.text)
			}
		}
		t.terms[e.text] = append(list, posting{uint32(row), e.freq})
	}
}

// last is the newest row of a memory among the first n, or -1.
func (t *tail) last(memory int64, n int) int {
	row, ok := t.latest[memory]
	if !ok {
		return -1
	}
	for int(row) >= n {
		row = t.before[row]
	}
	return int(row)
}

func (t *tail) has(seq int64, n int) bool {
	row, ok := t.bySeq[seq]
	return ok && int(row) < n
}

// postings of a term; those at or after a view's last row are not its own.
func (t *tail) postings(term string) []posting {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.terms[term]
}

// begin lists the terms that begin with a prefix, in any order.
func (t *tail) begin(prefix string) (list []string) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if len(prefix) >= startBytes {
		for _, term := range t.starts[startOf(prefix)] {
			if strings.HasPrefix(term, prefix) {
				list = append(list, term)
			}
		}
		return list
	}
	for start, terms := range t.starts {
		if strings.HasPrefix(start, prefix) {
			list = append(list, terms...)
		}
	}
	return list
}

// words is the list of the words that begin with a letter, as it is now. The lists
// are made when they are wanted first: few workspaces are asked for misspelled words.
func (t *tail) words(letter rune) *wordlist {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.lists == nil {
		t.lists = map[rune]*wordlist{}
		for term := range t.terms {
			t.list(term)
		}
	}
	if l := t.lists[letter]; l != nil {
		return &wordlist{sizes: slices.Clone(l.sizes), shapes: slices.Clone(l.shapes)}
	}
	return new(wordlist)
}

// list adds a term to the list of its first letter.
func (t *tail) list(term string) {
	letter, _ := utf8.DecodeRuneInString(term)
	l := t.lists[letter]
	if l == nil {
		l = new(wordlist)
		t.lists[letter] = l
	}
	l.add([]byte(term))
}

// first copies the first n rows: for a second view derived from the same one.
func (t *tail) first(n int) *tail {
	f := &tail{
		rows: slices.Clone(t.rows[:n]), seqs: slices.Clone(t.seqs[:n]), length: slices.Clone(t.length[:n]),
		codes: slices.Clone(t.codes[:n]), before: slices.Clone(t.before[:n]),
		latest: map[int64]int32{}, bySeq: maps.Clone(t.bySeq), terms: map[string][]posting{}, starts: map[string][]string{},
	}
	maps.DeleteFunc(f.bySeq, func(_ int64, row int32) bool { return int(row) >= n })
	for memory := range t.latest {
		if row := t.last(memory, n); row >= 0 {
			f.latest[memory] = int32(row)
		}
	}
	for term, list := range t.terms {
		end := 0
		for end < len(list) && int(list[end].doc) < n {
			end++
		}
		if end > 0 {
			f.terms[term] = slices.Clone(list[:end])
			f.starts[startOf(term)] = append(f.starts[startOf(term)], term)
		}
	}
	return f
}
