package service

import (
	"slices"
	"testing"
)

func TestRoutingPrefersMostKeywordsThenFirstAtlas(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		keywords [][]string
		text     string
		best     int
		matched  []string
	}{
		{nil, "anything", -1, nil},
		{[][]string{{"art"}}, "start the party", -1, nil},
		{[][]string{{"helm"}, {"helm", "chart"}}, "Upgrade the Helm-chart!", 1, []string{"helm", "chart"}},
		{[][]string{{"alpha"}, {"beta"}}, "beta alpha alpha", 0, []string{"alpha"}},
		{[][]string{{"alpha", "ALPHA"}, {"beta", "gamma"}}, "alpha beta gamma", 1, []string{"beta", "gamma"}},
		{[][]string{{"größe"}}, "die GRÖßE zählt", 0, []string{"größe"}},
		{[][]string{{"straße"}}, "AN DER STRASSE", 0, []string{"straße"}},
		{[][]string{{"STRASSE"}}, "an der Straße", 0, []string{"STRASSE"}},
		{[][]string{{"café"}}, "le CAFE\u0301", 0, []string{"café"}},
		{[][]string{{"東京"}}, "東京へ行く", 0, []string{"東京"}},
		{[][]string{{"京都"}, {"ﾃﾞｰﾀ"}}, "東京のデータを都へ", 1, []string{"ﾃﾞｰﾀ"}},
		{[][]string{{"อาหาร"}, {"회의"}}, "내일 회의를 한다", 1, []string{"회의"}},
		{[][]string{{"code review"}}, "the Code, review", 0, []string{"code review"}},
		{[][]string{{"code review"}}, "review the code", -1, nil},
		{[][]string{{"!!"}}, "!! what", -1, nil},
	} {
		if got := matchAtlas(c.keywords, c.text); got.atlas != c.best || !slices.Equal(got.keywords, c.matched) {
			t.Errorf("%q with %v: %v, want %d %v", c.text, c.keywords, got, c.best, c.matched)
		}
	}
}
