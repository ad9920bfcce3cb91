package title

import (
	"strings"
	"unicode/utf8"
)

// Bounds of what a parser gets to see. A longer run or line says no more about a title, and would take a parser of
// Markdown a time that grows with its square.
const (
	maxRun  = 64         // of one character that is no letter or digit
	maxWord = 2 * window // of letters, digits and the marks of addresses: an image may be part of a text
	maxLine = 8 << 10
	// maxDepth bounds the marks of containers and the spaces before the text of a line, and so the depth of a parse.
	maxDepth = 64
)

// squeeze returns the beginning of a text, of about size bytes, and whether it is the whole text. It shortens long
// runs, words and lines, and folds empty lines.
func squeeze(text string, size int) (prefix string, whole bool) {
	var b strings.Builder
	blank := false
	for text != "" && b.Len() < size {
		var line string
		if i := strings.IndexAny(text, "\r\n"); i < 0 {
			line, text = text, ""
		} else {
			line, text = text[:i], strings.TrimPrefix(text[i:], "\r")
			text = strings.TrimPrefix(text, "\n")
		}
		isBlank := strings.Trim(line, " \t") == ""
		if !isBlank {
			squeezeLine(&b, line)
		}
		if !isBlank || !blank {
			b.WriteByte('\n')
		}
		blank = isBlank
	}
	return b.String(), text == ""
}

// squeezeLine appends a line to b. It keeps the end of a long one, which may end a comment.
func squeezeLine(b *strings.Builder, line string) {
	kept, run, word := make([]byte, 0, len(line)), 0, 0
	depth, isText := 0, false
	for i := range len(line) {
		c := line[i]
		isText = isText || strings.IndexByte(" \t>-+*.)0123456789", c) < 0
		if !isText && strings.IndexByte(" \t>", c) >= 0 {
			depth++
		}
		if !isText && depth > maxDepth {
			continue
		}
		if run++; i == 0 || line[i-1] != c {
			run = 1
		}
		if word++; !isWordByte(c) {
			word = 0
		}
		if word <= maxWord && (run <= maxRun || isAlphanumeric(c) || c >= utf8.RuneSelf) {
			kept = append(kept, c)
		}
	}
	if len(kept) > maxLine {
		kept = append(kept[:maxLine-maxRun], kept[len(kept)-maxRun:]...)
	}
	b.Write(kept)
}

func isAlphanumeric(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

// isWordByte reports whether c may stand in an address, such as one that holds an image.
func isWordByte(c byte) bool {
	return isAlphanumeric(c) || strings.IndexByte("+/=_-.,:;%&?#@~", c) >= 0
}
