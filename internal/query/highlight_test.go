package query

import (
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/analysis"
	"github.com/loci-memory/loci/internal/testenv"
)

// Match returns the matches of the query in a text.
func (q Query) Match(text string) Matches { return q.Matcher().match(text) }

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
		testenv.Equal(t, strings.Join(got, "|"), c.want, c.query, c.text, got)
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

func TestHighlightsKeepSpelling(t *testing.T) {
	t.Parallel()
	filler := strings.Repeat("lorem ipsum dolor sit amet ", 40)
	for _, c := range []struct{ text, query, want string }{
		{filler + "The Deployments were FROZEN. " + filler, "deployment frozen", "Deployments were FROZEN."},
		{strings.Repeat("甲乙丙丁。", 200) + "我们迁移了数据库。" + strings.Repeat("甲乙丙丁。", 200), "数据库", "数据库"},
		{filler + "CVE-2024-3094 " + filler, "cve-2024-3094", "CVE-2024-3094"},
		{"nothing to see here", "unrelated", "nothing to see here"},
		{filler + "am Café Central", "cafe", "Café Central"},
	} {
		got := Parse(c.query).Match(c.text).Highlights()
		if len(got) == 0 || !strings.Contains(got[0], c.want) {
			t.Errorf("%s: got %q", c.query, got)
		}
	}
}

func TestHighlightsPreferSnippetWithMostWords(t *testing.T) {
	t.Parallel()
	filler := strings.Repeat("lorem ipsum dolor sit amet ", 40)
	got := Parse("apple cherry").Match("apple alone. " + filler + "apple with cherry. " + filler + "cherry. " + filler +
		" apple").Highlights()
	if len(got) != maxSnippets || !strings.Contains(got[0], "apple with cherry") {
		t.Errorf("got %q", got)
	}
}

func TestJoinedWordsAreLimitedForEachWord(t *testing.T) {
	t.Parallel()
	adjacent, hyphenated := "", ""
	for a := 'a'; a <= 'z'; a++ {
		for b := 'a'; b <= 'z'; b++ {
			word := string(a) + string(b)
			if len(adjacent) < 2000 {
				adjacent += "q" + word + " tulips "
			}
			if analysis.IsStopWord(word) {
				hyphenated += "tulips-" + word + " "
			}
		}
	}
	for _, query := range []string{adjacent, hyphenated} {
		q := Parse(query)
		forms := make([]int, q.wordCount)
		for _, term := range q.terms {
			forms[term.wordIndex]++
		}
		testenv.Equal(t, slices.Max(forms), maxWordForms, "a word has")
		for _, s := range q.Match(query).matches {
			if s.terms == 0 {
				t.Fatalf("match without a term: %v", s)
			}
		}
	}
}
