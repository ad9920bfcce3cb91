package minhash

import (
	"math/bits"
	"slices"
	"sync"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/loci-memory/loci/internal/analysis"
)

// shingler cuts a text into words and hashes each shingle. It emits the hashes in blocks. Its memory grows with the
// longest run of characters beyond ASCII only.
type shingler struct {
	emit                     func(shingles []uint64)
	table                    *[runeTableLimit]runeClass
	words                    int
	previous, beforePrevious uint64 // the hashes of the two words before
	total, blockLen          int    // shingles in all, and in the block
	block                    [256]uint64
	classes                  []runeClass // the characters of a run
	hasComplex               bool        // one of them is complex
	lowerBuf                 []byte
}

// Words in a shingle. Unrelated texts share too many single words, and a typo breaks as many shingles as a shingle has
// words.
const (
	wordShingleSize = 2
	runeShingleSize = 3 // of characters of scripts without spaces
)

// Constants of the hash of a word: 64-bit FNV-1a.
const (
	fnvOffset = 14695981039346656037
	fnvPrime  = 1099511628211
)

// maxPooledRunes bounds the capacity of a pooled shingler, in characters.
const maxPooledRunes = 1 << 13

// addText emits all shingles of s, in linear time.
func (g *shingler) addText(s string) {
	g.words, g.previous, g.beforePrevious, g.total, g.blockLen = 0, 0, 0, 0, 0
	for i := 0; i < len(s); {
		hash, j := uint64(fnvOffset), i
		for j < len(s) && analysis.ClassOf(s[j])&analysis.Alnum != 0 {
			c := s[j]
			hash = (hash ^ uint64(c|analysis.ClassOf(c)&analysis.Upper<<4)) * fnvPrime
			j++
		}
		switch {
		case j < len(s) && analysis.ClassOf(s[j]) == analysis.NonASCII:
			i = g.addNonASCIIRun(s, i)
		case j == i:
			i++
		default:
			g.addWord(hash, wordShingleSize)
			i = j
		}
	}
	if g.total == 0 && g.words > 0 {
		g.addShingle(g.previous ^ bits.RotateLeft64(g.beforePrevious, 32))
	}
	g.emit(g.block[:g.blockLen])
	if cap(g.classes) > maxPooledRunes {
		g.classes, g.lowerBuf = nil, nil
	}
}

// addNonASCIIRun reads the run of word characters that begins at i, and returns its end.
func (g *shingler) addNonASCIIRun(s string, i int) int {
	j := i + g.classify(s[i:], false)
	if j == i {
		_, n := utf8.DecodeRuneInString(s[i:])
		return i + n
	}
	if g.hasComplex {
		n := norm.NFKC.String(s[i:j])
		g.classify(n, true)
		if g.hasComplex {
			g.lowerBuf = analysis.FoldCase(g.lowerBuf[:0], n)
			g.classify(string(g.lowerBuf), true)
		}
	}
	g.addRun()
	return j
}

// classify looks up the characters at the start of s and returns their size. It stops at a separator, except in a
// normalized text, where only case folding makes a character complex.
func (g *shingler) classify(s string, normalized bool) (size int) {
	g.classes, g.hasComplex = g.classes[:0], false
	if normalized {
		// normal form may be many times as long as its text
		g.classes = slices.Grow(g.classes, utf8.RuneCountInString(s))
	}
	for size < len(s) {
		r, n := utf8.DecodeRuneInString(s[size:])
		l := g.classOf(r)
		switch {
		case l.kind == separatorRune && !normalized:
			return size
		case l.kind == complexRune && normalized && analysis.IsUnsegmented(r):
			l.kind = singleRune
		case l.kind == complexRune:
			g.hasComplex = true
		}
		g.classes = append(g.classes, l)
		size += n
	}
	return size
}

// addRun adds the words of the collected characters.
func (g *shingler) addRun() {
	hash, open := uint64(fnvOffset), false
	for _, l := range g.classes {
		if l.kind == wordRune || l.kind == complexRune {
			hash, open = (hash^uint64(l.folded))*fnvPrime, true
			continue
		}
		if open {
			g.addWord(hash, wordShingleSize)
			hash, open = fnvOffset, false
		}
		if l.kind == singleRune {
			g.addWord((fnvOffset^uint64(l.folded))*fnvPrime, runeShingleSize)
		}
	}
	if open {
		g.addWord(hash, wordShingleSize)
	}
}

// addWord adds a word, and emits the shingle of it and the words before it, many words in all.
func (g *shingler) addWord(hash uint64, many int) {
	switch {
	case g.words < many-1:
	case many == wordShingleSize:
		g.addShingle(hash ^ bits.RotateLeft64(g.previous, 32))
	default:
		g.addShingle(hash ^ bits.RotateLeft64(g.previous, 21) ^ bits.RotateLeft64(g.beforePrevious, 42))
	}
	g.beforePrevious, g.previous = g.previous, hash
	g.words++
}

func (g *shingler) addShingle(shingle uint64) {
	if g.blockLen == len(g.block) {
		g.emit(g.block[:])
		g.blockLen = 0
	}
	g.block[g.blockLen] = mix64(shingle)
	g.blockLen++
	g.total++
}

// runeKind is the kind of a character for the shingler.
type runeKind uint8

const (
	separatorRune runeKind = iota // separates words
	wordRune                      // part of a word
	singleRune                    // a word of its own
	complexRune                   // may change in normal form or beside others
)

// runeClass is a character in one letter case, and its kind.
type runeClass struct {
	folded rune
	kind   runeKind
}

// classOf returns the class of a character. From runeTableLimit on, the letter case depends on the neighbors.
func (g *shingler) classOf(r rune) runeClass {
	switch {
	case r < runeTableLimit:
		return g.table[r]
	case r >= 0x4E00 && r <= 0x9FFF, r >= 0xAC00 && r <= 0xD7A3, r >= 0x3041 && r <= 0x3096,
		r >= 0x30A1 && r <= 0x30FA, r == 'ー':
		return runeClass{r, singleRune}
	case r >= 0xFF01 && r <= 0xFF0F || r == 0xFF1A || r == 0xFF1B || r == 0xFF1F || !analysis.IsTextRune(r):
		return runeClass{r, separatorRune}
	}
	return runeClass{r, complexRune}
}

const runeTableLimit = 0x2000

var runeClassTable = sync.OnceValue(func() *[runeTableLimit]runeClass {
	var t [runeTableLimit]runeClass
	for r := range rune(runeTableLimit) {
		s := string(r)
		low := analysis.FoldCase(nil, s)
		folded, n := utf8.DecodeRune(low)
		t[r].folded = r
		switch {
		case !analysis.IsTextRune(r):
		case !norm.NFKC.IsNormalString(s), !norm.NFKC.PropertiesString(s).BoundaryBefore(), n < len(low),
			folded >= runeTableLimit:
			t[r].kind = complexRune
		case analysis.IsUnsegmented(r):
			t[r].kind = singleRune
		default:
			t[r] = runeClass{folded, wordRune}
		}
	}
	return &t
})
