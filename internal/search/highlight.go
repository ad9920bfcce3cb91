package search

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Bounds of highlights: snippets, characters in each, and how many found words
// are weighed.
const (
	maxSnippets  = 3
	snippetRunes = 240
	maxSpots     = 512
)

// A Reading is where the words of a query stand in a text.
type Reading struct {
	text  string
	spots []spot
	start int // of what is shown where no word stands
}

// Empty reports that no word of the query stands in the text.
func (r Reading) Empty() bool { return len(r.spots) == 0 }

// From is the reading with another place to show where no word stands.
func (r Reading) From(start int) Reading {
	r.start = start
	return r
}

// spot is where a word of the query stands in the text, in bytes, and which of
// the word's terms stand there, a bit for each.
type spot struct {
	from, to, group int
	terms           uint64
}

// Read looks for the words of a query in a text, up to maxSpots of them.
func (q Query) Read(text string) Reading { return q.Reader().read(text) }

// A Reader reads texts for the words of one query, one after another.
type Reader struct {
	query Query
	words analyzer
	spots []spot
}

// Reader returns a reader of texts for the words of the query.
func (q Query) Reader() *Reader {
	r := &Reader{query: q, words: analyzer{roots: q.roots}}
	r.words.emit = r.see
	return r
}

func (r *Reader) read(text string) Reading {
	r.spots, r.words.stop = nil, false
	r.words.analyze(text)
	return Reading{text: text, spots: r.spots}
}

// see marks a term of the text that is one of the query's.
func (r *Reader) see(term []byte, _ role) {
	if i, ok := r.query.place[string(term)]; ok {
		r.mark(i)
	}
	for _, i := range r.query.families {
		if r.query.terms[i].kin.admits(term) {
			r.mark(i)
		}
	}
}

// mark notes that term number i stands here, with others of its word in one spot.
func (r *Reader) mark(i int) {
	from, to := r.words.place()
	group := r.query.terms[i].group
	bit := uint64(1) << (i - r.query.first[group])
	for n := len(r.spots); n > 0 && r.spots[n-1].from == from && r.spots[n-1].to == to; n-- {
		if s := &r.spots[n-1]; s.group == group {
			s.terms |= bit
			return
		}
	}
	if len(r.spots) < maxSpots {
		r.spots = append(r.spots, spot{from, to, group, bit})
	}
	r.words.stop = len(r.spots) == maxSpots
}

// Covered counts the words of the query that a memory holds.
func (t *Text) Covered() int {
	seen := map[int]bool{}
	for _, list := range [][]spot{t.Title.spots, t.Content.spots} {
		for _, s := range list {
			seen[s.group] = true
		}
	}
	return len(seen)
}

// Highlights cuts up to three snippets of at most 240 characters from the text,
// the one with most of the query's words first, in the text's own spelling. If
// none of them occurs, the only snippet is the beginning, or what From names.
func (r Reading) Highlights() []string {
	text, spots := r.text, slices.Clone(r.spots)
	if len(spots) == 0 {
		if s := snippet(text, r.start, r.start); s != "" {
			return []string{s}
		}
		return nil
	}
	var out []string
	for len(spots) > 0 && len(out) < maxSnippets {
		i, j := bestWindow(text, spots)
		from, to := widen(text, spots[i].from, spots[j].to)
		out = append(out, strings.TrimSpace(text[from:to]))
		spots = slices.DeleteFunc(spots, func(s spot) bool { return s.from < to && s.to > from })
	}
	return out
}

// bestWindow finds the run of spots that fits a snippet and shows most of the
// query's words, then most spots; the earlier wins.
func bestWindow(text string, spots []spot) (first, last int) {
	starts, ends := runeOffsets(text, spots)
	groups := 0
	for _, s := range spots {
		groups = max(groups, s.group+1)
	}
	best, shown := -1, make([]int, groups) // shown[g] is i+1 if the run from i on shows word g
	for i := range spots {
		words, end := 0, 0
		for j := i; j < len(spots); j++ {
			if end = max(end, ends[j]); j > i && end-starts[i] > snippetRunes {
				break
			}
			if g := spots[j].group; shown[g] != i+1 {
				shown[g] = i + 1
				words++
			}
			if n := words*maxSpots + j - i; n > best {
				best, first, last = n, i, j
			}
		}
	}
	return first, last
}

// runeOffsets tells at which characters spots begin and end.
func runeOffsets(text string, spots []spot) (starts, ends []int) {
	starts, ends = make([]int, len(spots)), make([]int, len(spots))
	at, runes := 0, 0
	for i, s := range spots {
		if s.from >= at {
			runes += utf8.RuneCountInString(text[at:s.from])
			starts[i] = runes
		} else {
			starts[i] = runes - utf8.RuneCountInString(text[s.from:at])
		}
		at, runes = s.from, starts[i]
		ends[i] = runes + utf8.RuneCountInString(text[s.from:s.to])
	}
	return starts, ends
}

// widen grows a range to a snippet: a quarter of the room before it, the rest
// behind, cut between words.
func widen(text string, from, to int) (int, int) {
	room := snippetRunes - utf8.RuneCountInString(text[from:to])
	if room < 0 {
		return from, lastBorder(text, from, from+forward(text[from:], snippetRunes))
	}
	back := backward(text[:from], room/4)
	start := from - back
	if start > 0 {
		start += toWord(text[start:from])
		for ; start < from && !begins(text[start:]); start += forward(text[start:], 1) {
		}
	}
	room -= utf8.RuneCountInString(text[start:from])
	end := to + forward(text[to:], room)
	if end < len(text) {
		end = lastBorder(text, to, to+wordEnd(text[to:end]))
	}
	return start, end
}

// begins reports whether s begins with a character, and not with a mark or a letter
// that is one with what stands before.
func begins(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return norm.NFKC.PropertiesString(s).BoundaryBefore() && !unicode.Is(unicode.M, r)
}

// lastBorder is the last place between two characters beyond least up to at,
// or at if there is none.
func lastBorder(text string, least, at int) int {
	for i := at; i > least; i -= backward(text[:i], 1) {
		if i == len(text) || begins(text[i:]) {
			return i
		}
	}
	return at
}

func snippet(text string, from, to int) string {
	from, to = widen(text, from, to)
	return strings.TrimSpace(text[from:to])
}

// forward is the size of the first n characters of s.
func forward(s string, n int) int {
	for i := range s {
		if n == 0 {
			return i
		}
		n--
	}
	return len(s)
}

// backward is the size of the last n characters of s.
func backward(s string, n int) int {
	size := 0
	for ; n > 0 && size < len(s); n-- {
		_, k := utf8.DecodeLastRuneInString(s[:len(s)-size])
		size += k
	}
	return size
}

// toWord is how much of s to drop so that it begins with a whole word; nothing
// where no space is near.
func toWord(s string) int {
	if i := strings.IndexFunc(s, unicode.IsSpace); i >= 0 {
		return i
	}
	return 0
}

// wordEnd is how much of s to keep so that it ends with a whole word.
func wordEnd(s string) int {
	if i := strings.LastIndexFunc(s, unicode.IsSpace); i > 0 {
		return i
	}
	return len(s)
}
