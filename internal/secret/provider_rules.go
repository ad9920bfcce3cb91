package secret

import (
	"encoding/base64"
	"strings"
)

// discordIDs returns the starts of Discord bot tokens: the first three base64 bytes of a decimal number.
func discordIDs() (all []string) {
	for n := range 1000 {
		id := string([]byte{byte('0' + n/100), byte('0' + n/10%10), byte('0' + n%10)})
		if piece := base64.StdEncoding.EncodeToString([]byte(id))[:3]; len(all) == 0 || all[len(all)-1] != piece {
			all = append(all, piece)
		}
	}
	return all
}

var discordPattern = parsePattern("<dash:24-28>.<dash:6>.<dash:27-40>")

// findDiscordBot finds a token of a Discord bot: base64 of its user number, a time and a signature.
func findDiscordBot(s *scanner, i, end int) (from, to int) {
	text := s.text[:end]
	if classes[text[i]]&upperAlnum == 0 {
		return 0, 0
	}
	to, last := discordPattern.match(text, i, end, false)
	if to == 0 || !isTokenEnd(text, last, to, end) {
		return 0, 0
	}
	id, err := base64.RawStdEncoding.DecodeString(text[i : i+strings.IndexByte(text[i:], '.')])
	if err != nil || countBytes(string(id), digit) != len(id) || !isPlausible(text[i:to], 3) {
		return 0, 0
	}
	s.requireReach(i, isTokenStart(text, i))
	return i, trimMarks(text, i, to)
}

// findSASSignature finds the signature of a shared access signature of Azure:
// base64 of 32 bytes, mostly percent-encoded.
func findSASSignature(s *scanner, i, end int) (from, to int) {
	const letters = 43 // of base64, before the padding
	text := s.text[:end]
	if !hasPrefixFold(text, i, "sig=") || i > 0 && classes[text[i-1]]&dash != 0 && !endsWithEscape(text[:i]) {
		return 0, 0
	}
	from = i + len("sig=")
	to = from
	for range letters {
		switch {
		case to < end && classes[text[to]]&(b64|dash) != 0:
			to++
		case hasPrefixFold(text, to, "%2b") || hasPrefixFold(text, to, "%2f"):
			to += len("%2b")
		default:
			return 0, 0
		}
	}
	switch {
	case hasPrefixFold(text, to, "%3d"):
		to += len("%3d")
	case to < end && text[to] == '=':
		to++
	default:
		return 0, 0
	}
	if !isPlausible(text[from:to], minGenericEntropy) {
		return 0, 0
	}
	return from, to
}

// findMailgunKey finds key- and 32 hexadecimal digits that end no longer name, such as the key of a cache.
func findMailgunKey(s *scanner, i, end int) (from, to int) {
	const digits = 32
	text := s.text[:end]
	if !strings.HasPrefix(text[i:], "key-") {
		return 0, 0
	}
	if i > 0 && (classes[text[i-1]]&dot != 0 || text[i-1] == '/') && text[i-1] != '=' && !endsWithEscape(text[:i]) {
		return 0, 0
	}
	from = i + len("key-")
	to = runEnd(text, hex, from, min(end, from+digits+1))
	if to-from != digits || !isTokenEnd(text, alnum|dash, to, end) || !isPlausible(text[from:to], minHexEntropy) {
		return 0, 0
	}
	return i, to
}

// findPuTTYKey finds the private lines of a key file of PuTTY, whole or cut off.
func findPuTTYKey(s *scanner, i, end int) (from, to int) {
	const name, mostDigits = "private-lines", 3
	text := s.text[:end]
	if !hasPrefixFold(text, i, name) {
		return 0, 0
	}
	number := skipBlanks(text, i+len(name)+1)
	if number >= end || text[i+len(name)] != ':' {
		return 0, 0
	}
	body := runEnd(text, digit, number, min(end, number+mostDigits))
	from = skipLineBreak(text, body)
	to = body + bodyEnd(text[body:min(end, body+maxKeyBytes)])
	if body == number || to <= from || !hasRandomRun(text[from:to]) {
		return 0, 0
	}
	return from, to
}
