package analysis

import (
	"bufio"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"

	"github.com/loci-memory/loci/internal/analysis/analysistest"
	"github.com/loci-memory/loci/internal/testenv"
)

var tokenTypeNames = [...]string{"", "whole:", "stem:", "plain:", "", "letter:", "lone:", "united:"}

func tokens(text string) string {
	var list []string
	var a Analyzer
	a.Emit = func(term []byte, r TokenType) {
		name := tokenTypeNames[r]
		if r == Bigram {
			name = "gram:"
		}
		list = append(list, name+string(term))
	}
	a.Analyze(text)
	return strings.Join(list, " ")
}

func TestAnalyzerEmitsGoldenTokens(t *testing.T) {
	t.Parallel()
	file := testenv.Must(os.Open("testdata/tokens.txt"))(t)
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		text, want, ok := strings.Cut(lines.Text(), " => ")
		if !ok || strings.HasPrefix(text, "#") {
			continue
		}
		testenv.Equal(t, tokens(text), want, text)
	}
}

func TestAnalyzerFoldsDigitsOfAllScripts(t *testing.T) {
	t.Parallel()
	digits := 0
	for r := rune(unicode.MaxASCII + 1); r <= unicode.MaxRune; r++ {
		if unicode.Is(unicode.Nd, r) {
			digits++
			want := '0' // the first of ten
			if unicode.Is(unicode.Nd, r-1) {
				want += (FoldRune(r-1) - '0' + 1) % 10
			}
			testenv.Equal(t, FoldRune(r), want, r)
		}
	}
	if digits%10 != 0 || digits < 500 {
		t.Errorf("%d digits", digits)
	}
}

func TestPorterStemsWords(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{
		"caresses": "caress", "ponies": "poni", "ties": "ti", "caress": "caress", "cats": "cat", "feed": "feed",
		"agreed":    "agre",
		"plastered": "plaster", "bled": "bled", "motoring": "motor", "sing": "sing", "conflated": "conflat",
		"troubled": "troubl",
		"sized":    "size", "hopping": "hop", "tanned": "tan", "falling": "fall", "hissing": "hiss", "fizzed": "fizz",
		"failing": "fail",
		"filing":  "file", "happy": "happi", "sky": "sky", "relational": "relat", "conditional": "condit",
		"rational": "ration",
		"valenci":  "valenc", "digitizer": "digit", "radicalli": "radic", "differentli": "differ", "vileli": "vile",
		"analogousli": "analog", "vietnamization": "vietnam", "predication": "predic", "operator": "oper",
		"feudalism":    "feudal",
		"decisiveness": "decis", "hopefulness": "hope", "callousness": "callous", "formaliti": "formal",
		"sensitiviti": "sensit",
		"sensibiliti": "sensibl", "triplicate": "triplic", "formative": "form", "formalize": "formal",
		"electriciti": "electr",
		"electrical":  "electr", "hopeful": "hope", "goodness": "good", "revival": "reviv", "allowance": "allow",
		"inference": "infer",
		"airliner":  "airlin", "gyroscopic": "gyroscop", "adjustable": "adjust", "defensible": "defens",
		"irritant":    "irrit",
		"replacement": "replac", "adjustment": "adjust", "dependent": "depend", "adoption": "adopt",
		"communism": "commun",
		"activate":  "activ", "angulariti": "angular", "homologous": "homolog", "effective": "effect",
		"bowdlerize": "bowdler",
		"probate":    "probat", "rate": "rate", "cease": "ceas", "controll": "control", "roll": "roll",
		"generalizations": "gener",
		"oscillators":     "oscil", "bananas": "banana", "deployments": "deploy", "yyy": "yyi", "eed": "eed",
		"ing": "ing",
	} {
		testenv.Equal(t, string(Porter([]byte(word))), want, word)
	}
}

// The prefilter of highlights must not skip a match.
func TestPrefilterPrefixCoversStem(t *testing.T) {
	t.Parallel()
	ends := []string{"", "s", "es", "ies", "sses", "ed", "eed", "ing", "y", "ly", "ational", "tional", "enci", "anci",
		"izer", "bli", "alli", "entli", "eli", "ousli",
		"ization", "ation", "ator", "alism", "iveness", "fulness", "ousness", "aliti", "iviti", "biliti", "bility",
		"logi", "icate", "ative", "alize", "iciti", "ical", "ful",
		"ness", "al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "sion", "tion", "ou",
		"ism", "ate", "iti", "ous", "ive", "ize", "e", "ll"}
	rapid.Check(t, func(t *rapid.T) {
		end := rapid.SampledFrom(ends)
		word := rapid.StringOfN(rapid.SampledFrom([]rune("aebtlsyzi")), 1, 6, -1).Draw(t, "root") + end.Draw(t, "end") +
			end.Draw(t, "end")
		stem := string(Porter([]byte(word)))
		if stem == "" {
			return
		}
		var f TermPrefilter
		f.AddTerm(stem)
		f.AddTerm(word)
		if len(f.prefixes[word[0]]) != 2 || !f.mayMatch(word) {
			t.Fatalf("%s becomes %s: %v", word, stem, f.prefixes[word[0]])
		}
		f = TermPrefilter{}
		f.AddTerm(stem)
		if !f.mayMatch(word) {
			t.Fatalf("%s becomes %s", word, stem)
		}
	})
}

func TestAnalyzerUnaccentsLongWords(t *testing.T) {
	t.Parallel()
	got := strings.Fields(tokens(strings.Repeat("é", 50)))
	if want := tokens(strings.Repeat("e", 50)); len(got) != 2 || strings.TrimPrefix(got[1], "plain:") != want {
		t.Errorf("%q has no %q", got, want)
	}
}

func TestNormalizedLettersAreUnchanged(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := string(rapid.SliceOfN(rapid.Int32Range(0, letterTableLimit+20), 1, 4).Draw(t, "letters"))
		if isNormalized(s) && strings.Map(FoldRune, norm.NFKC.String(s)) != s {
			t.Fatalf("%q changes", s)
		}
	})
	if !isNormalized("Привіт") || !isNormalized("été") || isNormalized("½") || isNormalized("e\u0301") {
		t.Error("what is plain is not known")
	}
}

func TestWordRuneLenIsSizeOfCharacter(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{"": 0, "-a": 0, "a": 1, "A": 1, "5x": 1, "é": 2, "本": 3, "\u00adx": 3} {
		testenv.Equal(t, wordRuneLen(text), want, text)
	}
}

func TestAnalyzeReadsLongTokenInPieces(t *testing.T) {
	t.Parallel()
	for _, piece := range []string{"数", "ﷺ", "e\u0301", "ｶﾞ", "\u1112\u1161\u11ab"} {
		text := strings.Repeat(piece, 40_000/len(piece))
		end, terms := 0, 0
		a := Analyzer{}
		a.Emit = func(_ []byte, r TokenType) {
			from, to := a.SourceOffsets()
			if terms++; from%len(piece) != 0 || to%len(piece) != 0 || to <= from || from > end {
				t.Fatalf("%q: a term from %d to %d, after %d", piece, from, to, end)
			}
			end = max(end, to)
		}
		if a.Analyze(text); end != len(text) {
			t.Errorf("%q: %d of %d bytes are read", piece, end, len(text))
		}
		terms, a.Emit = 0, func([]byte, TokenType) {
			terms++
			a.Stop()
		}
		if a.Analyze(text); terms > 16<<10 {
			t.Errorf("%q: %d terms after Stop", piece, terms)
		}
	}
}

func TestOtherNumbersAreNoPhoneNumbers(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"2025-03-14", "14.03.2025", "01/03/2025", "192.168.1.100", "10.0.19045.3803", "0.1234567", "1 2 3 4 5 6 7 8",
		"12345678", "1,234,567", "12:34:56.789",
		"2025-03-14 10:30", "555-01", "0123456", "12 34 56 78 90 12 34 56", "550e8400-e29b-41d4", "1234-5678-abc",
		"030 1234567x", "030-1234567-a",
	} {
		testenv.Equal(t, phoneAt(text, 0).suffix, "", "is read as the phone number", text)
	}
}

func TestQuestionSpansAreFound(t *testing.T) {
	t.Parallel()
	for run, want := range map[string][][2]int{
		"":           nil,
		"量子":         nil,
		"为什么量子是什么意思": {{0, 9}, {15, 30}},
		"谁在哪里":       {{0, 12}},
	} {
		testenv.EqualSlices(t, QuestionSpans(run), want, run)
	}
}

func TestNormalizedWordsListsWords(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": " ", "!! -": " ", "Code, REVIEW v1.2": " code review v1 2 ", "STRASSE Straße": " strasse strasse ",
		"ΣΟΦΌΣ": " σοφόσ ", "Cafe\u0301": " café ",
		"東京へ": " 東 京 へ ", "使用Docker部署": " 使 用 docker 部 署 ", "ที่นี่": " ที่ นี่ ", "ﾃﾞｰﾀ ＡＢ": " デ ー タ ab ",
		"soft\u00adhyphen": " softhyphen ", "हिन्दी": " हिन्दी ",
	} {
		testenv.Equal(t, NormalizedWords(text), want, text)
	}
	testenv.Equal(t, NormalizedWords("one", "", "two"), " one two ", "texts give")
}

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
				testenv.RequireEqual(t, string(s.stem([]byte(w))), want, w)
			}
		}
	}
}

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

func TestNormalSizeIsThatOfNormalForms(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		texts []string
		want  int
	}{
		"none":              {nil, 0},
		"ASCII":             {[]string{"one", "two"}, 6},
		"in normal form":    {[]string{"größe 漢字"}, 14},
		"that grows":        {[]string{"\ufdfa", "½"}, 33 + 5},
		"that grows beyond": {[]string{strings.Repeat("\ufdfa", LongText/33+1)}, (LongText/33 + 1) * 33},
		"long":              {[]string{strings.Repeat("é", LongText)}, 2 * LongText},
	} {
		testenv.Equal(t, NormalSize(c.texts...), c.want, name)
	}
}
