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
func atoms(s string) (list []atom) {
	for from := 0; from < len(s); {
		to, last := sentenceEnd(s[from:])
		for end := from + to; from < end; {
			n := headOf(s[from:end], maxWords)
			a := atom{from: from, to: from + n, words: wordsOf(s[from : from+n])}
			a.last = last && a.to == end
			list = append(list, a)
			from = a.to
		}
	}
	return list
}

// sentenceEnd is where the first sentence or line of s ends, with the white space
// after it, and whether its paragraph ends there too.
func sentenceEnd(s string) (n int, last bool) {
	for i, r := range s {
		end := i + utf8.RuneLen(r)
		switch {
		case r == '\n':
		case strings.ContainsRune("。！？｡؟۔।", r):
		case strings.ContainsRune(".!?", r) && (end == len(s) || s[end] == ' '):
		default:
			continue
		}
		rest := strings.TrimLeftFunc(s[end:], unicode.IsSpace)
		n = len(s) - len(rest)
		return n, strings.Count(s[i:n], "\n") > 1
	}
	return len(s), true
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
