package secret

import (
	"encoding/base64"
	"strings"
)

// discordIDs are the first three bytes of base64 of a number in decimal digits,
// with which a Discord bot token begins.
func discordIDs() (all []string) {
	for n := range 1000 {
		id := string([]byte{byte('0' + n/100), byte('0' + n/10%10), byte('0' + n%10)})
		if piece := base64.StdEncoding.EncodeToString([]byte(id))[:3]; len(all) == 0 || all[len(all)-1] != piece {
			all = append(all, piece)
		}
	}
	return all
}

var discordParts = parse("<dash:24-28>.<dash:6>.<dash:27-40>")

// discordBot finds a token of a Discord bot: base64 of the number of its user, a
// time and a signature.
func discordBot(s *scanner, i, end int) (from, to int) {
	text := s.text[:end]
	if classes[text[i]]&up == 0 {
		return 0, 0
	}
	to, last := discordParts.match(text, i, end, false)
	if to == 0 || !closes(text, last, to, end) {
		return 0, 0
	}
	id, err := base64.RawStdEncoding.DecodeString(text[i : i+strings.IndexByte(text[i:], '.')])
	if err != nil || bytesOf(string(id), digit) != len(id) || !plausible(text[i:to], 3) {
		return 0, 0
	}
	s.ask(i, opens(text, i))
	return i, inside(text, i, to)
}

// sasSignature finds the signature of a shared access signature of Azure:
// base64 of 32 bytes, mostly percent-encoded.
func sasSignature(s *scanner, i, end int) (from, to int) {
	const letters = 43 // of base64, before the padding
	text := s.text[:end]
	if !hasFold(text, i, "sig=") || i > 0 && classes[text[i-1]]&dash != 0 && !escaped(text[:i]) {
		return 0, 0
	}
	from = i + len("sig=")
	to = from
	for range letters {
		switch {
		case to < end && classes[text[to]]&(b64|dash) != 0:
			to++
		case hasFold(text, to, "%2b") || hasFold(text, to, "%2f"):
			to += len("%2b")
		default:
			return 0, 0
		}
	}
	switch {
	case hasFold(text, to, "%3d"):
		to += len("%3d")
	case to < end && text[to] == '=':
		to++
	default:
		return 0, 0
	}
	if !plausible(text[from:to], genericEntropy) {
		return 0, 0
	}
	return from, to
}

// mailgunKey finds key- and 32 hexadecimal digits where no longer name ends: the
// key of a cache ends so too.
func mailgunKey(s *scanner, i, end int) (from, to int) {
	const digits = 32
	text := s.text[:end]
	if !strings.HasPrefix(text[i:], "key-") {
		return 0, 0
	}
	if i > 0 && (classes[text[i-1]]&dot != 0 || text[i-1] == '/') && text[i-1] != '=' && !escaped(text[:i]) {
		return 0, 0
	}
	from = i + len("key-")
	to = run(text, hex, from, min(end, from+digits+1))
	if to-from != digits || !closes(text, alnum|dash, to, end) || !plausible(text[from:to], hexEntropy) {
		return 0, 0
	}
	return i, to
}

// putty finds the private lines of a key file of PuTTY, whole or cut off.
func putty(s *scanner, i, end int) (from, to int) {
	const name, mostDigits = "private-lines", 3
	text := s.text[:end]
	if !hasFold(text, i, name) {
		return 0, 0
	}
	number := skipBlanks(text, i+len(name)+1)
	if number >= end || text[i+len(name)] != ':' {
		return 0, 0
	}
	body := run(text, digit, number, min(end, number+mostDigits))
	from = gap(text, body)
	to = body + bodyEnd(text[body:min(end, body+maxKey)])
	if body == number || to <= from || !random(text[from:to]) {
		return 0, 0
	}
	return from, to
}
