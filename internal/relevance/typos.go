package relevance

import (
	"hash/fnv"
	"math/rand/v2"
	"strings"
	"unicode"
)

// minTypoLetters is the shortest word that gets a typo.
const minTypoLetters = 4

// WithTypos returns the dataset with n typos in each query, each in a different word of at least 4 letters. A typo
// swaps two letters, drops one, doubles one, or hits an adjacent key. Equal seeds make equal typos in a query,
// independent of the rest of the dataset. A query without such a word is unchanged; unchanged counts those.
func (s Dataset) WithTypos(n int, seed uint64) (out Dataset, unchanged int) {
	out = s
	out.Queries = make([]Query, len(s.Queries))
	for i, q := range s.Queries {
		h := fnv.New64a()
		h.Write([]byte(q.Text))
		text := addTypos(q.Text, n, rand.New(rand.NewPCG(seed, h.Sum64())))
		if text == q.Text {
			unchanged++
		}
		q.Text = text
		out.Queries[i] = q
	}
	return out, unchanged
}

func addTypos(text string, n int, r *rand.Rand) string {
	words := splitLetterRuns(text)
	var long []int
	for i, w := range words {
		if len(w) >= minTypoLetters && unicode.IsLetter(w[0]) {
			long = append(long, i)
		}
	}
	if len(long) == 0 {
		return text
	}
	r.Shuffle(len(long), func(i, j int) { long[i], long[j] = long[j], long[i] })
	for i := range n {
		at := long[i%len(long)]
		words[at] = typo(words[at], r)
	}
	var b strings.Builder
	for _, w := range words {
		b.WriteString(string(w))
	}
	return b.String()
}

// splitLetterRuns splits a text at the borders of letter runs.
func splitLetterRuns(text string) (parts [][]rune) {
	for _, c := range text {
		last := len(parts) - 1
		if last >= 0 && unicode.IsLetter(parts[last][0]) == unicode.IsLetter(c) {
			parts[last] = append(parts[last], c)
			continue
		}
		parts = append(parts, []rune{c})
	}
	return parts
}

// typo makes one mistake in a word. Where the letter chosen allows no mistake of a kind, it is dropped. A word that
// earlier typos have shortened only grows.
func typo(word []rune, r *rand.Rand) []rune {
	at := r.IntN(len(word))
	before, letter, after := word[:at:at], word[at], word[at+1:]
	kind := r.IntN(4)
	if len(word) < minTypoLetters {
		kind = duplicate
	}
	switch keys := adjacentKeys(letter); {
	case kind == transpose && len(after) > 0 && after[0] != letter:
		return append(append(before, after[0], letter), after[1:]...)
	case kind == duplicate:
		return append(append(before, letter, letter), after...)
	case kind == substitute && len(keys) > 0:
		return append(append(before, keys[r.IntN(len(keys))]), after...)
	}
	return append(before, after...)
}

// The kinds of typos; the fourth drops a letter.
const (
	transpose = iota
	duplicate
	substitute
)

// keyboard has the rows of the letters on a QWERTY keyboard.
var keyboard = []string{"qwertyuiop", "asdfghjkl", "zxcvbnm"}

// adjacentKeys returns the letters left and right of a letter on the keyboard,
// in its case. A letter that is not on the keyboard has none.
func adjacentKeys(letter rune) (keys []rune) {
	for _, row := range keyboard {
		at := strings.IndexRune(row, unicode.ToLower(letter))
		if at < 0 {
			continue
		}
		for _, i := range []int{at - 1, at + 1} {
			if i < 0 || i >= len(row) {
				continue
			}
			key := rune(row[i])
			if unicode.IsUpper(letter) {
				key = unicode.ToUpper(key)
			}
			keys = append(keys, key)
		}
	}
	return keys
}
