package analysis

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A chunk ends at the best boundary after minChunkWords words, because shorter ones lose their subject. Embedded chunks
// have at most MaxChunkWords words, of which the model reads about 90. Keyword rescoring cuts at RescoringChunkWords.
const (
	minChunkWords       = 50
	MaxChunkWords       = 120
	RescoringChunkWords = 90
)

// A Span is the byte range of a chunk in a text, and the number of its words.
type Span struct{ From, To, Words int }

// A Chunker cuts texts into chunks of at most MaxWords words. If Size is not nil, the size of each is at most MaxSize.
type Chunker struct {
	MaxWords int
	Size     func(string) int
	MaxSize  int
}

// Split cuts a text into chunks.
func (c Chunker) Split(s string) (out []Span) {
	list := textUnits(s, c.MaxWords)
	if c.Size != nil {
		list = c.measureUnits(s, list)
	}
	for len(list) > 0 {
		n, words := c.nextChunk(list), 0
		for _, a := range list[:n] {
			words += a.words
		}
		if words > 0 || strings.TrimSpace(s[list[0].from:list[n-1].to]) != "" {
			out = append(out, Span{list[0].from, list[n-1].to, words})
		}
		list = list[n:]
	}
	return out
}

// measureUnits sets the sizes of units, and splits those that are too large.
func (c Chunker) measureUnits(s string, list []textUnit) (out []textUnit) {
	for _, a := range list {
		text, middle := s[a.from:a.to], 0
		if a.size = c.Size(text); a.size > c.MaxSize {
			middle = MiddleBoundary(text)
		}
		if middle == 0 {
			out = append(out, a)
			continue
		}
		first := textUnit{from: a.from, to: a.from + middle, words: CountWords(text[:middle])}
		second := textUnit{from: first.to, to: a.to, words: CountWords(text[middle:]), boundary: a.boundary}
		out = append(out, c.measureUnits(s, []textUnit{first, second})...)
	}
	return out
}

// MiddleBoundary returns the last boundary between words in the second quarter of a text. Without one it returns the
// boundary between characters before the middle, or 0.
func MiddleBoundary(s string) int {
	half := len(s) / 2
	if before := strings.LastIndexFunc(s[:half], unicode.IsSpace); before > len(s)/4 {
		return before
	}
	for half > 0 && !utf8.RuneStart(s[half]) {
		half--
	}
	return half
}

// nextChunk returns the number of units in the next chunk. It ends at the last of the best boundaries that leave it
// long enough, or else where it is full.
func (c Chunker) nextChunk(list []textUnit) int {
	words, size, best, at := 0, 0, wordEnd, 0
	for i, a := range list {
		words, size = words+a.words, size+a.size
		if i > 0 && (words > c.MaxWords || c.Size != nil && size > c.MaxSize) {
			if at == 0 {
				return i
			}
			return at
		}
		if words >= minChunkWords && a.boundary >= best {
			best, at = a.boundary, i+1
		}
	}
	return len(list)
}
