package analysis

import "testing"

func TestNormalizedWordsListsWords(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": " ", "!! -": " ", "Code, REVIEW v1.2": " code review v1 2 ", "STRASSE Straße": " strasse strasse ",
		"ΣΟΦΌΣ": " σοφόσ ", "Cafe\u0301": " café ",
		"東京へ": " 東 京 へ ", "使用Docker部署": " 使 用 docker 部 署 ", "ที่นี่": " ที่ นี่ ", "ﾃﾞｰﾀ ＡＢ": " デ ー タ ab ",
		"soft\u00adhyphen": " softhyphen ", "हिन्दी": " हिन्दी ",
	} {
		if got := NormalizedWords(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if got := NormalizedWords("one", "", "two"); got != " one two " {
		t.Errorf("texts give %q", got)
	}
}
