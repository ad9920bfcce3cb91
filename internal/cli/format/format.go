// Package format writes names, numbers, lists and foreign texts for people.
package format

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Kebab returns a wire name as a flag or command: atlas_id and atlasId are both atlas-id.
func Kebab(name string) string {
	var b strings.Builder
	lower := false
	for _, r := range name {
		if unicode.IsUpper(r) && lower {
			b.WriteByte('-')
		}
		lower = !unicode.IsUpper(r)
		if r == '_' || r == '.' {
			r, lower = '-', false
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// Bold returns a text in bold where the terminal supports colour.
func Bold(text string, colour bool) string {
	if !colour {
		return text
	}
	return "\x1b[1m" + text + "\x1b[0m"
}

// StripControl makes the control characters of a text visible, which may be foreign: as symbols (U+2400 to U+2421), or
// where there is none, and for characters that turn the direction of text, as in less: <U+202E>. With lines, line ends
// and tabs stay. Without, it is a name, and each is a space.
func StripControl(s string, lines bool) string {
	var b strings.Builder
	for _, r := range strings.ReplaceAll(s, "\r\n", "\n") {
		switch {
		case r == '\n' || r == '\t':
			if !lines {
				r = ' '
			}
			b.WriteRune(r)
		case r < ' ':
			b.WriteRune('\u2400' + r)
		case r == 0x7f:
			b.WriteRune('\u2421')
		case unicode.IsControl(r), unicode.Is(turning, r), !lines && unicode.Is(unicode.Bidi_Control, r):
			fmt.Fprintf(&b, "<%U>", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// turning are embeddings, overrides and isolates (Unicode Standard Annex #9), by which a text can read other than it
// is. The marks U+200E, U+200F and U+061C turn nothing but their neighbors.
var turning = &unicode.RangeTable{R16: []unicode.Range16{{Lo: 0x202a, Hi: 0x202e, Stride: 1},
	{Lo: 0x2066, Hi: 0x2069, Stride: 1}}}

// EscapeJSON escapes the control characters and marks of direction in a JSON text that its encoder leaves as they are:
// a terminal would obey those of a foreign text. They occur in strings alone, so the value stays the same.
func EscapeJSON(text []byte) []byte {
	isUnsafe := func(r rune) bool { return r >= 0x7f && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)) }
	if bytes.IndexFunc(text, isUnsafe) < 0 {
		return text
	}
	var b bytes.Buffer
	for _, r := range string(text) {
		if isUnsafe(r) {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.Bytes()
}

// MinShortID is the number of characters of a short id, at least. They are the last ones of the id: the first ones are
// the time, and equal for all records of a minute.
const MinShortID = 8

// ShortID returns the last n characters of an id.
func ShortID(id string, n int) string { return id[max(0, len(id)-n):] }

// Plural returns a number with its noun.
func Plural[N int | int64](n N, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}

// Enumerate lists at most ten texts.
func Enumerate(texts []string) string {
	if len(texts) == 0 {
		return "none"
	}
	shown := slices.Clone(texts[:min(10, len(texts))])
	if len(texts) > len(shown) {
		shown = append(shown, fmt.Sprintf("and %d more", len(texts)-len(shown)))
	}
	return strings.Join(shown, ", ")
}

// Wrap breaks a text into lines of at most width characters, between words. A longer word has a line of its own.
func Wrap(text string, width int) (lines []string) {
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
			lines, line = append(lines, line), ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}

// Bytes returns a number of bytes for people.
func Bytes(n int64) string {
	if n < 1<<10 {
		return Plural(n, "byte", "bytes")
	}
	size, units := float64(n)/(1<<10), []string{"KiB", "MiB", "GiB"}
	for size >= 1<<10 && len(units) > 1 {
		size, units = size/(1<<10), units[1:]
	}
	return fmt.Sprintf("%.1f %s", size, units[0])
}
