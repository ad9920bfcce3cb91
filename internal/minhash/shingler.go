package minhash

import (
	"math/bits"
	"unicode/utf8"

	"github.com/loci-memory/loci/internal/analysis"
)

// shingler cuts a text into words and hashes each shingle. It emits the hashes in blocks. Its memory grows with the
// longest run of characters beyond ASCII only.
type shingler struct {
	emit                     func(shingles []uint64)
	words                    int
	previous, beforePrevious uint64 // the hashes of the two words before
	total, blockLen          int    // shingles in all, and in the block
	block                    [256]uint64
	growth                   int    // bytes that normalization has added
	lowerBuf                 []byte // a run in normal form and one letter case
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

// maxPooledBytes bounds the buffer of a pooled shingler.
const maxPooledBytes = 1 << 15

// addText emits the shingles of the first analysis.MaxNormal bytes of the normal form of s, in linear time.
func (g *shingler) addText(s string) {
	g.words, g.previous, g.beforePrevious, g.total, g.blockLen, g.growth = 0, 0, 0, 0, 0, 0
	for i := 0; i < len(s) && i+g.growth <= analysis.MaxNormal; {
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
	if cap(g.lowerBuf) > maxPooledBytes {
		g.lowerBuf = nil
	}
}

// addNonASCIIRun reads the run of word characters that begins at i, and returns its end.
func (g *shingler) addNonASCIIRun(s string, i int) int {
	j := i
	for j < len(s) {
		r, n := utf8.DecodeRuneInString(s[j:])
		if !analysis.IsTextRune(r) {
			break
		}
		j += n
	}
	if j == i {
		_, n := utf8.DecodeRuneInString(s[i:])
		return i + n
	}
	g.lowerBuf = analysis.FoldCase(g.lowerBuf[:0], analysis.NormalizePrefix(s[i:j], analysis.MaxNormal-i-g.growth))
	g.growth += max(0, len(g.lowerBuf)-(j-i))
	g.addRun()
	return j
}

// addRun adds the words of the run in lowerBuf.
func (g *shingler) addRun() {
	hash, open := uint64(fnvOffset), false
	for i := 0; i < len(g.lowerBuf); {
		r, n := utf8.DecodeRune(g.lowerBuf[i:])
		i += n
		single := analysis.IsUnsegmented(r)
		if !single && analysis.IsTextRune(r) {
			hash, open = (hash^uint64(r))*fnvPrime, true
			continue
		}
		if open {
			g.addWord(hash, wordShingleSize)
			hash, open = fnvOffset, false
		}
		if single {
			g.addWord((fnvOffset^uint64(r))*fnvPrime, runeShingleSize)
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
