package analysis

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// A text that counts as short must be short.
func TestMayExceedWordsNeverUnderestimates(t *testing.T) {
	if MayExceedWords(strings.Repeat("word ", 90), MaxChunkWords) {
		t.Error("90 words are taken for more than", MaxChunkWords)
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
		for _, p := range (Chunker{MaxWords: MaxChunkWords}).Split(s) {
			words += p.Words
		}
		for n := range words {
			if !MayExceedWords(s, n) {
				t.Fatalf("%q has %d words, and is taken to have at most %d", s, words, n)
			}
		}
	}
}

// Counting eight bytes at once equals counting one by one.
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
			if MayExceedWords(s, n) != (parts >= n) {
				t.Fatalf("%q: %d part words, but %d are %v", s, parts, n, MayExceedWords(s, n))
			}
		}
	})
}
