package analysistest

import (
	"math/rand/v2"
	"slices"
	"strings"
)

// alphabets are letters that occur in one word, and a few characters that are no letters.
var alphabets = []string{"abc", "etao", "абвё", "éaeò", "aàáé", "e\u0301\u0302o", "nññ", "ab1", "ab_", "𐐨𐐩𐐪",
	"straß", "пp а", "aaaab"}

// Letters returns the distinct characters of random words.
func Letters() []string {
	return slices.Compact(slices.Sorted(strings.SplitSeq(strings.Join(alphabets, ""), "")))
}

// RandomWord returns 1 to 40 characters. Some words are too long for a term.
func RandomWord(r *rand.Rand) string {
	letters, n := []rune(alphabets[r.IntN(len(alphabets))]), 1+r.IntN(9)
	if r.IntN(6) == 0 {
		n = 20 + r.IntN(21)
	}
	w := make([]rune, n)
	for i := range w {
		w[i] = letters[min(int(r.ExpFloat64()), len(letters)-1)]
	}
	return string(w)
}

// Misspell returns a word with up to three typing errors.
func Misspell(r *rand.Rand, word string) string {
	w := []rune(word)
	for range r.IntN(4) {
		i := r.IntN(len(w))
		switch letter := []rune(RandomWord(r))[0]; r.IntN(4) {
		case 0:
			w[i] = letter
		case 1:
			w = slices.Insert(w, i, letter)
		case 2:
			if len(w) > 1 {
				w = slices.Delete(w, i, i+1)
			}
		default:
			i = min(i, r.IntN(3)) // mostly the first two
			if i+1 < len(w) {
				w[i], w[i+1] = w[i+1], w[i]
			}
		}
	}
	return string(w)
}

// EditDistance returns the optimal string alignment distance by its definition.
func EditDistance(a, b []rune) int {
	d := make([][]int, len(a)+1)
	for i := range d {
		d[i] = make([]int, len(b)+1)
		for j := range d[i] {
			if i == 0 || j == 0 {
				d[i][j] = i + j
				continue
			}
			last := 1
			if a[i-1] == b[j-1] {
				last = 0
			}
			d[i][j] = min(d[i-1][j-1]+last, d[i-1][j]+1, d[i][j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d[i][j] = min(d[i][j], d[i-2][j-2]+1)
			}
		}
	}
	return d[len(a)][len(b)]
}
