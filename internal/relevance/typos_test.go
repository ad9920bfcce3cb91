package relevance

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/loci-memory/loci/internal/testenv"
)

func TestWithTyposIsDeterministic(t *testing.T) {
	t.Parallel()
	s := Dataset{Queries: []Query{{Text: "How do I start the auxiliary pump?"}, {Text: "Was ist das Passwort?"},
		{Text: "why me"}}}
	one, unchanged := s.WithTypos(2, 7)
	if unchanged != 1 || one.Queries[2].Text != "why me" {
		t.Errorf("%d questions without a long word, the last is %q", unchanged, one.Queries[2].Text)
	}
	again, _ := s.WithTypos(2, 7)
	other, _ := s.WithTypos(2, 8)
	alone, _ := Dataset{Queries: s.Queries[1:2]}.WithTypos(2, 7)
	if one.Queries[0].Text != again.Queries[0].Text || one.Queries[1].Text != alone.Queries[0].Text {
		t.Error("the same seed makes other typos")
	}
	if one.Queries[0].Text == other.Queries[0].Text {
		t.Error("another seed makes the same typos")
	}
	testenv.Equal(t, s.Queries[0].Text, "How do I start the auxiliary pump?", "the set itself was changed")
}

// A query with enough long words differs in exactly n of them, each by one edit of Damerau's four kinds.
func TestTypoIsSingleEditInLongWord(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.StringMatching(`[A-Za-zäß]{1,9}`), 1, 8).Draw(t, "words")
		n := rapid.IntRange(1, 4).Draw(t, "typos")
		text := strings.Join(words, ", ")
		set, _ := Dataset{Queries: []Query{{Text: text}}}.WithTypos(n, rapid.Uint64().Draw(t, "seed"))
		got := strings.Split(set.Queries[0].Text, ", ")
		testenv.RequireEqual(t, len(got), len(words), "became", text, set.Queries[0].Text)
		long, changed := 0, 0
		for i, w := range words {
			if utf8.RuneCountInString(w) >= 4 {
				long++
			} else if got[i] != w {
				t.Fatalf("the short word %q became %q", w, got[i])
			}
			if got[i] != w {
				changed++
			}
		}
		if long < n {
			return
		}
		testenv.RequireEqual(t, changed, n, "typos changed", words, got)
		for i, w := range words {
			if got[i] != w && !isSingleTypo([]rune(w), []rune(got[i])) {
				t.Fatalf("%q became %q", w, got[i])
			}
		}
	})
}

// isSingleTypo reports whether b is a with two letters swapped, one dropped, one doubled, or one replaced.
func isSingleTypo(a, b []rune) bool {
	for i := range a {
		without := slices.Concat(a[:i], a[i+1:])
		doubled := slices.Concat(a[:i+1], a[i:])
		if slices.Equal(b, without) || slices.Equal(b, doubled) {
			return true
		}
		if len(a) != len(b) {
			continue
		}
		if slices.Equal(without, slices.Concat(b[:i], b[i+1:])) {
			return true
		}
		if swapped := slices.Clone(a); i > 0 {
			swapped[i-1], swapped[i] = a[i], a[i-1]
			if slices.Equal(b, swapped) {
				return true
			}
		}
	}
	return false
}

func TestAdjacentKeys(t *testing.T) {
	t.Parallel()
	for letter, want := range map[rune]string{'q': "w", 'S': "AD", 'm': "n", 'ß': "", '7': ""} {
		testenv.Equal(t, string(adjacentKeys(letter)), want, "beside", letter)
	}
}
