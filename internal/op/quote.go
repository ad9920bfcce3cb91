package op

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// appendQuoted appends s as a JSON string. It escapes what encoding/json does where
// HTML is not escaped: quotes, backslashes, control characters and the line
// ends of JavaScript (U+2028 and U+2029).
func appendQuoted(b []byte, s string) ([]byte, error) {
	if !utf8.ValidString(s) {
		return appendStdlib(b, s)
	}
	b = append(b, '"')
	for {
		n := unescapedPrefix(s)
		b = append(b, s[:n]...)
		if s = s[n:]; s == "" {
			return append(b, '"'), nil
		}
		b, n = appendEscaped(b, s)
		s = s[n:]
	}
}

// unescapedPrefix returns how many bytes at the beginning of s stand for themselves.
func unescapedPrefix(s string) int {
	for i := 0; i < len(s); i++ {
		if len(s)-i >= 8 {
			mask := escapeMask(s[i : i+8])
			if mask == 0 {
				i += 7
				continue
			}
			i += bits.TrailingZeros64(mask) / 8
		}
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c == lineSeparatorByte && isLineSeparator(s[i:]) {
			return i
		}
	}
	return len(s)
}

// lineSeparatorByte is the first byte of the line ends of JavaScript in UTF-8.
const lineSeparatorByte = 0xE2

func isLineSeparator(s string) bool { return s[:3] == "\u2028" || s[:3] == "\u2029" }

// escapeMask looks at eight bytes of UTF-8 at once. It returns 0 if each stands
// for itself; else the lowest bit that it sets is the top bit of the first byte
// that may have to be escaped. The bits above are not to be trusted: a byte is
// tested by a subtraction from the whole word, which may borrow from the next
// one (Warren, Hacker's Delight, section 6-1).
func escapeMask(s string) uint64 {
	const each, top = 0x0101010101010101, 0x8080808080808080
	w := binary.LittleEndian.Uint64([]byte(s))
	quotes, backslashes, ends := w^'"'*each, w^'\\'*each, w^lineSeparatorByte*each
	return ((w-' '*each)&^w | (quotes-each)&^quotes | (backslashes-each)&^backslashes | (ends-each)&^ends) & top
}

// appendEscaped appends the first character of s, which cannot stand for itself, and
// returns its size.
func appendEscaped(b []byte, s string) ([]byte, int) {
	const hex = "0123456789abcdef"
	switch c := s[0]; c {
	case '"', '\\':
		return append(b, '\\', c), 1
	case '\b':
		return append(b, `\b`...), 1
	case '\f':
		return append(b, `\f`...), 1
	case '\n':
		return append(b, `\n`...), 1
	case '\r':
		return append(b, `\r`...), 1
	case '\t':
		return append(b, `\t`...), 1
	case lineSeparatorByte:
		return append(b, '\\', 'u', '2', '0', '2', hex[s[2]&15]), 3
	default:
		return append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15]), 1
	}
}
