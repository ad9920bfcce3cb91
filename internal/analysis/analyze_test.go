package analysis

import (
	"bufio"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode"

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
		if p := phoneAt(text, 0); p.suffix != "" {
			t.Errorf("%q is read as the phone number %+v", text, p)
		}
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
				if got := string(s.stem([]byte(w))); got != want {
					t.Fatalf("%q: got %q, want %q", w, got, want)
				}
			}
		}
	}
}
