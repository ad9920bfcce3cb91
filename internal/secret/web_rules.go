package secret

import (
	"encoding/base64"
	"strings"
)

// A measuredRun is a measured run of one class.
type measuredRun struct{ from, to int }

// runEndAt returns the end of the run of a class at i. It caches the last run of each part of a token and extends it to
// the left. So a text of one run with many starts is measured once.
func (s *scanner) runEndAt(part int, c class, i, end int) int {
	known := &s.runs[part]
	switch {
	case i < known.from && runEnd(s.text, c, i, known.from) == known.from:
		known.from = i
	case i < known.from || i > known.to || known.to == 0:
		*known = measuredRun{i, runEnd(s.text, c, i, len(s.text))}
	}
	return min(known.to, end)
}

// findJWT finds a signed token in its compact form (RFC 7519). It has three parts: the first two are JSON objects, and
// the last may be empty.
func findJWT(s *scanner, i, end int) (from, to int) {
	const leastPart, leastSignature = 19, 10
	text := s.text[:end]
	if !strings.HasPrefix(text[i:], "eyJ") {
		return 0, 0
	}
	head := s.runEndAt(0, dash, i, end)
	if head-i < leastPart || !strings.HasPrefix(text[head:], ".ey") {
		return 0, 0
	}
	claims := s.runEndAt(1, dash, head+1, end)
	if claims-head <= leastPart || claims == end || text[claims] != '.' {
		return 0, 0
	}
	to = trimMarks(text, i, s.runEndAt(2, dash, claims+1, end))
	if n := to - claims - 1; n > 0 && n < leastSignature || !isPlausible(text[i:to], 3) {
		return 0, 0
	}
	s.requireReach(i, isTokenStart(text, i))
	return i, to
}

// findBase64JWT finds a token that is base64 encoded as a whole once more. Its header is a JSON object.
func findBase64JWT(s *scanner, i, end int) (from, to int) {
	const first, minimum = 40, 60
	text := s.text[:end]
	to = s.runEndAt(3, b64, i, end)
	if to-i < minimum || !strings.HasPrefix(text[i:], "ZXlK") {
		return 0, 0
	}
	once, err := base64.StdEncoding.DecodeString(text[i : i+first])
	if err != nil {
		return 0, 0
	}
	header, err := base64.RawURLEncoding.DecodeString(string(once[:len(once)/4*4]))
	if err != nil || !strings.HasPrefix(string(header), `{"`) || strings.IndexByte(string(header[2:]), '"') <= 0 {
		return 0, 0
	}
	s.requireReach(i, isTokenStart(text, i))
	return i, skipPadding(text, to)
}

// findSentryOrg finds an organization token: base64 of JSON that names a region, and a signature.
func findSentryOrg(s *scanner, i, end int) (from, to int) {
	const prefix, minimum, signature = "sntrys_eyJpYXQiO", 30, 43
	text := s.text[:end]
	if !strings.HasPrefix(text[i:], prefix) {
		return 0, 0
	}
	claims := runEnd(text, b64, i+len("sntrys_"), end)
	mark := skipPadding(text, claims)
	to = runEnd(text, b64, min(mark+1, end), min(mark+1+signature, end))
	if claims-i < minimum || mark == end || text[mark] != '_' || to-mark-1 != signature {
		return 0, 0
	}
	return i, to
}

const (
	maxAuthority    = 512
	minSecretLength = 6
)

// findURLPassword finds the password of scheme://user:password@host (RFC 3986,
// 3.2.1). A password contains all bytes but the ends of an authority, an @ too.
func findURLPassword(s *scanner, i, end int) (from, to int) {
	if i == 0 || classes[s.text[i-1]]&alnum == 0 || !strings.HasPrefix(s.text[i:end], "://") {
		return 0, 0
	}
	i += len("://")
	authority := s.text[i:min(end, i+maxAuthority)]
	if n := strings.IndexAny(authority, "/?#<>\"'`|,; \t\r\n\\"); n >= 0 {
		authority = authority[:n]
	}
	host := strings.LastIndexByte(authority, '@')
	if host < 0 || host+1 == len(authority) {
		return 0, 0
	}
	user, password, found := strings.Cut(authority[:host], ":")
	// Brackets belong to the mark of Redact, never to a user name or password.
	if !found || strings.ContainsAny(authority[:host], "[]") || len(password) < minSecretLength || password == user ||
		isExamplePassword(password) {
		return 0, 0
	}
	to = i + host
	return to - len(password), to
}

// isExamplePassword reports whether a password is a common documentation
// example. A password that looks random is none, although it may contain one of
// the words by chance.
func isExamplePassword(password string) bool {
	const leastRandom = 12
	if strings.ContainsAny(password, "{}<>$*%()") && !strings.ContainsAny(password, "0123456789") ||
		strings.ContainsAny(password[:1], "${<*(") || isPlaceholder(password) {
		return true
	}
	if looksShuffled(password, leastRandom) {
		return false
	}
	small := strings.ToLower(password)
	return countBytes(small, digit) < 3 &&
		containsAny(small, []string{"pass", "secret", "token", "pwd", "user", "key", "hunter", "sesame"})
}
