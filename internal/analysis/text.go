package analysis

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// isoDateLen is the length of a day in ISO 8601: 2023-05-07.
const isoDateLen = 10

// EndsDateOfDateTime reports whether a day ends at a place in a text and the T of its time
// stands there, as in 2023-05-07T21:30 (ISO 8601, RFC 3339): the day is a word of its
// own.
func EndsDateOfDateTime(s string, at int) bool {
	if at < isoDateLen || at+1 >= len(s) || s[at]|0x20 != 't' || byteClass[s[at+1]] != Digit {
		return false
	}
	for i, c := range []byte(s[at-isoDateLen : at]) {
		if dash := i == 4 || i == 7; dash != (c == '-') || !dash && byteClass[c] != Digit {
			return false
		}
	}
	return true
}

// maxHeadingRunes is how many characters a line has at most that may be a heading.
const maxHeadingRunes = 40

// TitleRepeatsContent reports a title that is how the content begins, and too long for a
// heading. One that has the marks of a heading stands behind them.
func TitleRepeatsContent(title, content string) bool {
	return strings.HasPrefix(strings.TrimLeftFunc(content, unicode.IsSpace), title) &&
		utf8.RuneCountInString(title) > maxHeadingRunes
}

// RunePrefixLen is the size of the first n characters of s.
func RunePrefixLen(s string, n int) int {
	for i := range s {
		if n == 0 {
			return i
		}
		n--
	}
	return len(s)
}

// RuneSuffixLen is the size of the last n characters of s.
func RuneSuffixLen(s string, n int) int {
	size := 0
	for ; n > 0 && size < len(s); n-- {
		_, k := utf8.DecodeLastRuneInString(s[:len(s)-size])
		size += k
	}
	return size
}

// OnlyLetters reports a term of letters and the marks upon them.
func OnlyLetters(term []byte) bool {
	for i := 0; i < len(term); {
		if c := term[i]; c < utf8.RuneSelf {
			if byteClass[c]&(lower|Upper) == 0 {
				return false
			}
			i++
			continue
		}
		r, n := utf8.DecodeRune(term[i:])
		if !unicode.In(r, unicode.L, unicode.M) {
			return false
		}
		i += n
	}
	return true
}

// 64-bit FNV-1a.
const (
	FNVOffset = 14695981039346656037
	FNVPrime  = 1099511628211
)
