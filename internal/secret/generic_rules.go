package secret

import "strings"

// keyQualifiers are the words before "key" that make it a credential: a key alone may be a key of a map.
var keyQualifiers = []string{
	"api", "secret", "access", "private", "auth", "signing", "encryption", "master", "service", "account", "refresh",
	"bearer", "bot", "personal", "client",
}

// cursorQualifiers are the words before "token" that make it a position in a list.
var cursorQualifiers = []string{"page", "next", "continuation", "cursor", "sync", "resume"}

const (
	minGenericLength  = 16
	maxGenericLength  = 128
	minGenericEntropy = 3.5
	minHexEntropy     = 3 // of hexadecimal digits, which have at most 4
)

// findGeneric finds a long random value assigned to a name that ends in
// api_key, secret, token, password and similar words.
func findGeneric(s *scanner, i, end int) (from, to int) {
	text := s.text[:end]
	name := s.nameEnd(text, i)
	if name == 0 || name < end && classes[text[name]]&dash != 0 {
		return 0, 0
	}
	from, to = plainValue(text, name)
	if !hasPrefixFold(text, i, "passw") { // else the rule generic-password finds them
		from, to = extendWithSymbols(text, from, to, name, minGenericLength)
	}
	return from, to
}

// extendWithSymbols returns the value with symbols around the plain value, if
// it continues with more than marks of the text.
func extendWithSymbols(text string, from, to, name, minimum int) (start, stop int) {
	start, stop = symbolValue(text, name, minimum)
	quoted := stop < len(text) && strings.IndexByte("\\\"'`", text[stop]) >= 0
	if stop <= to || to > 0 && !quoted && countBytes(text[to:stop], alnum) == 0 {
		return from, to
	}
	return start, stop
}

// plainValue finds a value of letters, digits and the marks of base64.
func plainValue(text string, name int) (from, to int) {
	if from = skipAssignment(text, name, assignmentSigns...); from == 0 {
		v, ok := valueAfter(text, name)
		if !ok {
			return 0, 0
		}
		from = v.from
	}
	to = skipPadding(text, runEnd(text, b64all|dot, from, min(len(text), from+maxGenericLength+1)))
	if n := to - from; n < minGenericLength || n > maxGenericLength || !isValueEnd(text, to) {
		return 0, 0
	}
	piece, minimum := text[from:to], minGenericEntropy
	if countBytes(piece, hexAnyCase) == len(piece) {
		minimum = minHexEntropy
	}
	if !isPlausible(piece, minimum) || !looksRandom(piece) && !looksShuffled(piece, minGenericLength) &&
		!isUUID(piece) {
		return 0, 0
	}
	return from, from + len(strings.TrimRight(piece, punctuationMarks))
}

// symbolValue finds a random value of any printable bytes.
func symbolValue(text string, name, minimum int) (from, to int) {
	const leastEntropy = 2.9
	v, ok := valueAfter(text, name)
	if !ok || v.to-v.from < minimum || v.to-v.from > maxGenericLength {
		return 0, 0
	}
	if whole := text[v.from:v.to]; !looksShuffled(whole, minimum) || !isPlausible(whole, leastEntropy) ||
		isReference(text, v) {
		return 0, 0
	}
	return v.from, v.to
}

// isUUID reports whether a value is a UUID, which some providers use as keys.
func isUUID(text string) bool {
	to, _ := compiledUUID.match(text, 0, len(text), false)
	return to == len(text)
}

var compiledUUID = parsePattern(uuidPattern)

// minPasswordLength is the least length of a random password.
const minPasswordLength = 10

// findPassword finds a random value of any printable bytes assigned to a name
// that ends in password, pass, pwd and similar words. Values that look like an
// API key are left to findGeneric.
func findPassword(s *scanner, i, end int) (from, to int) {
	text := s.text[:end]
	name := 0
	for _, w := range []string{"password", "passphrase", "passwd", "passwort", "passcode", "pass", "pwd"} {
		if hasPrefixFold(text, i, w) {
			name = i + len(w)
			break
		}
	}
	if name == 0 || name < end && classes[text[name]]&dash != 0 || isGoTestResult(text, i) {
		return 0, 0
	}
	s.requireReach(i, name-i > len("pass") || isNameStart(text, i))
	from, to = plainValue(text, name)
	start, stop := extendWithSymbols(text, from, to, name, minPasswordLength)
	if stop == to && s.nameEnd(text, i) > 0 {
		return 0, 0
	}
	return start, stop
}

// isGoTestResult reports whether the word at i is the result of a test in Go.
func isGoTestResult(text string, i int) bool {
	return strings.HasPrefix(text[i:], "PASS: ") && (i == 0 || classes[text[i-1]]&blank != 0)
}

// nameEnd returns the end of the credential word at i, or 0 for another word.
func (s *scanner) nameEnd(text string, i int) int {
	for _, w := range []string{"password", "passwd", "secret"} {
		if hasPrefixFold(text, i, w) {
			s.requireReach(i, w != "secret" || isNameStart(text, i))
			return i + len(w)
		}
	}
	if hasPrefixFold(text, i, "key") && endsWithAny(text[:i], keyQualifiers) {
		return i + len("key")
	}
	if hasPrefixFold(text, i, "token") && !endsWithAny(text[:i], cursorQualifiers) {
		s.requireReach(i, isNameStart(text, i) || endsWithAny(text[:i], keyQualifiers))
		return i + len("token")
	}
	return 0
}

// endsWithAny reports whether a text ends in one of the words.
func endsWithAny(text string, words []string) bool {
	if n := len(text); n > 0 && strings.IndexByte("_-. ", text[n-1]) >= 0 {
		text = text[:n-1]
	}
	for _, w := range words {
		if at := len(text) - len(w); at >= 0 && hasPrefixFold(text, at, w) {
			return true
		}
	}
	return false
}

// isValueEnd reports whether a value ends at i: calls, indexes and paths
// continue.
func isValueEnd(text string, i int) bool {
	return i == len(text) || text[i] >= 0x80 || classes[text[i]]&blank != 0 ||
		strings.IndexByte("\"'`;,\\)}]<>&*~?!", text[i]) >= 0
}

// looksRandom reports whether a value looks random. A long piece between its dots, dashes and slashes alternates digits
// and letters, or digits and letters of both cases. Names with a number, dates, versions and UUIDs have no such piece.
func looksRandom(value string) bool {
	const few = 3
	for i := 0; i < len(value); i++ {
		n := runEnd(value, alnum, i, len(value))
		if piece := value[i:n]; n-i >= minGenericLength && countBytes(piece, digit) > 0 &&
			(countClassChanges(piece, digit) >= few || countClassChanges(piece, digit|lowerAlnum) >= len(piece)/2) {
			return true
		}
		i = n
	}
	return false
}

// countClassChanges counts the adjacent bytes with different membership in the given classes.
func countClassChanges(text string, c class) (n int) {
	for i := 1; i < len(text); i++ {
		if (classes[text[i]]^classes[text[i-1]])&c != 0 {
			n++
		}
	}
	return n
}
