package secret

import (
	"slices"
	"strings"
)

// An assignedValue is the value that a text assigns to a name. It may contain any printable ASCII byte: between quotes
// up to the closing quote, otherwise up to white space.
type assignedValue struct {
	from, to     int
	quoted       bool
	isExpression bool // an expression of a program, such as f(x)
}

// maxBlanks bounds the white space beside an assignment sign.
const maxBlanks = 12

// valueAfter returns the value that a text assigns to the name that ends at i; ok is false without one. Besides the
// assignment signs it reads environ["NAME"] = "value", define('NAME', 'value'), <name>value</name>, --name value, NAME
// 'value', and prose: "the name is value", "the name of the office is value", "password value".
func valueAfter(text string, i int) (v assignedValue, ok bool) {
	at, quotedName := skipNameQuote(text, i)
	sign := skipBlanks(text, at)
	for _, s := range assignmentSigns {
		if strings.HasPrefix(text[sign:], s) {
			return readValue(text, skipBlanks(text, sign+len(s)))
		}
	}
	switch {
	case strings.HasPrefix(text[at:], ">"):
		to := at + 1
		for limit := min(len(text), to+maxGenericLength+1); to < limit && isGraphic(text[to]) && text[to] != '<'; {
			to++
		}
		return assignedValue{from: at + 1, to: to, quoted: true}, strings.HasPrefix(text[to:], "</")
	case quotedName && strings.HasPrefix(text[sign:], ","):
		v, ok = readValue(text, skipBlanks(text, sign+1))
		return v, ok && v.quoted && isArgument(text, i)
	case sign == i:
		return assignedValue{}, false
	}
	if from := skipCopula(text, sign); from > 0 {
		return readValue(text, from)
	}
	v, ok = readValue(text, sign)
	isSpoken := sign == i+1 && text[i] == ' ' && endsWithAny(text[:i], spokenNames)
	return v, ok && (v.quoted || isOption(text, i) || isSpoken)
}

// spokenNames are the names whose value follows them in prose without a sign.
var spokenNames = []string{"password", "passphrase", "passwort", "passwd"}

// copulas are the words that give a name its value in prose.
var copulas = []string{"is", "ist", "lautet"}

// skipCopula returns the start of the value behind a copula and a few words before it, as in "of the office is", or 0.
func skipCopula(text string, i int) int {
	const mostWords, mostLetters = 6, 20
	for range mostWords {
		to := i
		limit := min(len(text), i+mostLetters)
		for to < limit && (classes[text[to]]&alpha != 0 || text[to] >= 0x80) {
			to++
		}
		behind := strings.TrimPrefix(text[to:], ":")
		if strings.HasPrefix(behind, " ") && slices.Contains(copulas, strings.ToLower(text[i:to])) {
			return skipBlanks(text, len(text)-len(behind))
		}
		if to == i || !strings.HasPrefix(text[to:], " ") {
			return 0
		}
		i = to + 1
	}
	return 0
}

// nameStart returns the start of the name that ends at i.
func nameStart(text string, i int) (from int) {
	const mostName = 40
	for from = i; from > 0 && i-from < mostName && (classes[text[from-1]]&dash != 0 || text[from-1] == '.'); {
		from--
	}
	return from
}

// isArgument reports whether the name that ends at i is in quotes and the first
// argument of a call, as in define('DB_PASSWORD', '...').
func isArgument(text string, i int) bool {
	before := strings.TrimSuffix(strings.TrimRight(text[:nameStart(text, i)], "\"'`\\"), " ")
	return strings.HasSuffix(before, "(")
}

// isOption reports whether the name that ends at i is an option, such as
// --db-password.
func isOption(text string, i int) bool {
	from := nameStart(text, i)
	if !strings.HasPrefix(text[from:i], "--") {
		return false
	}
	return from == 0 || classes[text[from-1]]&blank != 0 || strings.IndexByte("\"'`,(", text[from-1]) >= 0
}

// skipNameQuote skips the quote that ends a name, the bracket of an index, or the stars of Markdown.
func skipNameQuote(text string, i int) (to int, quoted bool) {
	for stars := 2; stars > 0 && i < len(text) && text[i] == '*'; stars-- {
		i++
	}
	to, quoted = skipQuote(text, i)
	if quoted && strings.HasPrefix(text[to:], "]") {
		to++
	}
	return to, quoted
}

func skipBlanks(text string, i int) int {
	return runEnd(text, blank, i, min(len(text), i+maxBlanks))
}

// skipQuote returns the end of the quote at i: a quotation mark behind any few backslashes, as in JSON within a string.
func skipQuote(text string, i int) (to int, ok bool) {
	const mostSlashes = 7
	to = i
	for to < min(len(text), i+mostSlashes) && text[to] == '\\' {
		to++
	}
	if to < len(text) && strings.IndexByte("\"'`", text[to]) >= 0 {
		return to + 1, true
	}
	return i, false
}

// readValue reads the value at i.
func readValue(text string, i int) (v assignedValue, ok bool) {
	if from, quoted := skipQuote(text, i); quoted {
		if to := closingQuote(text, from, text[i:from]); to > 0 {
			return assignedValue{from: from, to: to, quoted: true}, true
		}
		i = from
	}
	to := i
	for limit := min(len(text), i+maxGenericLength+1); to < limit && isGraphic(text[to]) && !isUnquotedEnd(text, to); {
		to++
	}
	whole := text[i:to]
	to = i + len(strings.TrimRight(whole, ".,;:)]}>\"'`"))
	return assignedValue{from: i, to: to, isExpression: isExpression(whole)}, to > i
}

// closingQuote returns the place of the quote that ends the value at i. It returns 0 if white space or another byte
// outside of values precedes it.
func closingQuote(text string, i int, quote string) int {
	for limit := min(len(text), i+maxGenericLength+1); i < limit && isGraphic(text[i]); i++ {
		if strings.HasPrefix(text[i:], quote) {
			return i
		}
		if text[i] == '\\' && len(quote) == 1 && quote != "`" {
			i++
		}
	}
	return 0
}

func isGraphic(b byte) bool { return ' ' < b && b < 0x7f }

// isUnquotedEnd reports whether a value without quotes ends before i: at an
// escaped line end or quote, a closing quote, a tag, or a sign behind which
// another name gets its value, as in URLs and connection strings.
func isUnquotedEnd(text string, i int) bool {
	rest := text[i+1:]
	switch text[i] {
	case '\\':
		return rest != "" && strings.IndexByte("nrt\"'\\", rest[0]) >= 0
	case '"', '\'', '`':
		return rest == "" || classes[rest[0]]&blank != 0 || strings.IndexByte(",;)]}>.:|\\", rest[0]) >= 0
	case '<':
		return strings.HasPrefix(rest, "/")
	case ']':
		return strings.HasPrefix(rest, "(")
	case '&', ',':
		return startsAssignment(rest, "")
	case ';':
		return startsAssignment(rest, " ")
	}
	return false
}

// startsAssignment reports whether a text begins with a name and a sign.
func startsAssignment(text, space string) bool {
	const leastName, mostName = 3, 24
	n := 0
	for n < min(len(text), mostName) && (classes[text[n]]&dash != 0 ||
		strings.HasPrefix(text[n:], space) && space != "") {
		n++
	}
	return n >= leastName && n < len(text) && (text[n] == '=' || text[n] == ':')
}

// referenceMarkers are pieces of non-values: references, formats, addresses, expressions, and the marks of Redact.
var referenceMarkers = []string{
	"${", "$(", "{{", "#{", "<%", "%(", "://", "[REDACTED:", "a-z", "A-Z", "0-9", "(?", "ENC[", "ENC(",
	`\x1b`, `\033[`, `\e[`, `\u001b`,
}

// expressionOperators are pieces of expressions of programs.
var expressionOperators = []string{"&&", "||", "==", "=>", "->", "::", ");", ">>", "<<"}

// isReference reports whether a value refers to another value, or is a hash ($2b$12$..., {SSHA}..., sha256:...).
func isReference(text string, v assignedValue) bool {
	whole := text[v.from:v.to]
	if v.isExpression || containsAny(whole, referenceMarkers) {
		return true
	}
	if whole[0] == '$' || whole[0] == '{' || whole[0] == '<' {
		n := runEnd(whole, word, 1, len(whole))
		if n == len(whole) || n > 1 && strings.IndexByte("$}>", whole[n]) >= 0 {
			return true
		}
	}
	const leastName = 4 // of an algorithm
	n := runEnd(whole, lowerAlnum, 0, len(whole))
	return n >= leastName && n < len(whole) && strings.IndexByte(":-$", whole[n]) >= 0 &&
		countBytes(whole[:n], digit) > 0
}

// isExpression reports whether a value is an expression of a program: brackets
// are opened and closed, or opened behind a name.
func isExpression(text string) bool {
	const end = 2 // letters that a name ends in
	n := strings.IndexAny(text, "([")
	if containsAny(text, expressionOperators) ||
		n > end && countBytes(text[n-end:n], lowerAlnum) == end && classes[text[n-end-1]]&alpha != 0 {
		return true
	}
	for _, pair := range []string{"()", "[]", "{}"} {
		from := strings.IndexByte(text, pair[0]) + 1
		if n := runEnd(text, dot|b64, from, len(text)); from > 0 && strings.HasPrefix(text[n:], pair[1:]) {
			return true
		}
	}
	return false
}

// looksShuffled reports whether the bytes of a value look random. Its lower-case letters, capitals, digits and symbols
// alternate nearly as often as by chance, and it contains no word. Marks such as - and . join words, so they do not
// count.
func looksShuffled(text string, minimum int) bool {
	const (
		longestWord  = 5
		leastLetters = 20 // of a value of letters alone
	)
	var counts [4]int
	n, turns, last, same := 0, 0, -1, 0
	for i := range len(text) {
		kind := 3
		switch c := classes[text[i]]; {
		case strings.IndexByte("-_./:", text[i]) >= 0:
			same = 0
			continue
		case c&digit != 0:
			kind = 2
		case c&upperAlnum != 0:
			kind = 1
		case c&lowerAlnum != 0:
			kind = 0
		}
		if n > 0 && kind != last {
			turns, same = turns+1, 0
		}
		if same++; kind == 0 && same > longestWord+len(text)/16 {
			return false
		}
		counts[kind]++
		n, last = n+1, kind
	}
	kinds := 0
	for _, c := range counts {
		kinds += min(c, 1)
	}
	if isPath := counts[3] == 0 && strings.ContainsAny(text, "./:"); isPath &&
		(n < minGenericLength || turns*20 < 11*(n-1)) {
		return false
	}
	letters := counts[0] + counts[1]
	switch {
	case len(text) < minimum || n*4 < minimum*3 || letters*4 < n:
		return false
	case kinds >= 3 && counts[2] == 0:
		return turns*2 > n
	case kinds >= 3:
		return turns*20 >= 9*(n-1)
	default:
		return letters == n && kinds == 2 && n >= leastLetters && turns*5 >= 2*(n-1)
	}
}
