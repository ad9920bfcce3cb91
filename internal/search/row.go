package search

import (
	"slices"
	"unicode"
	"unicode/utf8"
)

// Row is the words of texts in their order, as a search sees them: in normal form and
// in one letter case, each between spaces, " one two ". A character of a script
// without spaces is a word. It takes linear time.
func Row(texts ...string) string {
	r := rower{row: []byte{' '}}
	var low []byte
	for _, t := range texts {
		if beyondASCII(t) {
			t = normal(t)
		}
		low = foldCase(low[:0], t)
		r.add(low)
	}
	return string(r.row)
}

// A rower writes words. It ends each with a space.
type rower struct {
	row         []byte
	open, dense bool // within a word; which is one character
}

// add writes the words of a text.
func (w *rower) add(low []byte) {
	w.row = slices.Grow(w.row, len(low)+1)
	for i := 0; i < len(low); {
		r, n := rune(low[i]), 1
		switch {
		case r >= utf8.RuneSelf:
			r, n = utf8.DecodeRune(low[i:])
			w.wide(r, low[i:i+n])
		case class[r]&alnum == 0:
			w.end()
		default:
			w.letter(false)
			w.row = append(w.row, low[i])
		}
		i += n
	}
	w.end()
}

// wide writes a character beyond ASCII. A mark belongs to what it stands upon.
func (w *rower) wide(r rune, text []byte) {
	switch {
	case !isWord(r):
		w.end()
		return
	case !unicode.Is(unicode.M, r):
		w.letter(isDense(r))
	case !w.open:
		return
	}
	w.row = append(w.row, text...)
}

// letter begins another word where it has to.
func (w *rower) letter(dense bool) {
	if dense || w.dense {
		w.end()
	}
	w.open, w.dense = true, dense
}

func (w *rower) end() {
	if w.open {
		w.row = append(w.row, ' ')
	}
	w.open, w.dense = false, false
}
