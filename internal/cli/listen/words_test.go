package listen

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestWordsFollowQuotes(t *testing.T) {
	t.Parallel()
	for line, want := range map[string][]string{
		"a":                            {"a"},
		"  a\tb \n c ":                 {"a", "b", "c"},
		`a 'b c' "d e"`:                {"a", "b c", "d e"},
		`a'b c'"d"e`:                   {"ab cde"},
		`a '' ""`:                      {"a", "", ""},
		`a\ b \"c\' \\`:                {"a b", `"c'`, `\`},
		`a 'b\c' "d\e \"f\" \\ \$x"`:   {"a", `b\c`, `d\e "f" \ $x`},
		`a '$HOME | x' \$HOME a~ '~'`:  {"a", "$HOME | x", "$HOME", "a~", "~"},
		`sh -c 'jq . > "$1"' x`:        {"sh", "-c", `jq . > "$1"`, "x"},
		`a *.md # {b,c} [d] x=y ? ! %`: {"a", "*.md", "#", "{b,c}", "[d]", "x=y", "?", "!", "%"},
		"ä 'ö ü'":                      {"ä", "ö ü"},
	} {
		if got, err := splitWords(line); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q %v, want %q", line, got, err, want)
		}
	}
}

func TestWordsRefuseShells(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"":              "names no command",
		"  ":            "names no command",
		"'' a":          "names no command",
		"a 'b":          "has a ' without its end",
		`a "b\"`:        "has a \" without its end",
		`a \`:           "ends with a backslash",
		"a | b":         "runs no shell, in which |",
		"a > b":         "in which >",
		"a; b":          "in which ;",
		"a &":           "in which &",
		"(a)":           "in which (",
		"$HOME/a":       "in which $",
		`a "$(b)"`:      "in which $",
		"a `b`":         "in which `",
		`a "` + "`b`\"": "in which `",
		"~/a":           "in which ~",
	} {
		if got, err := splitWords(line); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %q %v, want %s", line, got, err, want)
		}
	}
}

func FuzzQuotedWordsStay(f *testing.F) {
	f.Add("a", "b c", `d"e'f\`)
	f.Add("$x", "`y`\n", "~")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		if a == "" {
			return
		}
		single := func(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
		double := `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", `\$`, "`", "\\`").Replace(b) + `"`
		line := fmt.Sprintf("%s\t%s  %s", single(a), double, single(c))
		if got, err := splitWords(line); err != nil || !slices.Equal(got, []string{a, b, c}) {
			t.Errorf("%q: %q %v", line, got, err)
		}
	})
}
