package secret

import "strings"

const (
	dashes   = "-----"
	maxLabel = 120 // of a line BEGIN or END
	maxKey   = 64 << 10
	wholeKey = 60 // least base64 of a key: Ed25519 in PKCS 8 has 64
	fullLine = 40 // least base64 of a line that is not the last
	maxHeads = 8  // lines of headers before the body, as in RFC 1421
)

// pem finds a private key from its BEGIN line to its END line (RFC 7468; PGP
// calls it a block, RFC 4880), or to the last line that still looks like one. A
// BEGIN line alone, or one before "...", is no key.
func pem(s *scanner, i, end int) (from, to int) {
	const begin = "begin"
	from = i - len(dashes)
	if from < 0 || s.text[from:i] != dashes || !hasFold(s.text[:end], i, begin) {
		return 0, 0
	}
	after := label(s.text[:end], i+len(begin))
	if after == 0 {
		return 0, 0
	}
	// Bodies hold no dashes, so what is searched here is searched once.
	body, ended := s.text[after:end], false
	if n := strings.Index(body, dashes); n >= 0 {
		body, ended = body[:n], hasFold(s.text[:end], after+n+len(dashes), "end")
	}
	if ended && len(body) <= maxKey && random(body) && bytesOf(body, b64) >= wholeKey {
		if to = label(s.text[:end], after+len(body)+len(dashes)+len("end")); to > 0 {
			return from, to
		}
	}
	body = body[:bodyEnd(body)]
	if !random(body) {
		return 0, 0
	}
	return from, after + len(body)
}

// label reads the rest of a line " RSA PRIVATE KEY-----" and returns its end, 0
// for another line.
func label(text string, i int) int {
	n := strings.Index(text[i:min(len(text), i+maxLabel)], dashes)
	if n < 0 {
		return 0
	}
	name := text[i : i+n]
	kind := strings.TrimSuffix(strings.ToUpper(name), " BLOCK")
	if !strings.HasSuffix(kind, "PRIVATE KEY") || strings.Trim(kind, " ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "" {
		return 0
	}
	return i + n + len(dashes)
}

// bodyEnd is where the lines of base64 end that a text begins with, after
// headers: any number of long ones, and one short one, unless that is a word.
// Lines may be quoted, joined by +, or have their ends escaped.
func bodyEnd(text string) (end int) {
	i := 0
	for range maxHeads {
		i = gap(text, i)
		line := text[i:min(len(text), i+maxLabel)]
		if n := strings.IndexAny(line, "\n\\"); n < 0 || !strings.Contains(line[:n], ": ") {
			break
		} else {
			i += n
		}
	}
	for {
		i = gap(text, i)
		n := run(text, b64, i, len(text))
		switch {
		case n-i >= fullLine:
			i, end = n, n
		case end > 0 && n > i && strings.ContainsAny(text[i:n], "0123456789+/"):
			return padding(text, n)
		default:
			return end
		}
	}
}

// padding skips at most three equals signs.
func padding(text string, i int) int {
	for end := min(len(text), i+3); i < end && text[i] == '='; {
		i++
	}
	return i
}

// gap skips what may stand between two lines of base64.
func gap(text string, i int) int {
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

// random reports whether a text has a run of base64 with letters of both cases
// and digits that is too long for a word.
func random(text string) bool {
	const least = 24
	for i := 0; i < len(text); i++ {
		n := run(text, b64, i, len(text))
		if n-i >= least && mixed(text[i:n]) {
			return true
		}
		i = n
	}
	return false
}

// mixed reports letters of both cases and digits.
func mixed(text string) bool {
	return bytesOf(text, digit) > 0 && bytesOf(text, low&^digit) > bytesOf(text, digit) && bytesOf(text, up) > bytesOf(text, digit)
}

// bytesOf counts the bytes of a class.
func bytesOf(text string, c class) (n int) {
	for i := range len(text) {
		if classes[text[i]]&c != 0 {
			n++
		}
	}
	return n
}
