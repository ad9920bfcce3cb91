package search

import (
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"
	"unicode/utf8"
)

// A text that is passed over as short must be short in fact.
func TestMayExceedWordsNeverUnderestimates(t *testing.T) {
	if mayExceedWords(strings.Repeat("word ", 90), maxChunkWords) {
		t.Error("90 words are taken for more than", maxChunkWords)
	}
	parts := []string{"a", "word", " ", "  ", "\n", "\t", "\u00a0", "\u2003", "é", "漢", "字", "が", "-", ". ", "\u0301",
		"ไทย", "\xff"}
	r := rand.New(rand.NewPCG(1, 1))
	for range 20_000 {
		var b strings.Builder
		for range r.IntN(30) {
			b.WriteString(parts[r.IntN(len(parts))])
		}
		s := b.String()
		words := 0
		for _, p := range (chunker{words: maxChunkWords}).split(s) {
			words += p.words
		}
		for n := range words {
			if !mayExceedWords(s, n) {
				t.Fatalf("%q has %d words, and is taken to have at most %d", s, words, n)
			}
		}
	}
}

// Eight bytes at once are counted as one after another.
func TestMayExceedWordsCountsSeparators(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := string(rapid.SliceOfN(rapid.SampledFrom([]byte(" \t\n\x00!a~\x7f\x80\xe2\xff")), 0, 40).Draw(t, "text"))
		parts := 0
		for i := range len(s) {
			if s[i] <= ' ' || s[i] >= utf8.RuneSelf {
				parts++
			}
		}
		for n := 1; n < 42; n++ {
			if mayExceedWords(s, n) != (parts >= n) {
				t.Fatalf("%q: %d part words, but %d are %v", s, parts, n, mayExceedWords(s, n))
			}
		}
	})
}
