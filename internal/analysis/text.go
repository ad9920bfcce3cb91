package analysis

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

// isoDateLen is the length of a day in ISO 8601: 2023-05-07.
const isoDateLen = 10

// EndsDateOfDateTime reports whether a day ends at an offset in a text and its time follows. An example of ISO 8601 and
// RFC 3339 is 2023-05-07T21:30. The day is then a word of its own.
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

// maxHeadingRunes is the greatest length of a heading in characters.
const maxHeadingRunes = 40

// TitleRepeatsContent reports whether a title is the beginning of the content, and too long for a heading. The marks
// of a heading in the content prevent a match.
func TitleRepeatsContent(title, content string) bool {
	return strings.HasPrefix(strings.TrimLeftFunc(content, unicode.IsSpace), title) &&
		utf8.RuneCountInString(title) > maxHeadingRunes
}

// RunePrefixLen returns the size of the first n characters of s.
func RunePrefixLen(s string, n int) int {
	for i := range s {
		if n == 0 {
			return i
		}
		n--
	}
	return len(s)
}

// RuneSuffixLen returns the size of the last n characters of s.
func RuneSuffixLen(s string, n int) int {
	size := 0
	for ; n > 0 && size < len(s); n-- {
		_, k := utf8.DecodeLastRuneInString(s[:len(s)-size])
		size += k
	}
	return size
}

// OnlyLetters reports whether a term has only letters and their marks.
func OnlyLetters(term []byte) bool {
	return bytes.IndexFunc(term, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.Is(unicode.M, r) }) < 0
}
