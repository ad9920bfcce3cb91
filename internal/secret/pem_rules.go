package secret

import "strings"

const (
	pemDashes      = "-----"
	maxLabel       = 120 // of a line BEGIN or END
	maxKeyBytes    = 64 << 10
	minKeyBase64   = 60 // least base64 of a key: Ed25519 in PKCS 8 has 64
	minLineBase64  = 40 // least base64 of a line that is not the last
	maxHeaderLines = 8  // lines of headers before the body, as in RFC 1421
)

// findPEM finds a private key from its BEGIN line to its END line (RFC 7468; PGP calls it a block, RFC 4880). Without
// an END line it ends with the last line that looks like one. A BEGIN line alone, or before "...", is no key.
func findPEM(s *scanner, i, end int) (from, to int) {
	const begin = "begin"
	from = i - len(pemDashes)
	if from < 0 || s.text[from:i] != pemDashes || !hasPrefixFold(s.text[:end], i, begin) {
		return 0, 0
	}
	after := labelEnd(s.text[:end], i+len(begin))
	if after == 0 {
		return 0, 0
	}
	// Bodies have no dashes, so each byte is searched once.
	body, ended := s.text[after:end], false
	if n := strings.Index(body, pemDashes); n >= 0 {
		body, ended = body[:n], hasPrefixFold(s.text[:end], after+n+len(pemDashes), "end")
	}
	if ended && len(body) <= maxKeyBytes && hasRandomRun(body) && countBytes(body, b64) >= minKeyBase64 {
		if to = labelEnd(s.text[:end], after+len(body)+len(pemDashes)+len("end")); to > 0 {
			return from, to
		}
	}
	body = body[:bodyEnd(body)]
	if !hasRandomRun(body) {
		return 0, 0
	}
	return from, after + len(body)
}

// labelEnd returns the end of the rest of a line " RSA PRIVATE KEY-----", or 0 for another line.
func labelEnd(text string, i int) int {
	n := strings.Index(text[i:min(len(text), i+maxLabel)], pemDashes)
	if n < 0 {
		return 0
	}
	name := text[i : i+n]
	kind := strings.TrimSuffix(strings.ToUpper(name), " BLOCK")
	if !strings.HasSuffix(kind, "PRIVATE KEY") || strings.Trim(kind, " ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "" {
		return 0
	}
	return i + n + len(pemDashes)
}

// bodyEnd returns the end of the base64 lines at the start of a text, after headers. It reads any number of long lines,
// and one short line unless it is a word. Lines may be quoted, joined by +, or have escaped ends.
func bodyEnd(text string) (end int) {
	i := 0
	for range maxHeaderLines {
		i = skipLineBreak(text, i)
		line := text[i:min(len(text), i+maxLabel)]
		if n := strings.IndexAny(line, "\n\\"); n < 0 || !strings.Contains(line[:n], ": ") {
			break
		} else {
			i += n
		}
	}
	for {
		i = skipLineBreak(text, i)
		n := runEnd(text, b64, i, len(text))
		switch {
		case n-i >= minLineBase64:
			i, end = n, n
		case end > 0 && n > i && strings.ContainsAny(text[i:n], "0123456789+/"):
			return skipPadding(text, n)
		default:
			return end
		}
	}
}

// skipPadding skips at most three equals signs.
func skipPadding(text string, i int) int {
	for end := min(len(text), i+3); i < end && text[i] == '='; {
		i++
	}
	return i
}

// skipLineBreak skips the separators between two lines of base64.
func skipLineBreak(text string, i int) int {
	for i < len(text) {
		switch {
		case strings.IndexByte(" \t\r\n\"'`,>|#*=", text[i]) >= 0:
			i++
		case text[i] == '\\' && i+1 < len(text) && strings.IndexByte("nrt", text[i+1]) >= 0:
			i += 2
		case text[i] == '\\' || text[i] == '+' && i+1 < len(text) && classes[text[i+1]]&blank != 0:
			i++
		default:
			return i
		}
	}
	return i
}

// hasRandomRun reports whether a text has a run of base64 with letters of both
// cases and digits that is too long for a word.
func hasRandomRun(text string) bool {
	const minimum = 24
	for i := 0; i < len(text); i++ {
		n := runEnd(text, b64, i, len(text))
		if n-i >= minimum && hasMixedClasses(text[i:n]) {
			return true
		}
		i = n
	}
	return false
}

// hasMixedClasses reports whether a text has letters of both cases and digits.
func hasMixedClasses(text string) bool {
	return countBytes(text, digit) > 0 && countBytes(text, lowerAlnum&^digit) > countBytes(text, digit) &&
		countBytes(text, upperAlnum) > countBytes(text, digit)
}

// countBytes counts the bytes of a class.
func countBytes(text string, c class) (n int) {
	if readBytes != nil {
		*readBytes += len(text)
	}
	for i := range len(text) {
		if classes[text[i]]&c != 0 {
			n++
		}
	}
	return n
}
