package secret

import (
	"slices"
	"strings"
)

// credentialWords are words that make a name the name of a credential.
var credentialWords = []string{"key", "token", "secret", "pass", "auth", "api", "cred", "login"}

// valueStart returns the start of the value that a text assigns to the name with the keyword at i, or 0. Names and
// assignments are those of programs, YAML, JSON, .env files and shells: DISCORD_BOT_TOKEN=, "discord.secret": ", :=,
// =>.
func (s *scanner) valueStart(i int, keyword, word string, end int) int {
	const rest = 20 // bytes of a name after the keyword
	text := s.text[:end]
	if !hasPrefixFold(text, i, keyword) {
		return 0
	}
	name := i + len(keyword)
	j := name
	for limit := min(end, name+rest); j < limit &&
		(classes[text[j]]&(dash|blank) != 0 && text[j] != '\n' || text[j] == '.'); {
		j++
	}
	if word != "" && !namesCredential(strings.ToLower(text[name:j]), word) {
		return 0
	}
	sign, _ := skipNameQuote(text, j)
	from := skipAssignment(text, sign, allAssignmentSigns...)
	if from > 0 {
		s.requireReach(i, isNameStart(text, i))
	}
	return from
}

// isNameStart reports whether a name or a part of a name begins at i. The keyword "sonar" begins a part of mySonar and
// my_sonar, but not of personary. A keyword that does not begin with a letter begins anywhere.
func isNameStart(text string, i int) bool {
	if i == 0 || classes[text[i]]&alpha == 0 || classes[text[i-1]]&alpha == 0 {
		return true
	}
	upper := func(b byte) bool { return classes[b]&alpha != 0 && b < 'a' }
	return upper(text[i]) && !upper(text[i-1]) || endsWithEscape(text[:i])
}

func namesCredential(name, word string) bool {
	if word == "*" {
		return containsAny(name, credentialWords)
	}
	return strings.Contains(name, word)
}

// signs assign a value to a name. The last three assign in some languages only.
var (
	assignmentSigns    = []string{":::=", "::=", ":=", "=>", "?=", "=", ":"}
	allAssignmentSigns = append(slices.Clone(assignmentSigns), ">", "||", ",")
)

// skipAssignment skips an assignment sign and the quotes, white space and backslashes around it. It returns the start
// of the value, or 0 without a sign.
func skipAssignment(text string, i int, signs ...string) int {
	i = skipSpaceAnd(text, i, "\"'`\\")
	for _, sign := range signs {
		if strings.HasPrefix(text[i:], sign) {
			return skipSpaceAnd(text, i+len(sign), "\"'`\\=")
		}
	}
	return 0
}

// skipSpaceAnd skips white space and some other bytes, few of them.
func skipSpaceAnd(text string, i int, others string) int {
	const maximum = 6
	for end := min(len(text), i+maximum); i < end &&
		(classes[text[i]]&blank != 0 || strings.IndexByte(others, text[i]) >= 0); {
		i++
	}
	return i
}
