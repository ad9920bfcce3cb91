package retrieval

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestTyposAreTheSameForASeed(t *testing.T) {
	t.Parallel()
	s := Set{Questions: []Question{{Text: "How do I start the auxiliary pump?"}, {Text: "Was ist das Passwort?"}, {Text: "why me"}}}
	one, spared := s.Misspelled(2, 7)
	if spared != 1 || one.Questions[2].Text != "why me" {
		t.Errorf("%d questions without a long word, the last is %q", spared, one.Questions[2].Text)
	}
	again, _ := s.Misspelled(2, 7)
	other, _ := s.Misspelled(2, 8)
	alone, _ := Set{Questions: s.Questions[1:2]}.Misspelled(2, 7)
	if one.Questions[0].Text != again.Questions[0].Text || one.Questions[1].Text != alone.Questions[0].Text {
		t.Error("the same seed makes other typos")
	}
	if one.Questions[0].Text == other.Questions[0].Text {
		t.Error("another seed makes the same typos")
	}
	if s.Questions[0].Text != "How do I start the auxiliary pump?" {
		t.Error("the set itself was changed")
	}
}

// A question with enough long words differs in just as many, each by one
// mistake of Damerau's four kinds; short words and all else stay.
func TestATypoIsOneMistakeInALongWord(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.StringMatching(`[A-Za-zäß]{1,9}`), 1, 8).Draw(t, "words")
		n := rapid.IntRange(1, 4).Draw(t, "typos")
		text := strings.Join(words, ", ")
		set, _ := Set{Questions: []Question{{Text: text}}}.Misspelled(n, rapid.Uint64().Draw(t, "seed"))
		got := strings.Split(set.Questions[0].Text, ", ")
		if len(got) != len(words) {
			t.Fatalf("%q became %q", text, set.Questions[0].Text)
		}
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
		if changed != n {
			t.Fatalf("%d typos changed %d words of %q: %q", n, changed, words, got)
		}
		for i, w := range words {
			if got[i] != w && !oneMistake([]rune(w), []rune(got[i])) {
				t.Fatalf("%q became %q", w, got[i])
			}
		}
	})
}

// oneMistake reports whether b is a with two letters swapped, one dropped, one
// doubled, or another one in the place of one.
func oneMistake(a, b []rune) bool {
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

func TestKeysAreThoseBeside(t *testing.T) {
	t.Parallel()
	for letter, want := range map[rune]string{'q': "w", 'S': "AD", 'm': "n", 'ß': "", '7': ""} {
		if got := string(beside(letter)); got != want {
			t.Errorf("beside %c are %q, want %q", letter, got, want)
		}
	}
}
