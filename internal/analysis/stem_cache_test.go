package analysis

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/analysis/analysistest"
)

func TestStemCacheEqualsPorter(t *testing.T) {
	t.Parallel()
	words := strings.FieldsFunc(strings.ToLower(analysistest.Prose), func(r rune) bool { return r < 'a' || r > 'z' })
	words = slices.DeleteFunc(words, func(w string) bool { return len(w) > maxCachedStem })
	for i := range 3 * maxStems {
		words = append(words, fmt.Sprintf("%sings", strings.Map(func(r rune) rune {
			return r - '0' + 'a'
		}, fmt.Sprint(i))))
	}
	words = append(words, "internationalize", "responsibilities")
	s := StemCache{}
	for range 2 {
		for _, w := range words {
			want := string(Porter([]byte(w)))
			for range 2 {
				if got := string(s.stem([]byte(w))); got != want {
					t.Fatalf("%q: got %q, want %q", w, got, want)
				}
			}
		}
	}
}
