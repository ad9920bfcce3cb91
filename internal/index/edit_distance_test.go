package index

import (
	"math/rand/v2"
	"slices"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/loci-memory/loci/internal/analysis/analysistest"
)

// The letter masks may admit words that are too far, but must not drop near ones.
func TestLetterMaskKeepsCloseWords(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		word := analysistest.RandomWord(r)
		for utf8.RuneCountInString(word) < 4 {
			word = analysistest.RandomWord(r)
		}
		s := NewEditDistanceMatcher(word)
		var l spellingDict
		for range 50 {
			x := analysistest.Misspell(r, word)
			l = spellingDict{}
			l.add([]byte(x))
			near := false
			err := l.eachFuzzyMatch(s, "", func([]byte, int) error { near = true; return nil })
			want := len(l.buckets) > 0 && analysistest.EditDistance([]rune(word), []rune(x)) <= s.MaxDistance
			if err != nil || near != want {
				t.Fatalf("%q is near to %q: %v, want %v", x, word, near, want)
			}
		}
	})
}

func TestEditDistanceEqualsDefinition(t *testing.T) {
	t.Parallel()
	letters := rapid.SliceOfN(rapid.SampledFrom([]rune("abбв")), 1, 7)
	rapid.Check(t, func(t *rapid.T) {
		word := append([]rune("ab"), letters.Draw(t, "word")...)
		terms := rapid.SliceOfN(rapid.Map(letters, func(r []rune) string { return string(r) }), 1, 40).Draw(t, "terms")
		if rapid.Bool().Draw(t, "in order") {
			slices.Sort(terms)
		}
		s := NewEditDistanceMatcher(string(word))
		for _, x := range terms {
			got, want := s.distance([]byte(x)), analysistest.EditDistance(word, []rune(x))
			if got != want && (got <= s.MaxDistance || want <= s.MaxDistance) {
				t.Fatalf("%s to %s: %d, want %d", x, string(word), got, want)
			}
		}
	})
}
