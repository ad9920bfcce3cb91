package query

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/loci-memory/loci/internal/analysis/analysistest"
	"github.com/loci-memory/loci/internal/dates"
	"github.com/loci-memory/loci/internal/index"
	"github.com/loci-memory/loci/internal/index/indextest"
	"github.com/loci-memory/loci/internal/testenv"
)

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
		d := index.Analyze("", c.text)
		if q := Parse(c.query); coveredWords(d, q) != q.wordCount || q.wordCount == 0 {
			t.Errorf("%q does not find %q: %v in %v", c.query, c.text, q.terms, d.Terms)
		}
	}
}

func TestParseDropsStopWords(t *testing.T) {
	t.Parallel()
	if q := Parse("what is the answer"); len(q.terms) != 1 || q.terms[0].text != "answer" {
		t.Errorf("got %v, want answer alone", q.terms)
	}
	if q := Parse("to be or not to be"); q.wordCount != 4 || len(q.wordBigrams) != 4 {
		t.Errorf("got %v and pairs %v, want all four words and pairs", q.terms, q.wordBigrams)
	}
	testenv.Equal(t, indextest.Freq(index.Analyze("", "the"), "the"), 1, "the text has lost its stop word")
}

// Quadratic work on one of these texts takes minutes and exceeds the time limit of the run.
func TestAnalyzeIsLinearForHostileText(t *testing.T) {
	t.Parallel()
	size := 256 << 10
	if testing.Short() { // with the race detector
		size /= 8
	}
	for name, piece := range analysistest.Hostile {
		text := strings.Repeat(piece, size/len(piece))
		q := Parse(text[:4*len(piece)])
		indextest.CheckDocument(t, index.Analyze(text, text))
		if got := dates.Parse(text + " on 7 May 2023"); len(got) != 1 {
			t.Errorf("%s: %d dates", name, len(got))
		}
		for _, s := range q.Match(text).Highlights() {
			if n := utf8.RuneCountInString(s); n > snippetRunes {
				t.Errorf("%s: snippet of %d characters", name, n)
			}
		}
	}
}

// The prefilter must only skip texts without a match.
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

func TestRareNameDecidesQuestionRanking(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, query, asked string }{
		{"纳木错湖泊", "纳木错是什么？在哪里？", "这是什么？那是什么？是什么在哪里？"},
		{"ナムツォ湖", "ナムツォとは何ですか、どこですか", "これは何ですか。あれは何ですか。それはどこですか。"},
		{"นามโช ทะเลสาบ", "นามโชคืออะไร อยู่ที่ไหน", "นี่คืออะไร นั่นคืออะไร มันอยู่ที่ไหน อยู่ที่ไหน"},
		{"남초호수", "남초는 무엇인가요 어디에 있나요", "이것은 무엇인가요 저것은 무엇인가요 어디에 있나요 있나요"},
	} {
		d := indextest.NewStore()
		v := buildSnapshot(t, d, c.asked, c.name, "end of it", "more of it", c.asked+" end")
		if got, err := searchRewritten(v, d, c.query); err != nil || len(got) == 0 || got[0] != 2 {
			t.Errorf("%s finds %v, %v", c.query, got, err)
		}
	}
}

// TestParseWeighsTerms weakens stop words, phrases of questions and joined pairs, and strengthens repeated words.
func TestParseWeighsTerms(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{
		"sign-in":                           "sign:1.00 signin:1.00",
		"sign alpha sign-in":                "sign:1.33 signin:1.00 alphasign:0.10 | alpha:1.00 signalpha:0.10",
		"tulip up-to date":                  "tulip:1.00 | date:1.00 tulipd:0.10",
		"量子是什么":                             "量子:1.00 | 子是:1.00",
		"什么是量子":                             "是量:1.00 | 量子:1.00",
		"量子在哪裡":                             "量子:1.00 | 子在:1.00",
		"東京タワーはどこですか":                       "東京:1.00 | 京タ:1.00 | タワ:1.00 | ワー:1.00 | ーは:1.00",
		"サンタは誰ですか":                          "サン:1.00 | ンタ:1.00 | タは:1.00",
		"서울타워는 어디에 있나요":                     "서울:1.00 | 울타:1.00 | 타워:1.00 | 워는:1.00",
		"什么是":                               "什么:1.00 | 么是:1.00",
		"なぜ":                                "なぜ:1.00",
		"谁 rides":                           "rides:0.30 ride:1.00",
		"apple":                             "apple:0.30 appl:1.00",
		"apple apple":                       "apple:0.40 appl:1.33",
		"plum plums":                        "plum:1.33 | plums:1.00 plumplum:0.10",
		"plums plum":                        "plums:0.30 plum:1.33",
		"baking baked bake":                 "baking:0.30 bake:1.50 bakedbak:0.10 | baked:1.00 bakingbak:0.10",
		"university universities universal": "university:0.30 univers:1.50 | universities:1.00 | universal:1.00",
	} {
		testenv.Equal(t, formatTerms(Parse(query)), want, query)
	}
}
