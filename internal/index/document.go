package index

import (
	"encoding/binary"
	"strings"

	"github.com/loci-memory/loci/internal/analysis"
)

// TitleWeight is the factor in the frequencies of the terms of a title.
const TitleWeight = 3

// Document is the forward index of one memory: its length in words and its weighted term frequencies. The zero Document
// has no terms.
type Document struct {
	Length uint32
	Terms  []TermFreq // sorted, distinct
}

// TermFreq is a term of a document with its frequency.
type TermFreq struct {
	Term string
	Freq uint8 // 1 to 255; BM25 is saturated long before
}

// Analyze returns the forward index of a memory. The input is valid UTF-8. A long title with which the
// content begins adds no terms.
func Analyze(title, content string) Document {
	c := termCounterPool.Get().(*termCounter)
	defer termCounterPool.Put(c)
	c.countDoc(title, content)
	return c.document()
}

// AnalyzeEncoded returns the stored form of the forward index of a memory.
func AnalyzeEncoded(title, content string) []byte { return Analyze(title, content).Encode() }

// Encode returns the stored form. It is a version byte, and the length and the number of terms as uvarints. Each term
// is front coded, and a frequency byte follows it.
func (d Document) Encode() []byte {
	out := make([]byte, 0, 16+8*len(d.Terms))
	out = append(out, FormatVersion)
	out = binary.AppendUvarint(out, uint64(d.Length))
	out = binary.AppendUvarint(out, uint64(len(d.Terms)))
	last := ""
	for _, t := range d.Terms {
		out = append(appendFrontCoded(out, last, t.Term), t.Freq)
		last = t.Term
	}
	return out
}

// DecodeDocument decodes the result of Encode. It returns ErrCorrupt for other bytes.
func DecodeDocument(data []byte) (Document, error) {
	d := decoder{data: data}
	d.version()
	length := d.uvarint()
	count := d.count(3)
	if d.failed || length > maxDocLength {
		return Document{}, ErrCorrupt
	}
	terms, err := d.termFreqs(count)
	if err == nil {
		err = d.end()
	}
	if err != nil {
		return Document{}, err
	}
	return Document{uint32(length), terms}, nil
}

// maxDocLength bounds the length of a document, so that sums of lengths cannot overflow.
const maxDocLength = 1 << 30

// termFreqs reads terms in ascending order. Their texts share an arena.
func (d *decoder) termFreqs(count int) ([]TermFreq, error) {
	var arena strings.Builder
	arena.Grow(min(2*len(d.data), count*analysis.MaxTermBytes))
	terms, last := make([]TermFreq, count), ""
	for i := range terms {
		shared, n := d.uvarint(), d.uvarint()
		if shared > uint64(len(last)) || n > uint64(len(d.data)) || shared+n > analysis.MaxTermBytes {
			return nil, ErrCorrupt
		}
		rest, freq := d.bytes(int(n)), d.byte()
		if freq == 0 || string(rest) <= last[shared:] {
			return nil, ErrCorrupt
		}
		from := arena.Len()
		arena.WriteString(last[:shared])
		arena.Write(rest)
		last = arena.String()[from:]
		terms[i] = TermFreq{last, freq}
	}
	return terms, nil
}
