package search

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// A text that is passed over as short must be short in fact.
func TestNoTextIsTakenForShorterThanItIs(t *testing.T) {
	if mayExceed(strings.Repeat("word ", 90), maxWords) {
		t.Error("90 words are taken for more than", maxWords)
	}
	parts := []string{"a", "word", " ", "  ", "\n", "\t", "\u00a0", "\u2003", "é", "漢", "字", "が", "-", ". ", "\u0301", "ไทย", "\xff"}
	r := rand.New(rand.NewPCG(1, 1))
	for range 20_000 {
		var b strings.Builder
		for range r.IntN(30) {
			b.WriteString(parts[r.IntN(len(parts))])
		}
		s := b.String()
		words := 0
		for _, p := range (cutter{words: maxWords}).spans(s) {
			words += p.words
		}
		for n := range words {
			if !mayExceed(s, n) {
				t.Fatalf("%q has %d words, and is taken to have at most %d", s, words, n)
			}
		}
	}
}
