package search

import (
	"bufio"
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"
)

var tokenTypeNames = [...]string{"", "whole:", "stem:", "plain:", "", "letter:", "lone:", "united:"}

func tokens(text string) string {
	var list []string
	var a analyzer
	a.emit = func(term []byte, r tokenType) {
		name := tokenTypeNames[r]
		if r == bigram {
			name = "gram:"
		}
		list = append(list, name+string(term))
	}
	a.analyze(text)
	return strings.Join(list, " ")
}

func TestAnalyzerEmitsGoldenTokens(t *testing.T) {
	t.Parallel()
	file, err := os.Open("testdata/tokens.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		text, want, ok := strings.Cut(lines.Text(), " => ")
		if !ok || strings.HasPrefix(text, "#") {
			continue
		}
		if got := tokens(text); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", text, got, want)
		}
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
				want += (foldRune(r-1) - '0' + 1) % 10
			}
			if got := foldRune(r); got != want {
				t.Errorf("%c is %c, want %c", r, got, want)
			}
		}
	}
	if digits%10 != 0 || digits < 500 {
		t.Errorf("%d digits", digits)
	}
}

func TestQueriesMatchTexts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ query, text string }{
		{"cve-2024-3094", "Patch CVE-2024-3094 today"},
		{"CVE-2024-3094", "the backdoor (Cve-2024-3094)."},
		{"1.29.3", "Kubernetes v1.29.3-rc.2 is out"},
		{"v1.29.3", "tag v1.29.3-rc.2"},
		{"parse_http_header", "call parse_http_header() twice"},
		{"http header", "call parse_http_header() twice"},
		{"getUserById", "func getUserById(id int)"},
		{"user", "func getUserById(id int)"},
		{"数据库", "我们在凌晨迁移了数据库。"},
		{"凌晨", "我们在凌晨迁移了数据库。"},
		{"库", "我们在凌晨迁移了数据库。"},
		{"東京", "東京データセンターで障害が発生した"},
		{"障害", "東京データセンターで障害が発生した"},
		{"データセンター", "東京データセンターで障害が発生した"},
		{"ﾃﾞｰﾀｾﾝﾀｰ", "東京データセンターで障害が発生した"},
		{"копирование", "Резервное Копирование базы"},
		{"4096", "run with --max-open-files=4096"},
		{"--max-open-files", "run with --max-open-files=4096"},
		{"billing@example.org", "write to Billing@Example.org."},
		{"example.org", "write to billing@example.org"},
		{"billing", "write to billing@example.org"},
		{"loci.service", "edit /etc/systemd/system/loci.service first"},
		{"/etc/systemd/system/loci.service", "edit /etc/systemd/system/loci.service first"},
		{"pgx.ErrNoRows", "returns pgx.ErrNoRows"},
		{"ErrNoRows", "returns pgx.ErrNoRows"},
		{"überprüfung", "Die Überprüfung läuft"},
		{"Überprüfung", "die überprüfung läuft"},
		{"cafe", "am Café Central"},
		{"café", "the old cafe"},
		{"cafe", "two cafés"},
		{"BANANA", "ripe bananas"},
		{"deployment frozen", "Deployments are frozen"},
		{"the who", "we saw The Who live"},
		{"데이터", "데이터베이스를 옮겼다"},
		{"อาหาร", "ร้านอาหารไทย"},
		{"warning", "⚠️Warning: the key 1️⃣"},
		{"deployment", "The deploy\u00adment of it\u2060"},
		{"كتاب", "هذا كتـــاب"},
		{"می\u200cخواهم", "من میخواهم"},
		{"2567", "ปี๒๕๖๗"},
	} {
		d := Analyze("", c.text)
		q := Parse(c.query)
		if coveredWords(d, q) != q.wordCount || q.wordCount == 0 {
			t.Errorf("%q does not find %q: %v in %v", c.query, c.text, q.terms, d.terms)
		}
	}
}

func TestParseDropsStopWords(t *testing.T) {
	t.Parallel()
	if q := Parse("what is the answer"); len(q.terms) != 1 || q.terms[0].text != "answer" {
		t.Errorf("got %v, want answer alone", q.terms)
	}
	if q := Parse("to be or not to be"); q.wordCount != 4 {
		t.Errorf("got %v, want all four words", q.terms)
	}
	if Analyze("", "the").freq("the") != 1 {
		t.Error("the text has lost its stop word")
	}
}

func TestTitleCountsThreeTimesUnlessItRepeatsContent(t *testing.T) {
	t.Parallel()
	line := "frozen lake " + strings.Repeat("x", maxHeadingRunes)
	if d := Analyze(line, " "+line+"!"); d.freq("frozen") != 1 || d.length != 3 {
		t.Errorf("the first line gives %+v", d)
	}
	d := Analyze("frozen", "frozen lake")
	if d.freq("frozen") != 4 || d.freq("lake") != 1 || d.length != 3 {
		t.Errorf("got %+v", d)
	}
}

func TestTruncateTermKeepsLongTermsDistinct(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 100)
	a, b := Analyze("", long+"x"), Analyze("", long+"y")
	if len(a.terms) != 1 || len(a.terms[0].text) > maxTermBytes || a.terms[0] == b.terms[0] {
		t.Errorf("got %v and %v", a.terms, b.terms)
	}
}

// hostile are texts of 256 KiB that invite more than linear time.
var hostile = map[string]string{
	"one word": "a", "capitals": "aA", "digits": "a1", "dots": "a.", "path": "a/b-c.d_", "dashes": "--a",
	"marks":   "\u0301",
	"stacked": "e\u0301\u0302", "han": "数", "thai marks": "ก\u0e35", "thai": "\u0e35", "combined": "한a数1.é_",
	"apostrophe": "a's", "y": "y",
	"ligature": "ﷺ", "versions": "v1.", "emoji": "👩‍👩‍👧", "unseen": "\u200b", "unseen in a word": "a\u00ad\u200b",
	"unseen joint": "a-\u200b", "tatweel": "ـ",
}

// Quadratic work on one of these takes minutes: the time limit of the run ends it.
func TestAnalyzeIsLinearForHostileText(t *testing.T) {
	t.Parallel()
	const size = 256 << 10
	for name, piece := range hostile {
		text := strings.Repeat(piece, size/len(piece))
		q := Parse(text[:4*len(piece)])
		checkDocument(t, Analyze(text, text))
		if got := Dates(text + " on 7 May 2023"); len(got) != 1 {
			t.Errorf("%s: %d dates", name, len(got))
		}
		for _, s := range q.Match(text).Highlights() {
			if n := utf8.RuneCountInString(s); n > snippetRunes {
				t.Errorf("%s: snippet of %d characters", name, n)
			}
		}
	}
}

func checkDocument(t testing.TB, d Document) {
	if !d.valid() {
		t.Error("terms are not sorted, or without frequency")
	}
	for _, e := range d.terms {
		if e.text == "" || len(e.text) > maxTermBytes || !utf8.ValidString(e.text) {
			t.Errorf("bad term %q", e.text)
		}
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
		if got := string(porter([]byte(word))); got != want {
			t.Errorf("%s: got %s, want %s", word, got, want)
		}
	}
}

// What highlights pass over must not be what they look for.
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
		stem := string(porter([]byte(word)))
		if stem == "" {
			return
		}
		var r termPrefilter
		r.addTerm(stem)
		r.addTerm(word)
		if len(r.prefixes[word[0]]) != 2 || !r.mayMatch(word) {
			t.Fatalf("%s becomes %s: %v", word, stem, r.prefixes[word[0]])
		}
		r = termPrefilter{}
		r.addTerm(stem)
		if !r.mayMatch(word) {
			t.Fatalf("%s becomes %s", word, stem)
		}
	})
}

// What a reading passes over in haste is nothing that the query asks for.
func TestPrefilterKeepsAllMatches(t *testing.T) {
	t.Parallel()
	letters := []rune("aeéiosöuAEBCIÉ'#+0стёежийЁЕЙάαβςדבשהולاأبلوكकनीख़한국漢字かなカ的数ไทย東京ßæŁŉﬁ½ϐ   . " +
		"_-1२٢\u00ad\u200dـ\ufe0f\u0301\u0306\u05b7\u093c")
	rapid.Check(t, func(t *rapid.T) {
		words := func(n int, name string) string {
			return string(rapid.SliceOfN(rapid.SampledFrom(letters), 1, n).Draw(t, name))
		}
		q := Parse(words(12, "query"))
		text := words(80, "text")
		if rapid.Bool().Draw(t, "families") {
			for i := range q.terms {
				if term := &q.terms[i]; utf8.RuneCountInString(term.text) >= minExpandedRunes {
					term.expansion = newPrefixExpansion(term.text)
				}
			}
			q.expansionTerms = nil
			q.buildLookup()
		}
		thorough := q
		thorough.prefilter = nil
		if got, want := q.Match(text).matches, thorough.Match(text).matches; !slices.Equal(got, want) {
			t.Fatalf("%q in %q: %v, not %v", q.text, text, got, want)
		}
	})
}

func TestAnalyzeEncodedEqualsEncodedDocument(t *testing.T) {
	t.Parallel()
	for _, text := range []string{prose, "", "one", "Снег идёт", "从星期五下午", strings.Repeat(prose+" ", 20), prose} {
		if got, want := AnalyzeEncoded("A title", text), Analyze("A title", text).Encode(); !bytes.Equal(got, want) {
			t.Errorf("%.20q: got %q, want %q", text, got, want)
		}
	}
}

// valid reports terms in order, no two alike, each of which occurs.
func (d Document) valid() bool {
	last := ""
	for _, t := range d.terms {
		if t.freq == 0 || t.text <= last {
			return false
		}
		last = t.text
	}
	return true
}

func TestAnalyzerUnaccentsLongWords(t *testing.T) {
	t.Parallel()
	got := strings.Fields(tokens(strings.Repeat("é", 50)))
	if want := tokens(strings.Repeat("e", 50)); len(got) != 2 || strings.TrimPrefix(got[1], "plain:") != want {
		t.Errorf("%q has no %q", got, want)
	}
}

func TestPrefilterHonorsNormalization(t *testing.T) {
	t.Parallel()
	for query, text := range map[string]string{
		"айва": "аи\u0306ва", "йод": "И\u0306ОД", "école": "E\u0301cole", "ecole": "l'École", "straße": "STRASSE",
		"σοφός": "ΣΟΦΌΣ",
		"ψς":    "ΨΣ", "βιβλίο": "ϐιϐλίο", "finale": "ﬁnale", "mañana": "MAN\u0303ANA", "cdx": "ab½cdx",
		"שלום": "שָׁלוֹם", "ऩाम": "न\u093cाम",
		"ÉTAT-major": "état", "ñu": "n\u0303u", "été": "ete",
		"مدرسة": "والمدرسة", "اعضاء": "الأعضاء", "ספר": "בהספר", "כתב": "וְכָתַב",
	} {
		if q := Parse(query); q.Match(text).Empty() {
			t.Errorf("%q is not read in %q", query, text)
		}
	}
}

func TestNormalizedLettersAreUnchanged(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := string(rapid.SliceOfN(rapid.Int32Range(0, letterTableLimit+20), 1, 4).Draw(t, "letters"))
		if isNormalized(s) && strings.Map(foldRune, norm.NFKC.String(s)) != s {
			t.Fatalf("%q changes", s)
		}
	})
	if !isNormalized("Привіт") || !isNormalized("été") || isNormalized("½") || isNormalized("e\u0301") {
		t.Error("what is plain is not known")
	}
}
