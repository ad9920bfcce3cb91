package secret

import (
	"encoding/base64"
	"strings"
)

// schemes of HTTP authentication whose value is a token or a key.
var schemes = []string{"bearer", "token", "apikey", "api-key"}

// authorization finds the credential of a field Authorization (RFC 9110,
// 11.6.2) of the schemes Basic, Token and the like. The rule for Bearer has an
// anchor of its own.
func authorization(s *scanner, i, end int) (from, to int) {
	const name = "authorization"
	text := s.text[:end]
	if !hasFold(text, i, name) {
		return 0, 0
	}
	at, _ := skipNameQuote(text, i+len(name))
	at = after(text, at, allSigns...)
	if at == 0 {
		return 0, 0
	}
	s.ask(i, begins(text, i))
	if hasFold(text, at, "basic") {
		return basic(text, at+len("basic"))
	}
	for _, scheme := range schemes[1:] {
		if hasFold(text, at, scheme) {
			return opaque(text, behindScheme(text, at+len(scheme)))
		}
	}
	return opaque(text, at)
}

// bearer finds a token behind the word Bearer (RFC 6750).
func bearer(s *scanner, i, end int) (from, to int) {
	text := s.text[:end]
	if !hasFold(text, i, schemes[0]) {
		return 0, 0
	}
	s.ask(i, begins(text, i))
	return opaque(text, behindScheme(text, i+len(schemes[0])))
}

// behindScheme returns where the credential begins behind a scheme that ends at
// i, or the end of the text where no space follows.
func behindScheme(text string, i int) int {
	if strings.HasPrefix(text[i:], "%20") {
		return i + len("%20")
	}
	if from := skipBlanks(text, i); from > i {
		return from
	}
	return len(text)
}

// credential returns the end of the credential at i, or i for none.
func credential(text string, i int) int {
	const most = 4096
	to := padding(text, run(text, tilde|b64, i, min(len(text), i+most+1)))
	if to-i > most || !ends(text, to) {
		return i
	}
	return to
}

// opaque finds a token that looks drawn by lot.
func opaque(text string, i int) (from, to int) {
	from, to = i, credential(text, i)
	piece := text[from:min(to, from+sample)]
	random := scattered(piece) || shuffled(piece, leastGeneric) || isUUID(piece)
	if len(piece) < leastGeneric || !plausible(piece, hexEntropy) || !random {
		return 0, 0
	}
	return from, from + len(strings.TrimRight(text[from:to], marks))
}

// basic finds base64 of user:password (RFC 7617), unless the password is one of
// documentation.
func basic(text string, i int) (from, to int) {
	const most = 512
	from = behindScheme(text, i)
	to = credential(text, from)
	if to-from > most {
		return 0, 0
	}
	decoded, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(text[from:to], "="))
	_, password, found := strings.Cut(string(decoded), ":")
	if err != nil || !found || len(password) < leastSecret || strings.Contains(password, " ") || spoken(password) {
		return 0, 0
	}
	for _, b := range decoded {
		if b < ' ' {
			return 0, 0
		}
	}
	return from, to
}

// netrc finds the password of a machine in a file .netrc, on one line or on
// some.
func netrc(s *scanner, i, end int) (from, to int) {
	const most = 100 // bytes of a name or a word
	text := s.text[:end]
	if !hasFold(text, i, "machine") {
		return 0, 0
	}
	at := i + len("machine")
	for _, w := range []string{"", "login", "", "password"} {
		from = skipBlanks(text, at)
		to = from
		for limit := min(len(text), from+most); to < limit && isGraphic(text[to]) && text[to] != '\\'; {
			to++
		}
		if from == at || to == from || w != "" && text[from:to] != w || strings.Contains(text[from:to], "[REDACTED:") {
			return 0, 0
		}
		at = to
	}
	v, ok := readValue(text, skipBlanks(text, at))
	if !ok || v.from == at || v.to-v.from < leastSecret || isReference(text, v) {
		return 0, 0
	}
	word := text[v.from:v.to]
	if spoken(word) || bytesOf(word, alpha)+strings.Count(word, "-") == len(word) {
		return 0, 0
	}
	s.ask(i, begins(text, i))
	return v.from, v.to
}
