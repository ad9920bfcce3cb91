package search

import (
	"slices"
	"testing"
)

func TestQuestionPhrasesWeighLikeStopWords(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ query, want string }{
		{"量子是什么", "量子:1.00 | 子是:1.00"},
		{"什么是量子", "是量:1.00 | 量子:1.00"},
		{"量子在哪裡", "量子:1.00 | 子在:1.00"},
		{"東京タワーはどこですか", "東京:1.00 | 京タ:1.00 | タワ:1.00 | ワー:1.00 | ーは:1.00"},
		{"サンタは誰ですか", "サン:1.00 | ンタ:1.00 | タは:1.00"},
		{"서울타워는 어디에 있나요", "서울:1.00 | 울타:1.00 | 타워:1.00 | 워는:1.00"},
		{"什么是", "什么:1.00 | 么是:1.00"},
		{"なぜ", "なぜ:1.00"},
		{"谁 rides", "rides:0.30 ride:1.00"},
	} {
		if got := formatTerms(Parse(c.query)); got != c.want {
			t.Errorf("%s: %s, want %s", c.query, got, c.want)
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
		d := newFakeStore()
		v := buildSnapshot(t, d, c.asked, c.name, "end of it", "more of it", c.asked+" end")
		if got, err := searchRewritten(v, d, c.query); err != nil || len(got) == 0 || got[0] != 2 {
			t.Errorf("%s finds %v, %v", c.query, got, err)
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
		if got := questionSpans(run); !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", run, got, want)
		}
	}
}
