package analysis

import (
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

// textUnits splits a text into sentences and lines, and splits those of more than most words.
func textUnits(s string, most int) []textUnit {
	w := unitScanner{maxWords: most, list: make([]textUnit, 0, len(s)/64+1)}
	for i := 0; i < len(s); {
		if w.inWord && byteClass[s[i]]&Alnum != 0 { // most bytes
			i++
			continue
		}
		r, n := rune(s[i]), 1
		if r >= utf8.RuneSelf {
			r, n = utf8.DecodeRuneInString(s[i:])
		}
		switch unsegmented := IsUnsegmented(r); {
		case unicode.IsSpace(r):
			w.inWord = false
		case unsegmented || !w.inWord:
			w.beginWord(i)
			w.inWord = !unsegmented
		}
		i += n
		if r == '\n' {
			i = w.endUnit(s, i, 1)
		} else if endsSentence(r, s[i:]) {
			i = w.endUnit(s, i, 0)
		}
	}
	if w.from < len(s) {
		w.addUnit(len(s), paragraphEnd)
	}
	return w.list
}

// endsSentence reports whether a sentence ends with r, before the text after it.
func endsSentence(r rune, after string) bool {
	switch r {
	case '.', '!', '?':
		return after == "" || after[0] == ' '
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
