package search

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"
)

func TestMatchesCoverWordAlone(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, query, want string }{
		{"ｄａｔａ／ｂａｓｅ数据库迁移ＯＫ", "数据库", "数据|据库"},
		{"这是ＡＰＩ密钥", "api", "ＡＰＩ"},
		{"这是ＡＰＩ密钥２０２４年", "密钥 2024", "密钥|２０２４"},
		{"the oﬃce ﬁle", "file", "ﬁle"},
		{"ﾃﾞｰﾀﾍﾞｰｽを移した", "データ", "ﾃﾞｰ|ｰﾀ"},
		{"ﾃﾞｰﾀﾍﾞｰｽを移した", "移し", "移し"},
		{"か\u3099っこう東京ﾀﾜｰ", "東京", "東京"},
		{"か\u3099っこう東京ﾀﾜｰ", "がっ", "か\u3099っ"},
		{"\u1112\u1161\u11ab\u1100\u116e\u11a8어", "한국", "\u1112\u1161\u11ab\u1100\u116e\u11a8"},
		{"\u1112\u1161\u11ab\u1100\u116e\u11a8어", "국어", "\u1100\u116e\u11a8어"},
		{"東京㍿の住所", "株式", "㍿"},
		{"東京㍿の住所", "住所", "住所"},
		{"الله ﷺ وسلم", "وسلم", "ﷺ|وسلم"},
		{"ปี๒๕๖๗ข้อมูล", "2567", "๒๕๖๗"},
		{"デー\u00adタ\u200bを移す", "移す", "移す"},
		{"デー\u00adタ\u200bを移す", "タを", "タ\u200bを"},
		{"日\u00ad本", "本", "本"},
		{"e\u0301tude数", "étude", "e\u0301tude"},
		{"plain words", "words", "words"},
	} {
		var got []string
		for _, s := range Parse(c.query).Match(c.text).matches {
			got = append(got, c.text[s.from:s.to])
		}
		if strings.Join(got, "|") != c.want {
			t.Errorf("%s in %s: got %q, want %q", c.query, c.text, got, c.want)
		}
	}
}

func TestSnippetsKeepCombiningMarks(t *testing.T) {
	t.Parallel()
	for _, piece := range []string{"か\u3099", "\u1112\u1161\u11ab", "ｶﾞ", "ก\u0e34\u0e48"} {
		for shift := range 4 {
			text := strings.Repeat("a", shift) + strings.Repeat(piece, 300) + "数据" + strings.Repeat(piece, 300)
			s := Parse("数据").Match(text).Highlights()[0]
			if !strings.HasPrefix(s, piece) || !strings.HasSuffix(s, piece) || !strings.Contains(s, "数据") {
				t.Errorf("%q is cut in %q", piece, s)
			}
		}
	}
}

func TestSourceOffsetsCoverEveryTerm(t *testing.T) {
	t.Parallel()
	letters := []rune(
		"aéß " +
			".-_/1２٢Ａｂﬁﬃ数据한국가ガカ\u3099ﾃﾞｰ㍿㈱ﷺ\u0301\u0302\u0323\u1112\u1161\u11ab\u11a8\u0e33ก\u0e34\u00ad\u200d\u034f\ufe0fǅ½ſ\u09c7\u09be\u0f71\u0f72\U0001d15e")
	rapid.Check(t, func(t *rapid.T) {
		checkOffsets(t, string(rapid.SliceOfN(rapid.SampledFrom(letters), 1, 80).Draw(t, "text")))
	})
}

// checkOffsets reports terms that are not in what is marked of a text, and marks that
// part a segment of it.
func checkOffsets(t interface{ Errorf(string, ...any) }, text string) {
	var a analyzer
	last := 0
	chunk, boundaries := "", []int(nil)
	a.emit = func(term []byte, r tokenType) {
		from, to := a.sourceOffsets()
		if from < 0 || from >= to || to > len(text) || to < last && r != word {
			t.Errorf("%q stands from %d to %d of %d bytes, after %d", term, from, to, len(text), last)
			return
		}
		last = to
		if marked := text[from:to]; r != stem && r != joined && len(term) <= maxTermBytes-utf8.UTFMax &&
			len(marked) < 4*maxTermBytes && !containsTerm(string(term), marked) {
			t.Errorf("%q is not in %q, which is marked of %q", term, marked, text)
		}
		if r == joined && !strings.ContainsAny(normalizeNFKC(text[from:to]), "-._") {
			t.Errorf("%q has parts, and %q is marked", term, text[from:to])
		}
		if a.offsetMap.source == "" {
			if !utf8.RuneStart(text[from]) || to < len(text) && !utf8.RuneStart(text[to]) {
				t.Errorf("a character of %q is parted at %d or %d", text, from, to)
			}
			return
		}
		if chunk != a.offsetMap.source {
			chunk, boundaries = a.offsetMap.source, segmentBoundaries(a.offsetMap.source)
			if end := a.offsetMap.segments[len(a.offsetMap.segments)-1]; end.text != len(chunk) ||
				end.normal != len(normalizeNFKC(chunk)) {
				t.Errorf("the segments of %q end at %+v, not at %d", chunk, end, len(normalizeNFKC(chunk)))
			}
		}
		for _, at := range []int{from - a.from, to - a.from} {
			if _, ok := slices.BinarySearch(boundaries, at); !ok {
				t.Errorf("a segment of %q is parted at %d", chunk, at)
			}
		}
	}
	a.analyze(text)
}

// containsTerm reports whether a term is in a text: as characters, as a word, or without
// accents. All is taken apart, because marks that stand together have one order then.
// Of what is longer than terms may be it knows nothing.
func containsTerm(term, text string) bool {
	word := foldCase(nil, normalizeNFKC(text))
	unaccented, _, _ := unaccent(nil, word)
	return len(word) > maxTermBytes || slices.ContainsFunc([]string{normalizeNFKC(text), string(word),
		string(unaccented)}, func(s string) bool {
		return strings.Contains(norm.NFD.String(s), norm.NFD.String(term))
	})
}

// segmentBoundaries is where the library that normalizes may begin anew.
func segmentBoundaries(s string) (list []int) {
	var i norm.Iter
	for i.InitString(norm.NFKC, s); !i.Done(); i.Next() {
		if n := i.Pos(); len(list) == 0 || list[len(list)-1] != n {
			list = append(list, n)
		}
	}
	return append(list, len(s))
}
