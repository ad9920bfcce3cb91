package search

import (
	"math/bits"
	"strings"
	"unicode"
	"unicode/utf8"
)

// ChunkVersion names the way in which texts are cut into passages: another way
// makes other vectors.
const ChunkVersion = "p1"

// A passage ends at the best border after minWords words: shorter ones lose what
// they are about, and what the model reads at once is about meanWords long.
const (
	minChunkWords  = 50
	maxChunkWords  = 120
	meanChunkWords = 90
)

// maxTitleTokens is how much of the room for a passage its title may take.
const maxTitleTokens = 40

// Chunks cuts a memory into the texts that are embedded: whole paragraphs where
// that fits, else whole lines or sentences, of 50 to 120 words, the title in front
// of each, unless it was made of the first line, and at most MaxPieces pieces. A
// character of a script without spaces counts as a word. A memory has at least one
// passage, and every word of it is in one. What the model cannot read is not cut by
// its pieces: there is nothing to lose.
func Chunks(title, content string, e Embedder) (out []string) {
	front, list := chunkMemory(title, content, e)
	for _, x := range list {
		out = append(out, strings.TrimSpace(front+"\n"+strings.TrimSpace(content[x.from:x.to])))
	}
	if len(out) == 0 {
		out = append(out, front)
	}
	return out
}

// ChunkStart is where in the content the nth passage begins, from 1 on.
func ChunkStart(title, content string, n int, e Embedder) int {
	_, list := chunkMemory(title, content, e)
	if n < 1 || n > len(list) {
		return 0
	}
	return list[n-1].from
}

// chunkMemory is what stands in front of the passages, and where they are.
func chunkMemory(title, content string, e Embedder) (front string, list []chunkSpan) {
	pieces := func(s string) int { n, _ := e.Pieces(s); return n }
	if front = strings.TrimSpace(title); front != "" && titleRepeatsContent(front, content) {
		front = ""
	}
	for pieces(front) > maxTitleTokens {
		front = strings.TrimSpace(front[:middleBoundary(front)])
	}
	c := chunker{words: maxChunkWords}
	if Readable(content, e) {
		c.size, c.maxSize = pieces, MaxChunkTokens-pieces(front)
	}
	return front, c.split(content)
}

// A chunkSpan is a passage of a text: from one byte to another, and its words.
type chunkSpan struct{ from, to, words int }

// A chunker cuts texts into passages of so many words, and where size is not nil of
// so large a size.
type chunker struct {
	words   int
	size    func(string) int
	maxSize int
}

// split cuts a text into passages.
func (c chunker) split(s string) (out []chunkSpan) {
	list := textUnits(s, c.words)
	if c.size != nil {
		list = c.measureUnits(s, list)
	}
	for len(list) > 0 {
		n, words := c.nextChunk(list), 0
		for _, a := range list[:n] {
			words += a.words
		}
		if words > 0 || strings.TrimSpace(s[list[0].from:list[n-1].to]) != "" {
			out = append(out, chunkSpan{list[0].from, list[n-1].to, words})
		}
		list = list[n:]
	}
	return out
}

// measureUnits gives atoms their sizes, and parts those that are too large.
func (c chunker) measureUnits(s string, list []textUnit) (out []textUnit) {
	for _, a := range list {
		a.size = c.size(s[a.from:a.to])
		middle := middleBoundary(s[a.from:a.to])
		if a.size <= c.maxSize || middle == 0 {
			out = append(out, a)
			continue
		}
		text := s[a.from:a.to]
		first := textUnit{from: a.from, to: a.from + middle, words: countWords(text[:middle])}
		second := textUnit{from: first.to, to: a.to, words: countWords(text[middle:]), boundary: a.boundary}
		out = append(out, c.measureUnits(s, []textUnit{first, second})...)
	}
	return out
}

// middleBoundary is the border between words, or else between characters, that is next
// to the middle of a text; zero if there is none.
func middleBoundary(s string) int {
	half := len(s) / 2
	if before := strings.LastIndexFunc(s[:half], unicode.IsSpace); before > len(s)/4 {
		return before
	}
	for half > 0 && !utf8.RuneStart(s[half]) {
		half--
	}
	return half
}

// nextChunk is how many atoms make the next passage: up to the best border of those that
// leave it long enough, the last of them, or else as many as fit.
func (c chunker) nextChunk(list []textUnit) int {
	words, size, best, at := 0, 0, -1, 0
	for i, a := range list {
		words, size = words+a.words, size+a.size
		if i > 0 && (words > c.words || c.size != nil && size > c.maxSize) {
			if best < 0 {
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

// An textUnit is a sentence or a line, which is cut only if it is too long. border is
// what it ends with: 3 a paragraph, 2 a line, 1 a sentence, 0 a word.
type textUnit struct{ from, to, words, size, boundary int }

// textUnits parts a text into sentences and lines, and those of more words than most
// into parts that have as many. Words of ASCII, which most are, are passed over in a
// loop of their own.
func textUnits(s string, most int) []textUnit {
	w := unitScanner{maxWords: most, list: make([]textUnit, 0, len(s)/64+1)}
	for i := 0; i < len(s); {
		switch kind := chunkByteClass[s[i]]; kind {
		case byteWord, byteStop:
			if !w.inWord {
				w.beginWord(i)
			}
			for i++; kind == byteWord && i < len(s) && chunkByteClass[s[i]] == byteWord; i++ {
			}
			if kind == byteStop && (i == len(s) || s[i] == ' ') {
				i = w.endUnit(s, i, 0)
			}
		case byteSpace:
			w.inWord = false
			i++
		case byteNewline:
			i = w.endUnit(s, i+1, 1)
		default:
			i = w.nonASCII(s, i)
		}
	}
	if w.from < len(s) {
		w.addUnit(len(s), 3)
	}
	return w.list
}

// What a byte is to an atomizer.
const (
	byteWord     = iota
	byteStop     // of a sentence, whose last word it is a part of
	byteSpace    // within a line
	byteNewline  // the end of one
	byteNonASCII // ASCII
)

var chunkByteClass = func() (t [256]uint8) {
	for c := range t {
		switch {
		case c >= utf8.RuneSelf:
			t[c] = byteNonASCII
		case c == '\n':
			t[c] = byteNewline
		case c == ' ' || '\t' <= c && c <= '\r':
			t[c] = byteSpace
		case c == '.' || c == '!' || c == '?':
			t[c] = byteStop
		}
	}
	return t
}()

// nonASCII goes on by a character beyond ASCII.
func (w *unitScanner) nonASCII(s string, i int) int {
	r, n := utf8.DecodeRuneInString(s[i:])
	switch unsegmented := isUnsegmented(r); {
	case unicode.IsSpace(r):
		w.inWord = false
	case unsegmented || !w.inWord:
		w.beginWord(i)
		w.inWord = !unsegmented
	}
	if i += n; endsSentence(r) {
		i = w.endUnit(s, i, 0)
	}
	return i
}

func endsSentence(r rune) bool {
	switch r {
	case '。', '！', '？', '｡', '؟', '۔', '।':
		return true
	}
	return false
}

// An unitScanner walks over a text.
type unitScanner struct {
	list        []textUnit
	maxWords    int
	from, words int
	inWord      bool // a word
}

// beginWord begins a word, in an atom of its own if the one before is full.
func (w *unitScanner) beginWord(i int) {
	if w.words == w.maxWords {
		w.addUnit(i, 0)
	}
	w.words++
	w.inWord = true
}

// endUnit closes an atom after the white space that follows it. Two ends of lines are
// the end of a paragraph; so many were there already.
func (w *unitScanner) endUnit(s string, i, lines int) int {
	for i < len(s) && (s[i] == ' ' || '\t' <= s[i] && s[i] <= '\r') {
		if s[i] == '\n' {
			lines++
		}
		i++
	}
	boundary := 1
	switch {
	case lines > 1 || i == len(s):
		boundary = 3
	case lines == 1:
		boundary = 2
	}
	w.addUnit(i, boundary)
	return i
}

func (w *unitScanner) addUnit(to, boundary int) {
	w.list = append(w.list, textUnit{from: w.from, to: to, words: w.words, boundary: boundary})
	w.from, w.words, w.inWord = to, 0, false
}

// countWords counts the words of s.
func countWords(s string) (n int) {
	inside := false
	for _, r := range s {
		switch {
		case unicode.IsSpace(r):
			inside = false
		case isUnsegmented(r):
			n, inside = n+1, false
		case !inside:
			n, inside = n+1, true
		}
	}
	return n
}

// mayExceedWords reports whether s may have more than n words: at a glance, to spare
// short texts a cut. What parts words is no higher than a space, or beyond ASCII; of
// eight bytes at once the highest bits tell.
func mayExceedWords(s string, n int) bool {
	const each, top = 0x0101010101010101, 0x8080808080808080
	i := 0
	for ; len(s)-i >= 8 && n > 0; i += 8 {
		x := loadUint64(s[i : i+8])
		n -= bits.OnesCount64((^((x | top) - (' '+1)*each) | x) & top)
	}
	for ; i < len(s) && n > 0; i++ {
		if s[i] <= ' ' || s[i] >= utf8.RuneSelf {
			n--
		}
	}
	return n <= 0
}
