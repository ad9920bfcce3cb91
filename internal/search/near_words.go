package search

import (
	"math/bits"
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

// keepLow bounds what a pooled shingler keeps from one huge run to the next.
const keepLow = 1 << 14

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
			i = g.wide(s, i, j)
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
	if cap(g.low) > keepLow {
		g.low = nil
	}
}

// wide takes the run of word characters that begins at i, of which those before
// j are ASCII, and returns where the text goes on.
func (g *shingler) wide(s string, i, j int) int {
	tangled := false
	for j < len(s) {
		r, n := utf8.DecodeRuneInString(s[j:])
		_, k := g.look(r)
		if k == blank {
			break
		}
		tangled = tangled || k == knot
		j += n
	}
	switch {
	case j == i:
		_, n := utf8.DecodeRuneInString(s[i:])
		return i + n
	case tangled:
		g.low = norm.NFKC.AppendString(g.low[:0], s[i:j])
		if g.knotted() {
			g.low = foldCase(g.low[:0], string(g.low))
		}
	default:
		g.low = append(g.low[:0], s[i:j]...)
	}
	g.run()
	return j
}

// knotted reports that low has characters that [shingler.look] cannot fold.
func (g *shingler) knotted() bool {
	for i := 0; i < len(g.low); {
		r, n := utf8.DecodeRune(g.low[i:])
		i += n
		if _, k := g.look(r); k == knot && !isDense(r) {
			return true
		}
	}
	return false
}

// run takes the words of low, which is in normal form.
func (g *shingler) run() {
	hash, open := uint64(fnvStart), false
	for i := 0; i < len(g.low); {
		r, n := utf8.DecodeRune(g.low[i:])
		i += n
		r, k := g.look(r)
		if k == char || k == knot && !isDense(r) {
			hash, open = (hash^uint64(r))*fnvPrime, true
			continue
		}
		if open {
			g.word(hash, wordWide)
			hash, open = fnvStart, false
		}
		if k != blank {
			g.word((fnvStart^uint64(r))*fnvPrime, signWide)
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
	folded uint16
	kind   kind
}

// look says what a character is; folding those at looksLimit and beyond needs
// their neighbours.
func (g *shingler) look(r rune) (rune, kind) {
	switch {
	case r < looksLimit:
		l := g.looks[r]
		return rune(l.folded), l.kind
	case r >= 0x4E00 && r <= 0x9FFF, r >= 0xAC00 && r <= 0xD7A3, r >= 0x3041 && r <= 0x3096,
		r >= 0x30A1 && r <= 0x30FA, r == 'ー':
		return r, sign
	case !isWord(r):
		return r, blank
	}
	return r, knot
}

const looksLimit = 0x2000

var looks = sync.OnceValue(func() *[looksLimit]look {
	var t [looksLimit]look
	for r := range rune(looksLimit) {
		s := string(r)
		low := foldCase(nil, s)
		folded, n := utf8.DecodeRune(low)
		t[r].folded = uint16(r)
		switch {
		case !isWord(r):
		case !norm.NFKC.IsNormalString(s), !norm.NFKC.PropertiesString(s).BoundaryBefore(), n < len(low), folded >= looksLimit:
			t[r].kind = knot
		case isDense(r):
			t[r].kind = sign
		default:
			t[r] = look{uint16(folded), char}
		}
	}
	return &t
})
