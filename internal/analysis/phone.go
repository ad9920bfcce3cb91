package analysis

import "strings"

// Bounds of phone numbers, which are written in many ways: +49 30 1234567, +49-30-123-4567, (030) 123 45 67. The last
// phoneSuffix digits identify a number, because codes before them are omitted or written otherwise. ITU-T E.164 allows
// 15 digits.
const (
	phoneSuffix        = 7
	maxPhoneDigits     = 15
	maxPhoneSeparators = 3 // between two groups of digits: ") ", " - "
)

// A phone is a phone number in a text.
type phone struct {
	last, to int    // byte range of its last group of digits
	suffix   string // its last digits; empty if there is no number
}

// phoneAt reads the phone number whose digits begin at an offset in a text. Without one it returns the end of the scan
// and no suffix. It collects the groups of digits, then excludes dates, lists and plain numbers by their shape. A plus,
// an opening parenthesis or a zero marks a phone number, so fewer shapes are excluded.
func phoneAt(s string, at int) (p phone) {
	before := s[max(0, at-2):at]
	plus, open := strings.HasSuffix(before, "+") || before == "+(", strings.HasSuffix(before, "(")
	var digits []byte
	var groups []int
	plain := true // one space or dash between all groups
	for p.to = at; ; {
		p.last = p.to
		for p.to < len(s) && byteClass[s[p.to]] == Digit && len(digits) <= maxPhoneDigits {
			digits = append(digits, s[p.to])
			p.to++
		}
		groups = append(groups, p.to-p.last)
		if len(digits) > maxPhoneDigits || wordRuneLen(s[p.to:]) > 0 {
			return p
		}
		separators, width := phoneSeparators(s[p.to:])
		next := p.to + width
		if separators == 0 || next == len(s) || byteClass[s[next]] != Digit {
			break
		}
		plain = plain && separators == 1 && s[p.to] != '.' && s[p.to] != '/'
		p.to = next
	}
	if p.to < len(s) && strings.IndexByte("._/-@:,", s[p.to]) >= 0 && wordRuneLen(s[p.to+1:]) > 0 {
		return p // a time, a decimal number, an identifier
	}
	marked := plus || open || digits[0] == '0'
	shortOrDate := len(digits) < phoneSuffix || !plus && isDate(groups)
	list := !marked && !plain || !plus && 2*len(groups) > len(digits)
	plainNumber := len(groups) == 1 && (open || !marked || len(digits) == phoneSuffix)
	numbered := len(groups) == 2 && groups[0] == 1 && !plus // 1. 2345678
	if !shortOrDate && !list && !plainNumber && !numbered {
		p.suffix = string(digits[len(digits)-phoneSuffix:])
	}
	return p
}

// phoneSeparators returns the number of separators between two groups of digits, and their size in bytes.
func phoneSeparators(s string) (n, size int) {
	for i, r := range s {
		if n == maxPhoneSeparators || !strings.ContainsRune(" -./()\u00a0\u202f\u2010\u2011\u2013", r) {
			return n, i
		}
		n++
	}
	return n, len(s)
}

// isDate reports whether groups of digits are those of a date such as 2025-03-14 or 14.3.2025.
func isDate(groups []int) bool {
	return len(groups) == 3 && groups[1] <= 2 && (groups[0] == 4 && groups[2] <= 2 || groups[0] <= 2 && groups[2] == 4)
}
