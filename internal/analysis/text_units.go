package analysis

import (
	"math/bits"
	"unicode"
	"unicode/utf8"
)

// A textUnit is a sentence or a line, which is cut only if it is too long.
type textUnit struct {
	from, to, words, size int
	boundary              boundary
}

// boundary is the end of a unit. A better one to end a chunk is greater.
type boundary uint8

const (
	wordEnd boundary = iota
	sentenceEnd
	lineEnd
	paragraphEnd
)

// textUnits splits a text into sentences and lines, and splits those of more than most words. Words of ASCII, the most
// frequent ones, have a loop of their own.
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
		w.addUnit(len(s), paragraphEnd)
	}
	return w.list
}

// The classes of a byte.
const (
	byteWord     = iota
	byteStop     // the end of a sentence, part of its last word
	byteSpace    // within a line
	byteNewline  // the end of a line
	byteNonASCII // part of a character beyond ASCII
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

// nonASCII reads a character beyond ASCII.
func (w *unitScanner) nonASCII(s string, i int) int {
	r, n := utf8.DecodeRuneInString(s[i:])
	switch unsegmented := IsUnsegmented(r); {
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

// A unitScanner collects the units of a text. from is the start of the current unit, and words counts its words.
type unitScanner struct {
	list        []textUnit
	maxWords    int
	from, words int
	inWord      bool // the byte before belongs to the last word
}

// beginWord begins a word, in a new unit if the one before is full.
func (w *unitScanner) beginWord(i int) {
	if w.words == w.maxWords {
		w.addUnit(i, wordEnd)
	}
	w.words++
	w.inWord = true
}

// endUnit ends a unit after the white space that follows it. Two line ends are the end of a paragraph; lines counts
// those already read.
func (w *unitScanner) endUnit(s string, i, lines int) int {
	for i < len(s) && (s[i] == ' ' || '\t' <= s[i] && s[i] <= '\r') {
		if s[i] == '\n' {
			lines++
		}
		i++
	}
	end := sentenceEnd
	switch {
	case lines > 1 || i == len(s):
		end = paragraphEnd
	case lines == 1:
		end = lineEnd
	}
	w.addUnit(i, end)
	return i
}

func (w *unitScanner) addUnit(to int, end boundary) {
	w.list = append(w.list, textUnit{from: w.from, to: to, words: w.words, boundary: end})
	w.from, w.words, w.inWord = to, 0, false
}

// CountWords counts the words of s.
func CountWords(s string) (n int) {
	inside := false
	for _, r := range s {
		switch {
		case unicode.IsSpace(r):
			inside = false
		case IsUnsegmented(r):
			n, inside = n+1, false
		case !inside:
			n, inside = n+1, true
		}
	}
	return n
}

// MayExceedWords reports whether s may have more than n words, without a scan of its words. A separator is a byte up to
// the space, or one beyond ASCII. The highest bits of eight bytes are tested at once.
func MayExceedWords(s string, n int) bool {
	const each, top = 0x0101010101010101, 0x8080808080808080
	i := 0
	for ; len(s)-i >= 8 && n > 0; i += 8 {
		x := LoadUint64(s[i : i+8])
		n -= bits.OnesCount64((^((x | top) - (' '+1)*each) | x) & top)
	}
	for ; i < len(s) && n > 0; i++ {
		if s[i] <= ' ' || s[i] >= utf8.RuneSelf {
			n--
		}
	}
	return n <= 0
}
