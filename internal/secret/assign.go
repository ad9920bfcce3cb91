package secret

import (
	"slices"
	"strings"
)

// speaking are words that make a name one of a credential.
var speaking = []string{"key", "token", "secret", "pass", "auth", "api", "cred", "login"}

// value is where the value begins that a text assigns to the name with the
// keyword at i, 0 for none. Names and assignments are those of programs, YAML,
// JSON, .env files and shells: DISCORD_BOT_TOKEN=, "discord.secret": ", :=, =>.
func (s *scanner) value(i int, keyword, word string, end int) int {
	const rest = 20 // bytes of a name after the keyword
	text := s.text[:end]
	if !hasFold(text, i, keyword) {
		return 0
	}
	name := i + len(keyword)
	j := name
	for limit := min(end, name+rest); j < limit && (classes[text[j]]&(dash|blank) != 0 && text[j] != '\n' || text[j] == '.'); {
		j++
	}
	if word != "" && !speaks(strings.ToLower(text[name:j]), word) {
		return 0
	}
	sign, _ := skipNameQuote(text, j)
	from := after(text, sign, allSigns...)
	if from > 0 {
		s.ask(i, begins(text, i))
	}
	return from
}

// begins reports whether a name begins at i, or a part of one: the keyword
// "sonar" stands in mySonar and in my_sonar, and not in personary. One that
// begins with no letter begins anywhere.
func begins(text string, i int) bool {
	if i == 0 || classes[text[i]]&alpha == 0 || classes[text[i-1]]&alpha == 0 {
		return true
	}
	upper := func(b byte) bool { return classes[b]&alpha != 0 && b < 'a' }
	return upper(text[i]) && !upper(text[i-1]) || escaped(text[:i])
}

func speaks(name, word string) bool {
	if word != "*" {
		return strings.Contains(name, word)
	}
	for _, w := range speaking {
		if strings.Contains(name, w) {
			return true
		}
	}
	return false
}

// signs assign a value to a name. The last three do in some languages only.
var (
	signs    = []string{":::=", "::=", ":=", "=>", "?=", "=", ":"}
	allSigns = append(slices.Clone(signs), ">", "||", ",")
)

// after skips a sign of assignment with what may stand around it, quotes, white
// space and backslashes, and returns where the value begins, 0 for no sign.
func after(text string, i int, signs ...string) int {
	i = around(text, i, "\"'`\\")
	for _, sign := range signs {
		if strings.HasPrefix(text[i:], sign) {
			return around(text, i+len(sign), "\"'`\\=")
		}
	}
	return 0
}

// around skips white space and some other bytes, few of them.
func around(text string, i int, others string) int {
	const most = 6
	for end := min(len(text), i+most); i < end && (classes[text[i]]&blank != 0 || strings.IndexByte(others, text[i]) >= 0); {
		i++
	}
	return i
}
