package search

import (
	"math/bits"
	"strings"
	"unicode"
	"unicode/utf8"
)

// PassageVersion names the way in which texts are cut into passages: another way
// makes other vectors.
const PassageVersion = "p1"

// A passage ends at the best border after minWords words: shorter ones lose what
// they are about, and what the model reads at once is about meanWords long.
const (
	minWords  = 50
	maxWords  = 120
	meanWords = 90
)

// maxTitlePieces is how much of the room for a passage its title may take.
const maxTitlePieces = 40

// Passages cuts a memory into the texts that are embedded: whole paragraphs where
// that fits, else whole lines or sentences, of 50 to 120 words, the title in front
// of each, unless it was made of the first line, and at most MaxPieces pieces. A
// character of a script without spaces counts as a word. A memory has at least one
// passage, and every word of it is in one. What the model cannot read is not cut by
// its pieces: there is nothing to lose.
func Passages(title, content string, e Embedder) (out []string) {
	front, list := cutMemory(title, content, e)
	for _, x := range list {
		out = append(out, strings.TrimSpace(front+"\n"+strings.TrimSpace(content[x.from:x.to])))
	}
	if len(out) == 0 {
		out = append(out, front)
	}
	return out
}

// PassageStart is where in the content the nth passage begins, from 1 on.
func PassageStart(title, content string, n int, e Embedder) int {
	_, list := cutMemory(title, content, e)
	if n < 1 || n > len(list) {
		return 0
	}
	return list[n-1].from
}

// cutMemory is what stands in front of the passages, and where they are.
func cutMemory(title, content string, e Embedder) (front string, list []span) {
	pieces := func(s string) int { n, _ := e.Pieces(s); return n }
	if front = strings.TrimSpace(title); front != "" && repeats(front, content) {
		front = ""
	}
	for pieces(front) > maxTitlePieces {
		front = strings.TrimSpace(front[:middleOf(front)])
	}
	c := cutter{words: maxWords}
	if Readable(content, e) {
		c.size, c.most = pieces, MaxPieces-pieces(front)
	}
	return front, c.spans(content)
}

// A span is a passage of a text: from one byte to another, and its words.
type span struct{ from, to, words int }

// A cutter cuts texts into passages of so many words, and where size is not nil of
// so large a size.
type cutter struct {
	words int
	size  func(string) int
	most  int
}

// spans cuts a text into passages.
func (c cutter) spans(s string) (out []span) {
	list := atoms(s, c.words)
	if c.size != nil {
		list = c.measure(s, list)
	}
	for len(list) > 0 {
		n, words := c.run(list), 0
		for _, a := range list[:n] {
			words += a.words
		}
		if words > 0 || strings.TrimSpace(s[list[0].from:list[n-1].to]) != "" {
			out = append(out, span{list[0].from, list[n-1].to, words})
		}
		list = list[n:]
	}
	return out
}

// measure gives atoms their sizes, and parts those that are too large.
func (c cutter) measure(s string, list []atom) (out []atom) {
	for _, a := range list {
		a.size = c.size(s[a.from:a.to])
		middle := middleOf(s[a.from:a.to])
		if a.size <= c.most || middle == 0 {
			out = append(out, a)
			continue
		}
		text := s[a.from:a.to]
		first := atom{from: a.from, to: a.from + middle, words: wordsOf(text[:middle])}
		second := atom{from: first.to, to: a.to, words: wordsOf(text[middle:]), border: a.border}
		out = append(out, c.measure(s, []atom{first, second})...)
	}
	return out
}

// middleOf is the border between words, or else between characters, that is next
// to the middle of a text; zero if there is none.
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

// run is how many atoms make the next passage: up to the best border of those that
// leave it long enough, the last of them, or else as many as fit.
func (c cutter) run(list []atom) int {
	words, size, best, at := 0, 0, -1, 0
	for i, a := range list {
		words, size = words+a.words, size+a.size
		if i > 0 && (words > c.words || c.size != nil && size > c.most) {
			if best < 0 {
				return i
			}
			return at
		}
		if words >= minWords && a.border >= best {
			best, at = a.border, i+1
		}
	}
	return len(list)
}

// An atom is a sentence or a line, which is cut only if it is too long. border is
// what it ends with: 3 a paragraph, 2 a line, 1 a sentence, 0 a word.
type atom struct{ from, to, words, size, border int }

// atoms parts a text into sentences and lines, and those of more words than most
// into parts that have as many. Words of ASCII, which most are, are passed over in a
// loop of their own.
func atoms(s string, most int) []atom {
	w := atomizer{most: most, list: make([]atom, 0, len(s)/64+1)}
	for i := 0; i < len(s); {
		switch kind := marks[s[i]]; kind {
		case ofWord, ofStop:
			if !w.inside {
				w.word(i)
			}
			for i++; kind == ofWord && i < len(s) && marks[s[i]] == ofWord; i++ {
			}
			if kind == ofStop && (i == len(s) || s[i] == ' ') {
				i = w.end(s, i, 0)
			}
		case ofSpace:
			w.inside = false
			i++
		case ofLine:
			i = w.end(s, i+1, 1)
		default:
			i = w.wide(s, i)
		}
	}
	if w.from < len(s) {
		w.close(len(s), 3)
	}
	return w.list
}

// What a byte is to an atomizer.
const (
	ofWord  = iota
	ofStop  // of a sentence, whose last word it is a part of
	ofSpace // within a line
	ofLine  // the end of one
	beyond  // ASCII
)

var marks = func() (t [256]uint8) {
	for c := range t {
		switch {
		case c >= utf8.RuneSelf:
			t[c] = beyond
		case c == '\n':
			t[c] = ofLine
		case c == ' ' || '\t' <= c && c <= '\r':
			t[c] = ofSpace
		case c == '.' || c == '!' || c == '?':
			t[c] = ofStop
		}
	}
	return t
}()

// wide goes on by a character beyond ASCII.
func (w *atomizer) wide(s string, i int) int {
	r, n := utf8.DecodeRuneInString(s[i:])
	switch dense := isDense(r); {
	case unicode.IsSpace(r):
		w.inside = false
	case dense || !w.inside:
		w.word(i)
		w.inside = !dense
	}
	if i += n; endsSentence(r) {
		i = w.end(s, i, 0)
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

// An atomizer walks over a text.
type atomizer struct {
	list        []atom
	most        int
	from, words int
	inside      bool // a word
}

// word begins a word, in an atom of its own if the one before is full.
func (w *atomizer) word(i int) {
	if w.words == w.most {
		w.close(i, 0)
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
	border := 1
	switch {
	case lines > 1 || i == len(s):
		border = 3
	case lines == 1:
		border = 2
	}
	w.close(i, border)
	return i
}

func (w *atomizer) close(to, border int) {
	w.list = append(w.list, atom{from: w.from, to: to, words: w.words, border: border})
	w.from, w.words, w.inside = to, 0, false
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

// mayExceed reports whether s may have more than n words: at a glance, to spare
// short texts a cut. What parts words is no higher than a space, or beyond ASCII; of
// eight bytes at once the highest bits tell.
func mayExceed(s string, n int) bool {
	const each, top = 0x0101010101010101, 0x8080808080808080
	i := 0
	for ; len(s)-i >= 8 && n > 0; i += 8 {
		x := low8(s[i : i+8])
		n -= bits.OnesCount64((^((x | top) - (' '+1)*each) | x) & top)
	}
	for ; i < len(s) && n > 0; i++ {
		if s[i] <= ' ' || s[i] >= utf8.RuneSelf {
			n--
		}
	}
	return n <= 0
}
