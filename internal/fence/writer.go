package fence

import (
	"bytes"
	"unicode/utf8"
)

// A writer writes foreign text inside its fence.
type writer struct {
	buf         []byte
	hiddenCount int // characters left out of the current memory
}

func (p *writer) writeOwn(literal string) { p.buf = append(p.buf, literal...) }

// writeContent writes each line of a text behind a bar, and at least one line.
func (p *writer) writeContent(s string) {
	mark := len(p.buf)
	p.writeOwn(quoteBar + " ")
	p.writeSanitized(s, "\n"+quoteBar+" ")
	p.buf = append(p.buf[:mark], trimTrailingLines(p.buf[mark:])...)
	p.writeOwn("\n")
}

// trimTrailingLines removes empty lines at the end of a content, and a space after the last bar.
func trimTrailingLines(quoted []byte) []byte {
	for bytes.HasSuffix(quoted, []byte("\n"+quoteBar+" ")) {
		quoted = quoted[:len(quoted)-len("\n"+quoteBar+" ")]
	}
	return quoted
}

// writeField writes a line with a field name before the bar. It reports whether
// the text has visible characters and writes nothing otherwise.
func (p *writer) writeField(name, s string) bool {
	mark := len(p.buf)
	p.writeOwn(name + " " + quoteBar + " ")
	if !p.writeLine(s, maxFieldRunes) {
		p.buf = p.buf[:mark]
		return false
	}
	p.writeOwn("\n")
	return true
}

func (p *writer) writeTags(tags []string) {
	before := "tags " + quoteBar + " "
	mark := len(p.buf)
	for _, t := range tags[:min(len(tags), maxTags)] {
		at := len(p.buf)
		p.writeOwn(before)
		if p.writeLine(t, maxTagRunes) {
			before = ", "
		} else {
			p.buf = p.buf[:at]
		}
	}
	if len(p.buf) > mark {
		p.writeOwn("\n")
	}
}

// writeLine writes a text as one trimmed line of at most limit characters, and reports whether it has any.
func (p *writer) writeLine(s string, limit int) bool {
	mark := len(p.buf)
	p.writeSanitized(s, " ")
	p.buf = append(p.buf[:mark], bytes.TrimSpace(p.buf[mark:])...)
	at, runes := mark, 0
	for last := mark; at < len(p.buf); runes++ {
		if runes == limit {
			p.buf = append(p.buf[:last], "…"...)
			break
		}
		_, n := utf8.DecodeRune(p.buf[at:])
		last, at = at, at+n
	}
	return len(p.buf) > mark
}

// writeLabel writes a text into a line of the frame: a plain word unchanged, all else as a code span. Markdown and
// forged remarks have no effect in a code span.
func (p *writer) writeLabel(s string) {
	switch {
	case isPlainLabel(s):
		p.writeOwn(s)
	case !p.writeCodeSpan(s):
		p.writeOwn("unnamed")
	}
}

func isPlainLabel(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := 'a' <= c|0x20 && c|0x20 <= 'z'
		if !letter && (i == 0 || c != '-') && (c < '0' || c > '9') {
			return false
		}
	}
	return s != "" && len(s) <= maxPlainLabel
}

// writeCodeSpan writes a code span if the text has visible characters, and reports whether it has. Backticks in it
// become apostrophes, since one of them would end it.
func (p *writer) writeCodeSpan(s string) bool {
	mark := len(p.buf)
	p.writeOwn("`")
	if !p.writeLine(s, maxFieldRunes) {
		p.buf = p.buf[:mark]
		return false
	}
	for i, c := range p.buf[mark+1:] {
		if c == '`' {
			p.buf[mark+1+i] = '\''
		}
	}
	p.writeOwn("`")
	return true
}
