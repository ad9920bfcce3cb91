package analysis

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"

	"github.com/loci-memory/loci/internal/analysis/analysistest"
)

func TestSourceOffsetsCoverEveryTerm(t *testing.T) {
	t.Parallel()
	letters := []rune(
		"aéß .-_/1２٢Ａｂﬁﬃ数据한국가ガカ\u3099ﾃﾞｰ㍿㈱ﷺ" +
			"\u0301\u0302\u0323\u1112\u1161\u11ab\u11a8" +
			"\u0e33ก\u0e34\u00ad\u200d\u034f\ufe0fǅ½ſ\u09c7\u09be\u0f71\u0f72\U0001d15e")
	rapid.Check(t, func(t *rapid.T) {
		checkOffsets(t, string(rapid.SliceOfN(rapid.SampledFrom(letters), 1, 80).Draw(t, "text")))
	})
}

// checkOffsets reports terms that are not in their marked place, and marks that split a segment.
func checkOffsets(t interface{ Errorf(string, ...any) }, text string) {
	var a Analyzer
	last := 0
	chunk, boundaries := "", []int(nil)
	a.Emit = func(term []byte, r TokenType) {
		from, to := a.SourceOffsets()
		if from < 0 || from >= to || to > len(text) || to < last && r != Word {
			t.Errorf("%q stands from %d to %d of %d bytes, after %d", term, from, to, len(text), last)
			return
		}
		last = to
		if marked := text[from:to]; r != Stem && r != Joined && len(term) <= MaxTermBytes-utf8.UTFMax &&
			len(marked) < 4*MaxTermBytes && !containsTerm(string(term), marked) {
			t.Errorf("%q is not in %q, which is marked of %q", term, marked, text)
		}
		if marked := NormalizeNFKC(text[from:to]); r == Joined && !strings.ContainsAny(marked, "-._") &&
			!endsPhone(string(term), marked) {
			t.Errorf("%q has parts, and %q is marked", term, marked)
		}
		if a.offsetMap.source == "" {
			if !utf8.RuneStart(text[from]) || to < len(text) && !utf8.RuneStart(text[to]) {
				t.Errorf("a character of %q is parted at %d or %d", text, from, to)
			}
			return
		}
		if chunk != a.offsetMap.source {
			chunk, boundaries = a.offsetMap.source, segmentBoundaries(a.offsetMap.source)
			if end := a.offsetMap.normSegments[len(a.offsetMap.normSegments)-1]; end.text != len(chunk) ||
				end.normal != len(NormalizeNFKC(chunk)) {
				t.Errorf("the segments of %q end at %+v, not at %d", chunk, end, len(NormalizeNFKC(chunk)))
			}
		}
		for _, at := range []int{from - a.from, to - a.from} {
			if _, ok := slices.BinarySearch(boundaries, at); !ok {
				t.Errorf("a segment of %q is parted at %d", chunk, at)
			}
		}
	}
	a.Analyze(text)
}

// endsPhone reports whether a term is the end of a phone number whose last group of digits is marked.
func endsPhone(term, marked string) bool {
	group := strings.Map(func(r rune) rune {
		if '0' <= r && r <= '9' {
			return r
		}
		return -1
	}, marked)
	return len(term) == phoneSuffix && group != "" &&
		(strings.HasSuffix(term, group) || strings.HasSuffix(group, term))
}

// containsTerm reports whether a text contains a term as characters, as a word, or without accents. Both are
// decomposed, because adjacent marks then have one order. It accepts any term of the greatest length.
func containsTerm(term, text string) bool {
	word := FoldCase(nil, NormalizeNFKC(text))
	unaccented, _, _ := Unaccent(nil, word)
	return len(word) > MaxTermBytes || slices.ContainsFunc([]string{NormalizeNFKC(text), string(word),
		string(unaccented)}, func(s string) bool {
		return strings.Contains(norm.NFD.String(s), norm.NFD.String(term))
	})
}

// segmentBoundaries returns the places at which the library for normalization may begin.
func segmentBoundaries(s string) (list []int) {
	var i norm.Iter
	for i.InitString(norm.NFKC, s); !i.Done(); i.Next() {
		if n := i.Pos(); len(list) == 0 || list[len(list)-1] != n {
			list = append(list, n)
		}
	}
	return append(list, len(s))
}

func FuzzSourceOffsets(f *testing.F) {
	for _, piece := range analysistest.Hostile {
		f.Add(strings.Repeat(piece, 3))
	}
	f.Add(analysistest.Prose)
	f.Add("000000000 +49 30 1234567 (030) 123 45 67")
	f.Fuzz(func(t *testing.T, text string) {
		if utf8.ValidString(text) {
			checkOffsets(t, text)
		}
	})
}
