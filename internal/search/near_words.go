package search

import (
	"math/bits"
	"slices"
	"sync"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// shingler cuts a text into words and names every few neighbours by one hash. It
// hands the hashes on in blocks, so that a text of any size takes the same room.
type shingler struct {
	take         func(shingles []uint64)
	looks        *[looksLimit]look
	words        int
	last, before uint64 // the hashes of the two words before
	made, used   int    // shingles in all, and in the block
	block        [256]uint64
	seen         []look // the characters of a run
	knots        bool   // one of them is a knot
	low          []byte
}

// How many words make a shingle. Of single words strangers have too many in
// common, and a typo breaks as many shingles as a shingle has words.
const (
	wordWide = 2
	signWide = 3 // of characters of scripts without spaces
)

// 64-bit FNV-1a.
const (
	fnvStart = 14695981039346656037
	fnvPrime = 1099511628211
)

// keepRun bounds the characters that a pooled shingler keeps room for.
const keepRun = 1 << 13

// walk hands on all shingles of s, in linear time.
func (g *shingler) walk(s string) {
	g.words, g.last, g.before, g.made, g.used = 0, 0, 0, 0, 0
	for i := 0; i < len(s); {
		hash, j := uint64(fnvStart), i
		for j < len(s) && class[s[j]]&alnum != 0 {
			c := s[j]
			hash = (hash ^ uint64(c|class[c]&upper<<4)) * fnvPrime
			j++
		}
		switch {
		case j < len(s) && class[s[j]] == wide:
			i = g.wide(s, i)
		case j == i:
			i++
		default:
			g.word(hash, wordWide)
			i = j
		}
	}
	if g.made == 0 && g.words > 0 {
		g.add(g.last ^ bits.RotateLeft64(g.before, 32))
	}
	g.take(g.block[:g.used])
	if cap(g.seen) > keepRun {
		g.seen, g.low = nil, nil
	}
}

// wide takes the run of word characters that begins at i and returns
// where the text goes on.
func (g *shingler) wide(s string, i int) int {
	j := i + g.collect(s[i:], false)
	if j == i {
		_, n := utf8.DecodeRuneInString(s[i:])
		return i + n
	}
	if g.knots {
		n := norm.NFKC.String(s[i:j])
		g.collect(n, true)
		if g.knots {
			g.low = foldCase(g.low[:0], n)
			g.collect(string(g.low), true)
		}
	}
	g.run()
	return j
}

// collect looks up the characters at the start of s and returns their size: up to
// a blank one, or of a settled text, which is in normal form, all. There knots are
// only what folding may change.
func (g *shingler) collect(s string, settled bool) (size int) {
	g.seen, g.knots = g.seen[:0], false
	if settled {
		g.seen = slices.Grow(g.seen, utf8.RuneCountInString(s)) // normal form may be many times as long as its text
	}
	for size < len(s) {
		r, n := utf8.DecodeRuneInString(s[size:])
		l := g.look(r)
		switch {
		case l.kind == blank && !settled:
			return size
		case l.kind == knot && settled && isDense(r):
			l.kind = sign
		case l.kind == knot:
			g.knots = true
		}
		g.seen = append(g.seen, l)
		size += n
	}
	return size
}

// run takes the words of the characters collected.
func (g *shingler) run() {
	hash, open := uint64(fnvStart), false
	for _, l := range g.seen {
		if l.kind == char || l.kind == knot {
			hash, open = (hash^uint64(l.folded))*fnvPrime, true
			continue
		}
		if open {
			g.word(hash, wordWide)
			hash, open = fnvStart, false
		}
		if l.kind == sign {
			g.word((fnvStart^uint64(l.folded))*fnvPrime, signWide)
		}
	}
	if open {
		g.word(hash, wordWide)
	}
}

// word takes the next word and makes a shingle of it and those before, many
// words in all.
func (g *shingler) word(hash uint64, many int) {
	switch {
	case g.words < many-1:
	case many == wordWide:
		g.add(hash ^ bits.RotateLeft64(g.last, 32))
	default:
		g.add(hash ^ bits.RotateLeft64(g.last, 21) ^ bits.RotateLeft64(g.before, 42))
	}
	g.before, g.last = g.last, hash
	g.words++
}

func (g *shingler) add(shingle uint64) {
	if g.used == len(g.block) {
		g.take(g.block[:])
		g.used = 0
	}
	g.block[g.used] = mix(shingle)
	g.used++
	g.made++
}

// kind is what a character is to a shingler.
type kind uint8

const (
	blank kind = iota // parts words
	char              // part of a word
	sign              // a word of its own
	knot              // may become something else in normal form or beside others
)

// look is a character folded, and its kind.
type look struct {
	folded rune
	kind   kind
}

// look says what a character is; folding those at looksLimit and beyond needs
// their neighbours.
func (g *shingler) look(r rune) look {
	switch {
	case r < looksLimit:
		return g.looks[r]
	case r >= 0x4E00 && r <= 0x9FFF, r >= 0xAC00 && r <= 0xD7A3, r >= 0x3041 && r <= 0x3096,
		r >= 0x30A1 && r <= 0x30FA, r == 'ー':
		return look{r, sign}
	case r >= 0xFF01 && r <= 0xFF0F || r == 0xFF1A || r == 0xFF1B || r == 0xFF1F || !isWritten(r):
		return look{r, blank}
	}
	return look{r, knot}
}

const looksLimit = 0x2000

var looks = sync.OnceValue(func() *[looksLimit]look {
	var t [looksLimit]look
	for r := range rune(looksLimit) {
		s := string(r)
		low := foldCase(nil, s)
		folded, n := utf8.DecodeRune(low)
		t[r].folded = r
		switch {
		case !isWritten(r):
		case !norm.NFKC.IsNormalString(s), !norm.NFKC.PropertiesString(s).BoundaryBefore(), n < len(low), folded >= looksLimit:
			t[r].kind = knot
		case isDense(r):
			t[r].kind = sign
		default:
			t[r] = look{folded, char}
		}
	}
	return &t
})
