// Package title derives the title of a memory from its Markdown.
package title

import (
	"cmp"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/loci-memory/loci"
)

// window is the number of characters of text in which a level-1 heading is looked for.
const window = 1000

// MaxParsed is the most bytes of a content that are parsed.
const MaxParsed = 32 << 10

// prefixes are the lengths of the texts that are parsed, in bytes. The second one is for a text whose first one decides
// nothing, such as a text that begins with images. They bound the time that a hostile text takes.
var prefixes = [...]int{4 << 10, MaxParsed}

// Ensure derives the title of a memory without one.
func Ensure(m *loci.Memory) {
	if IsBlank(m.Title) {
		m.Title, m.TitleDerived = Derive(m.Content), true
	}
}

// IsBlank reports whether a title is none.
func IsBlank(title string) bool { return !strings.ContainsFunc(title, loci.IsVisible) }

// Derive returns the title of a content that nobody gave a title. It is the first of these:
//
//   - the title in its front matter
//   - its first level-1 heading near the beginning
//   - its first heading or line of text
//
// The title is plain text of at most loci.MaxTitle characters without control characters. It is not empty if the
// content has a visible character.
func Derive(content string) string {
	first, _ := utf8.DecodeRuneInString(content)
	if unicode.IsLetter(first) && !strings.ContainsAny(content, marks+"\r\n") {
		return plain(content) // one line without Markdown, as most memories are
	}
	text := strings.TrimLeft(content, "\ufeff")
	given, text := cutFrontMatter(text)
	if t := plain(given); t != "" {
		return t
	}
	text = skipComments(text)
	for i, size := range prefixes {
		prefix, whole := squeeze(text, size)
		if t, final := scan(prefix, whole || i == len(prefixes)-1); final {
			if t = plain(t); t != "" {
				return t
			}
			break
		}
	}
	return rawLine(content)
}

// skipComments returns a text without the HTML comments at its beginning.
func skipComments(text string) string {
	for {
		rest := strings.TrimLeft(text, " \t\r\n")
		indent := len(text) - len(rest) - 1 - strings.LastIndexByte(text[:len(text)-len(rest)], '\n')
		after, found := strings.CutPrefix(rest, "<!--")
		if !found || indent > 3 {
			return text
		}
		_, after, found = strings.Cut(after, "-->")
		if !found {
			return text
		}
		_, text, _ = strings.Cut(after, "\n") // a comment ends with its line
	}
}

// rawLine returns the first line of a content with a letter, digit or symbol, or else the first visible one.
func rawLine(content string) string {
	visible := ""
	for line := range strings.Lines(content) {
		t := plain(line)
		if strings.Contains(t, "![") {
			t = cmp.Or(plain(image.ReplaceAllString(t, "$1")), t)
		}
		if strings.ContainsFunc(t, isWord) {
			return t
		}
		if visible == "" {
			visible = t
		}
	}
	return visible
}

// image matches an image; its description stands for it where a text has nothing else.
var image = regexp.MustCompile(`!\[([^\[\]]*)\]\([^()]*\)`)

func isWord(r rune) bool { return unicode.In(r, unicode.L, unicode.N, unicode.S) }

// maxRaw bounds the bytes of a text that becomes a title.
const maxRaw = 16 * loci.MaxTitle

// plain returns a text as a title: without invisible characters at its ends and without control characters.
func plain(text string) string {
	text = strings.TrimLeftFunc(text, func(r rune) bool { return !loci.IsVisible(r) })
	if len(text) > maxRaw {
		text = text[:maxRaw]
	}
	text = strings.Map(func(r rune) rune {
		switch {
		case r == '\ufeff':
			return -1
		case unicode.IsControl(r), r == '\u2028', r == '\u2029':
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\ufffd"))
	return strings.TrimRightFunc(Truncate(text), unicode.IsSpace)
}

// Truncate returns at most the first loci.MaxTitle characters of a title.
func Truncate(text string) string {
	n := 0
	for i := range text {
		if n++; n > loci.MaxTitle {
			return text[:i]
		}
	}
	return text
}

// count returns the number of characters of lines.
func count(lines []string) (n int) {
	for _, line := range lines {
		n += utf8.RuneCountInString(line)
	}
	return n
}
