package index

import (
	"math/rand/v2"
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
		m := NewEditDistanceMatcher(word)
		var d spellingDict
		for range 50 {
			x := analysistest.Misspell(r, word)
			d = spellingDict{}
			d.add([]byte(x))
			near := false
			err := d.eachFuzzyMatch(m, "", func([]byte, int) error { near = true; return nil })
			want := len(d.buckets) > 0 && analysistest.EditDistance([]rune(word), []rune(x)) <= m.MaxDistance
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
		m := NewEditDistanceMatcher(string(word))
		for _, x := range terms {
			got, want := m.distance([]byte(x)), analysistest.EditDistance(word, []rune(x))
			if got != want && (got <= m.MaxDistance || want <= m.MaxDistance) {
				t.Fatalf("%s to %s: %d, want %d", x, string(word), got, want)
			}
		}
	})
}
