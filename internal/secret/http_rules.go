package secret

import (
	"encoding/base64"
	"strings"
)

// authSchemes are the HTTP authentication schemes whose value is a token or a key.
var authSchemes = []string{"bearer", "token", "apikey", "api-key"}

// findAuthorization finds the credential of an Authorization field (RFC 9110, 11.6.2) of the schemes Basic, Token and
// others. The rule for Bearer has its own anchor.
func findAuthorization(s *scanner, i, end int) (from, to int) {
	const name = "authorization"
	text := s.text[:end]
	if !hasPrefixFold(text, i, name) {
		return 0, 0
	}
	at, _ := skipNameQuote(text, i+len(name))
	at = skipAssignment(text, at, allAssignmentSigns...)
	if at == 0 {
		return 0, 0
	}
	s.requireReach(i, isNameStart(text, i))
	if hasPrefixFold(text, at, "basic") {
		return findBasic(text, at+len("basic"))
	}
	for _, scheme := range authSchemes[1:] {
		if hasPrefixFold(text, at, scheme) {
			return findOpaqueToken(text, skipScheme(text, at+len(scheme)))
		}
	}
	return findOpaqueToken(text, at)
}

// findBearer finds a token behind the word Bearer (RFC 6750).
func findBearer(s *scanner, i, end int) (from, to int) {
	text := s.text[:end]
	if !hasPrefixFold(text, i, authSchemes[0]) {
		return 0, 0
	}
	s.requireReach(i, isNameStart(text, i))
	return findOpaqueToken(text, skipScheme(text, i+len(authSchemes[0])))
}

// skipScheme returns the start of the credential behind a scheme that ends at i. It returns the end of the text if no
// space follows.
func skipScheme(text string, i int) int {
	if strings.HasPrefix(text[i:], "%20") {
		return i + len("%20")
	}
	if from := skipBlanks(text, i); from > i {
		return from
	}
	return len(text)
}

// credentialEnd returns the end of the credential at i, or i without a credential.
func credentialEnd(text string, i int) int {
	const maximum = 4096
	to := skipPadding(text, runEnd(text, tilde|b64, i, min(len(text), i+maximum+1)))
	if to-i > maximum || !isValueEnd(text, to) {
		return i
	}
	return to
}

// findOpaqueToken finds a random token.
func findOpaqueToken(text string, i int) (from, to int) {
	from, to = i, credentialEnd(text, i)
	piece := text[from:min(to, from+entropySample)]
	random := looksRandom(piece) || looksShuffled(piece, minGenericLength) || isUUID(piece)
	if len(piece) < minGenericLength || !isPlausible(piece, minHexEntropy) || !random {
		return 0, 0
	}
	return from, from + len(strings.TrimRight(text[from:to], punctuationMarks))
}

// findBasic finds base64 of user:password (RFC 7617), unless the password is a documentation example.
func findBasic(text string, i int) (from, to int) {
	const maximum = 512
	from = skipScheme(text, i)
	to = credentialEnd(text, from)
	if to-from > maximum {
		return 0, 0
	}
	decoded, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(text[from:to], "="))
	_, password, found := strings.Cut(string(decoded), ":")
	if err != nil || !found || len(password) < minSecretLength || strings.Contains(password, " ") ||
		isExamplePassword(password) {
		return 0, 0
	}
	for _, b := range decoded {
		if b < ' ' {
			return 0, 0
		}
	}
	return from, to
}

// findNetrc finds the password of a machine in a .netrc file, on one or several lines.
func findNetrc(s *scanner, i, end int) (from, to int) {
	const maximum = 100 // bytes of a name or a word
	text := s.text[:end]
	if !hasPrefixFold(text, i, "machine") {
		return 0, 0
	}
	at := i + len("machine")
	for _, w := range []string{"", "login", "", "password"} {
		from = skipBlanks(text, at)
		to = from
		for limit := min(len(text), from+maximum); to < limit && isGraphic(text[to]) && text[to] != '\\'; {
			to++
		}
		if from == at || to == from || w != "" && text[from:to] != w || strings.Contains(text[from:to], "[REDACTED:") {
			return 0, 0
		}
		at = to
	}
	v, ok := readValue(text, skipBlanks(text, at))
	if !ok || v.from == at || v.to-v.from < minSecretLength || isReference(text, v) {
		return 0, 0
	}
	word := text[v.from:v.to]
	if isExamplePassword(word) || countBytes(word, alpha)+strings.Count(word, "-") == len(word) {
		return 0, 0
	}
	s.requireReach(i, isNameStart(text, i))
	return v.from, v.to
}
