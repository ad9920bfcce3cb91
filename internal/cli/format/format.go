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

// StripControl removes terminal control characters from a text, which may be foreign. With lines, line ends and tabs
// stay, and characters that turn the direction of text become visible, as in less: <U+202E>. Without, it is a name:
// one that turns the direction could change how a table or a question reads.
func StripControl(s string, lines bool) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case lines && (r == '\n' || r == '\t'):
			return r
		case r == '\n' || r == '\t':
			return ' '
		case unicode.IsControl(r), !lines && unicode.Is(unicode.Bidi_Control, r):
			return -1
		}
		return r
	}, s)
	if lines {
		s = visibleDirection.Replace(s)
	}
	return s
}

// visibleDirection shows embeddings, overrides and isolates (Unicode Standard Annex #9), by which a text can read
// otherwise than it is. The marks U+200E, U+200F and U+061C turn nothing but their neighbors.
var visibleDirection = func() *strings.Replacer {
	var pairs []string
	for _, r := range "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069" {
		pairs = append(pairs, string(r), fmt.Sprintf("<%U>", r))
	}
	return strings.NewReplacer(pairs...)
}()

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
