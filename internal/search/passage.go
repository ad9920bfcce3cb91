package search

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// PassageVersion names the way in which texts are cut into passages: another way
// makes other vectors.
const PassageVersion = "p1"

// A passage ends at the first border after minWords words, and has at most
// maxWords. Measured in "retrieval": shorter ones lose what they are about, and
// of longer ones the model remembers the beginning.
const (
	minWords = 50
	maxWords = 120
)

// maxTitleWords is how many words of a title stand in front of each passage.
const maxTitleWords = 24

// Passages cuts a memory into the texts that are embedded: whole paragraphs where
// that fits, else whole sentences or lines, of 50 to 120 words, the title in
// front of each. A character of a script without spaces counts as a word. What
// has more than MaxPieces pieces is cut further. A memory has at least one
// passage, and every word of it is in one.
func Passages(title, content string, e Embedder) []string {
	whole := strings.TrimSpace(title)
	if title = strings.TrimSpace(title[:headOf(title, maxTitleWords)]); repeats(whole, content) {
		title = ""
	}
	var out []string
	for _, x := range spans(content) {
		out = fit(out, title, strings.TrimSpace(content[x.from:x.to]), e)
	}
	if len(out) == 0 {
		out = append(out, whole)
	}
	return out
}

// fit appends a passage with its title, in halves where it has too many pieces.
func fit(out []string, title, text string, e Embedder) []string {
	whole := strings.TrimSpace(title + "\n" + text)
	if n, _ := e.Pieces(whole); n <= MaxPieces {
		return append(out, whole)
	}
	if n, _ := e.Pieces(title); n > MaxPieces/2 {
		title = ""
	}
	middle := middleOf(text)
	if middle == 0 || middle == len(text) {
		return append(out, whole) // one character of very many pieces
	}
	return fit(fit(out, title, strings.TrimSpace(text[:middle]), e), title, strings.TrimSpace(text[middle:]), e)
}

// middleOf is the border between words, or else between characters, that is next
// to the middle of a text.
func middleOf(s string) int {
	half := len(s) / 2
	if before := strings.LastIndexFunc(s[:half], unicode.IsSpace); before > len(s)/4 {
		return before
	}
	for half > 0 && !utf8.RuneStart(s[half]) {
		half--
	}
	return half
}

// An atom is a sentence or a line, which is cut only if it is too long.
type atom struct {
	from, to, words int
	last            bool // of its paragraph
}

// A span is a passage of a text: from one byte to another, and its words.
type span struct{ from, to, words int }

// spans parts a text into passages.
func spans(s string) (out []span) {
	list := atoms(s)
	for len(list) > 0 {
		n, words := run(list), 0
		for _, a := range list[:n] {
			words += a.words
		}
		if words > 0 {
			out = append(out, span{list[0].from, list[n-1].to, words})
		}
		list = list[n:]
	}
	return out
}

// run is how many atoms make the next passage.
func run(list []atom) int {
	words, paragraph := 0, 0
	for i, a := range list {
		if i > 0 && words+a.words > maxWords {
			if paragraph > 0 {
				return paragraph
			}
			return i
		}
		if words += a.words; a.last && words >= minWords {
			paragraph = i + 1
		}
	}
	return len(list)
}

// atoms parts a text into sentences and lines, and those of more than maxWords
// words into parts that have as many.
func atoms(s string) []atom {
	w := atomizer{list: make([]atom, 0, len(s)/64+1)}
	for i := 0; i < len(s); {
		r, n := rune(s[i]), 1
		if r >= utf8.RuneSelf {
			r, n = utf8.DecodeRuneInString(s[i:])
		}
		switch {
		case r == '\n':
			i = w.end(s, i+n, 1)
			continue
		case r == ' ', r < utf8.RuneSelf && '\t' <= r && r <= '\r', r >= utf8.RuneSelf && unicode.IsSpace(r):
			w.inside = false
		case r >= utf8.RuneSelf && isDense(r):
			w.word(i)
			w.inside = false
		case !w.inside:
			w.word(i)
		}
		i += n
		if r < utf8.RuneSelf && (r == '.' || r == '!' || r == '?') && (i == len(s) || s[i] == ' ') || r >= utf8.RuneSelf && endsSentence(r) {
			i = w.end(s, i, 0)
		}
	}
	if w.from < len(s) {
		w.close(len(s), true)
	}
	return w.list
}

func endsSentence(r rune) bool {
	switch r {
	case '。', '！', '？', '｡', '؟', '۔', '।':
		return true
	}
	return false
}

// An atomizer walks over a text.
type atomizer struct {
	list        []atom
	from, words int
	inside      bool // a word
}

// word begins a word, in an atom of its own if the one before is full.
func (w *atomizer) word(i int) {
	if w.words == maxWords {
		w.close(i, false)
	}
	w.words++
	w.inside = true
}

// end closes an atom after the white space that follows it. Two ends of lines are
// the end of a paragraph; so many were there already.
func (w *atomizer) end(s string, i, lines int) int {
	for i < len(s) && (s[i] == ' ' || '\t' <= s[i] && s[i] <= '\r') {
		if s[i] == '\n' {
			lines++
		}
		i++
	}
	w.close(i, lines > 1 || i == len(s))
	return i
}

func (w *atomizer) close(to int, last bool) {
	w.list = append(w.list, atom{w.from, to, w.words, last})
	w.from, w.words, w.inside = to, 0, false
}

// headOf is the size of the first n words of s, with the white space after them.
func headOf(s string, n int) int {
	inside := false
	for i, r := range s {
		switch {
		case unicode.IsSpace(r):
			inside = false
			continue
		case isDense(r):
			n, inside = n-1, false
		case !inside:
			n, inside = n-1, true
		}
		if n < 0 {
			return i
		}
	}
	return len(s)
}

// wordsOf counts the words of s.
func wordsOf(s string) (n int) {
	inside := false
	for _, r := range s {
		switch {
		case unicode.IsSpace(r):
			inside = false
		case isDense(r):
			n, inside = n+1, false
		case !inside:
			n, inside = n+1, true
		}
	}
	return n
}
