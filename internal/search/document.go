package search

import (
	"encoding/binary"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// titleWeight is how often a word of the title counts.
const titleWeight = 3

// Document is the forward index of one memory: its terms with their weighted
// frequencies, and its length in words. The zero Document has no terms.
type Document struct {
	length uint32
	terms  []entry // sorted by text, no duplicates
}

type entry struct {
	text string
	freq uint8 // 1 to 255; more changes no score that anybody could see
}

// Analyze turns a memory into its forward index. It takes any valid UTF-8 and
// linear time. A title that only repeats a long first line counts nothing: it was
// made of it.
func Analyze(title, content string) Document {
	c := counters.Get().(*counter)
	defer counters.Put(c)
	c.reset()
	if !repeats(title, content) {
		c.weight = titleWeight
		c.analyze(title)
	}
	c.weight = 1
	c.analyze(content)
	return c.document()
}

// headline is how many characters a line has at most that may be a heading.
const headline = 40

// repeats reports a title that is how the content begins, and too long for a
// heading. One that has the marks of a heading stands behind them.
func repeats(title, content string) bool {
	return strings.HasPrefix(strings.TrimLeftFunc(content, unicode.IsSpace), title) && utf8.RuneCountInString(title) > headline
}

// Encode gives the document's stored form: version byte, length and number of
// terms as uvarints, then each term in order: bytes shared with the one before
// (uvarint), number and text of the rest, frequency (one byte).
func (d Document) Encode() []byte {
	out := make([]byte, 0, 16+8*len(d.terms))
	out = append(out, FormatVersion)
	out = binary.AppendUvarint(out, uint64(d.length))
	out = binary.AppendUvarint(out, uint64(len(d.terms)))
	last := ""
	for _, t := range d.terms {
		out = append(appendText(out, last, t.text), t.freq)
		last = t.text
	}
	return out
}

// DecodeDocument reads what Encode wrote, or gives ErrCorrupt.
func DecodeDocument(data []byte) (Document, error) {
	c := cursor{data: data}
	c.version()
	length := c.uvarint()
	count := c.count(3)
	if c.bad || length > maxLength {
		return Document{}, ErrCorrupt
	}
	var arena strings.Builder
	arena.Grow(min(len(data)*2, count*maxTerm))
	ends, freqs := make([]int, count), make([]uint8, count)
	var last []byte
	for i := range count {
		last = c.text(last)
		freqs[i] = c.byte()
		arena.Write(last)
		ends[i] = arena.Len()
	}
	if err := c.end(); err != nil {
		return Document{}, err
	}
	d := Document{length: uint32(length), terms: carve(arena.String(), ends, freqs)}
	if !d.valid() {
		return Document{}, ErrCorrupt
	}
	return d, nil
}

// maxLength bounds a document's length so that sums stay far from overflow.
const maxLength = 1 << 30

func carve(arena string, ends []int, freqs []uint8) []entry {
	terms := make([]entry, len(ends))
	start := 0
	for i, end := range ends {
		terms[i] = entry{arena[start:end], freqs[i]}
		start = end
	}
	return terms
}

func (d Document) valid() bool {
	last := ""
	for _, t := range d.terms {
		if t.freq == 0 || t.text <= last {
			return false
		}
		last = t.text
	}
	return true
}

// freq is how often the document holds the term, zero if it does not.
func (d Document) freq(term string) uint8 {
	i, ok := slices.BinarySearchFunc(d.terms, term, func(e entry, t string) int { return strings.Compare(e.text, t) })
	if !ok {
		return 0
	}
	return d.terms[i].freq
}
