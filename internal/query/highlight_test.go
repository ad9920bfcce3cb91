package query

import (
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/analysis"
	"github.com/loci-memory/loci/internal/dates"
	"github.com/loci-memory/loci/internal/index"
	"github.com/loci-memory/loci/internal/index/indextest"
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

func TestAnalyzerSplitsDateFromTime(t *testing.T) {
	t.Parallel()
	text := "Restarted at 2024-08-12T21:30:00Z by hand."
	if d, q := index.Analyze("", text), Parse("2024-08-12"); coveredWords(d, q) != q.wordCount {
		t.Errorf("%v is not in %v", q.terms, d.Terms)
	}
	if got, want := dates.Parse(text), dates.Parse("12 August 2024"); len(got) != 1 || got[0] != want[0] {
		t.Errorf("of %v, want %v", got, want)
	}
	for query, want := range map[string]string{
		"2024-08-12": "identifier", `"at 2024-08-12"`: "phrase", "2024-08-12T21:30:00Z": "identifier", "2024-08-1": "",
		"2024-08-12T2": "",
	} {
		testenv.Equal(t, NewExactMatcher(query).Match("", text), want, query)
	}
	if got := NewExactMatcher("2024-08-12").Match("", "the 2024-08-12th of it"); got != "" {
		t.Errorf("what is no time is held as %q", got)
	}
}

func TestExactMatcherFindsPhraseInAnySpelling(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ query, text string }{
		{`"frozen lake"`, "the Frozen  LAKE"}, {"„frozen lake“", "a frozen lake"}, {"„frozen lake”", "a frozen lake"},
		{`„frozen lake" of`, "a frozen lake"},
		{"»frozen lake«", "a frozen lake"}, {"«frozen lake»", "a frozen lake"}, {"＂frozen lake＂", "a frozen lake"},
		{`"große Straße"`, "die GROSSE STRASSE"}, {`"don't panic"`, "don’t panic"}, {`"don’t panic"`, "donʼt panic"},
		{`"frozen lake"`, "fro\u00adzen ｌａｋｅ"}, {`"café 2024"`, "the cafe\u0301 ٢٠٢٤"}, {`"λόγος"`, "ΛΌΓΟΣ"},
	} {
		testenv.Equal(t, NewExactMatcher(c.query).Match("", c.text), "phrase", c.query, c.text)
	}
	for _, query := range []string{"»frozen lake", "«frozen lake«", "“frozen lake\""} {
		if NewExactMatcher(query).Active() {
			t.Errorf("%s is a phrase", query)
		}
	}
}

func TestExactMatcherMatchesWholeWords(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ query, text, want string }{
		{`"हिन्द"`, "हिन्दी", ""}, {`"हिन्दी"`, "वह हिन्दी में", "phrase"}, {`"של"`, "שֶׁל", ""},
		{`"lake"`, "lakes, flake, snowflakes; lake", "phrase"}, {`"lake"`, "lakeflake", ""},
		{`"a a"`, "aaa aa a a", "phrase"},
		{`"京都"`, "東京都庁", "phrase"}, {`"b都"`, "ab都 b都", "phrase"},
	} {
		testenv.Equal(t, NewExactMatcher(c.query).Match("", c.text), c.want, c.query, c.text)
	}
}

// With a new search at each letter, or one for each of equal phrases, this takes minutes.
func TestExactMatcherIsLinearForHostileText(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("a", 1<<22)
	m, distinct := NewExactMatcher(strings.Repeat(`"a"`, 600)), ""
	for c := range rune(600) {
		distinct += "“" + string('一'+c) + "”"
	}
	testenv.Equal(t, len(NewExactMatcher(distinct).phrases), maxPhrases, "phrases are searched")
	if m.Match("", text+" a") != "phrase" || m.Match("", text) != "" {
		t.Error("the phrase at the end is not found, or one inside a word is")
	}
}

func TestMatchingReadsStartOfTextThatNormalizationExpands(t *testing.T) {
	t.Parallel()
	for _, text := range []string{strings.Repeat("ﷺ", 80_000), strings.Repeat("ﷺ ", 60_000)} {
		if n := len(normalizeExact(text)); n > len(text)+2*maxNormalGrowth {
			t.Errorf("the exact form has %d bytes", n)
		}
		m := Parse("tide").Matcher()
		terms, observe := 0, m.analyzer.Emit
		m.analyzer.Emit = func(term []byte, r analysis.TokenType) {
			terms++
			observe(term, r)
		}
		m.analyzer.Prefilter = nil // emits each term that is read
		if m.match(text + " tide"); terms > maxNormalGrowth {
			t.Errorf("%d terms are read", terms)
		}
		if m.match(text[:3000] + " tide"); len(m.matches) != 1 {
			t.Errorf("%d matches in a short text", len(m.matches))
		}
	}
}

func TestAnalyzerKeepsSuffixOfLanguageNames(t *testing.T) {
	t.Parallel()
	d := indextest.NewStore()
	v := buildSnapshot(t, d, "We write C in winter.", "We write C# in winter.", "We write C++ in winter.", "end")
	for query, want := range map[string]int64{"C#": 2, "c++ winter": 3, "is it in C++?": 3} {
		q, r, err := Search(v, index.NewCache(0), d.Fetch, Parse(query), index.Filter{}, 0, 9)
		if err != nil || len(r.Hits) != 3 || r.Hits[0].Memory != want {
			t.Errorf("%s finds %+v, %v", query, r.Hits, err)
		}
		if n := len(q.Match("c++ and C#").matches); n < 3 {
			t.Errorf("%s has %d matches", query, n)
		}
	}
	testenv.Equal(t, NewExactMatcher("C#").Match("", "We write c# in winter."), "identifier", "C# is held as")
}

func TestInchSignsQuoteNothing(t *testing.T) {
	t.Parallel()
	for query, want := range map[string][]string{
		`3.5" disk or 5.25" drive`: nil, `"3.5" disk" drive"`: {"3.5", "drive"},
		`the "white box" of 1984`: {"white box"},
		`a 19" rack "of steel"`:   {"of steel"}, `Apollo “13”`: {"13"}, `"Apollo 13" and "14"`: {"apollo 13", "14"},
	} {
		testenv.EqualSlices(t, NewExactMatcher(query).phrases, want, query)
	}
}
