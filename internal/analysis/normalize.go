package analysis

import (
	"slices"
	"unicode"
	"unicode/utf8"
)

// NormalizedWords returns the words of texts in order. They are in normal form and one letter case, each between
// spaces: " one two ". A character of a script without spaces is a word. It takes linear time.
func NormalizedWords(texts ...string) string {
	r := wordNormalizer{out: []byte{' '}}
	var low []byte
	for _, t := range texts {
		if HasNonASCII(t) {
			t = normalizeStart(t)
		}
		low = FoldCase(low[:0], t)
		r.add(low)
	}
	return string(r.out)
}

// A wordNormalizer writes words. It ends each with a space.
type wordNormalizer struct {
	out                 []byte
	inWord, unsegmented bool // within a word; which is one character
}

// add writes the words of a text.
func (w *wordNormalizer) add(low []byte) {
	w.out = slices.Grow(w.out, len(low)+1)
	for i := 0; i < len(low); {
		r, n := rune(low[i]), 1
		switch {
		case r >= utf8.RuneSelf:
			r, n = utf8.DecodeRune(low[i:])
			w.addNonASCII(r, low[i:i+n])
		case byteClass[r]&Alnum == 0:
			w.endWord()
		default:
			w.beginRune(false)
			w.out = append(w.out, low[i])
		}
		i += n
	}
	w.endWord()
}

// addNonASCII writes a character beyond ASCII. A mark belongs to the character before it.
func (w *wordNormalizer) addNonASCII(r rune, text []byte) {
	switch {
	case !IsWordRune(r):
		w.endWord()
		return
	case !unicode.Is(unicode.M, r):
		w.beginRune(IsUnsegmented(r))
	case !w.inWord:
		return
	}
	w.out = append(w.out, text...)
}

// beginRune begins another word if necessary.
func (w *wordNormalizer) beginRune(unsegmented bool) {
	if unsegmented || w.unsegmented {
		w.endWord()
	}
	w.inWord, w.unsegmented = true, unsegmented
}

func (w *wordNormalizer) endWord() {
	if w.inWord {
		w.out = append(w.out, ' ')
	}
	w.inWord, w.unsegmented = false, false
}
