package index

import (
	"encoding/binary"
	"strings"

	"github.com/loci-memory/loci/internal/analysis"
)

// TitleWeight is how often a word of the title counts.
const TitleWeight = 3

// Document is the forward index of one memory: its terms with their weighted
// frequencies, and its length in words. The zero Document has no terms.
type Document struct {
	Length uint32
	Terms  []TermFreq // sorted by text, no duplicates
}

type TermFreq struct {
	Term string
	Freq uint8 // 1 to 255; more changes no score that anybody could see
}

// Analyze turns a memory into its forward index. It takes any valid UTF-8 and
// linear time. A title that only repeats a long first line counts nothing: it was
// made of it.
func Analyze(title, content string) Document {
	c := termCounterPool.Get().(*termCounter)
	defer termCounterPool.Put(c)
	c.countDoc(title, content)
	return c.document(nil)
}

// AnalyzeEncoded is Analyze(title, content).Encode(), for whoever only stores it.
func AnalyzeEncoded(title, content string) []byte {
	c := termCounterPool.Get().(*termCounter)
	defer termCounterPool.Put(c)
	c.countDoc(title, content)
	d := c.document(c.terms)
	c.terms = d.Terms
	return d.Encode()
}

// Encode gives the document's stored form: version byte, length and number of
// terms as uvarints, then each term in order: bytes shared with the one before
// (uvarint), number and text of the rest, frequency (one byte).
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

// DecodeDocument reads what Encode wrote, or gives ErrCorrupt.
func DecodeDocument(data []byte) (Document, error) {
	c := decoder{data: data}
	c.version()
	length := c.uvarint()
	count := c.count(3)
	if c.failed || length > maxDocLength {
		return Document{}, ErrCorrupt
	}
	terms, err := c.termFreqs(count)
	if err == nil {
		err = c.end()
	}
	if err != nil {
		return Document{}, err
	}
	return Document{uint32(length), terms}, nil
}

// maxDocLength bounds a document's length so that sums stay far from overflow.
const maxDocLength = 1 << 30

// termFreqs reads terms, each of which must come after the one before. All texts
// are parts of one.
func (c *decoder) termFreqs(count int) ([]TermFreq, error) {
	var arena strings.Builder
	arena.Grow(min(2*len(c.data), count*analysis.MaxTermBytes))
	terms, last := make([]TermFreq, count), ""
	for i := range terms {
		shared, n := c.uvarint(), c.uvarint()
		if shared > uint64(len(last)) || n > uint64(len(c.data)) || shared+n > analysis.MaxTermBytes {
			return nil, ErrCorrupt
		}
		rest, freq := c.bytes(int(n)), c.byte()
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
