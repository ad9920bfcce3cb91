package fence

import (
	"bytes"
	"unicode/utf8"
)

// A pen writes foreign text so that it stays where it was put.
type pen struct {
	out    []byte
	hidden int // characters left out of the memory at hand
}

func (p *pen) write(ours string) { p.out = append(p.out, ours...) }

// content writes each line of a text behind a bar, and at least one.
func (p *pen) content(s string) {
	mark := len(p.out)
	p.write(bar + " ")
	p.text(s, "\n"+bar+" ")
	p.out = append(p.out[:mark], endless(p.out[mark:])...)
	p.write("\n")
}

// endless takes empty lines off the end of a content, and the blank behind the
// last bar if nothing follows it.
func endless(quoted []byte) []byte {
	for bytes.HasSuffix(quoted, []byte("\n"+bar+" ")) {
		quoted = quoted[:len(quoted)-len("\n"+bar+" ")]
	}
	return quoted
}

// field writes a line with a name of ours before the bar, if the text has
// anything to show, and reports it.
func (p *pen) field(name, s string) bool {
	mark := len(p.out)
	p.write(name + " " + bar + " ")
	if !p.line(s, maxField) {
		p.out = p.out[:mark]
		return false
	}
	p.write("\n")
	return true
}

func (p *pen) tags(tags []string) {
	before := "tags " + bar + " "
	mark := len(p.out)
	for _, t := range tags[:min(len(tags), maxTags)] {
		at := len(p.out)
		p.write(before)
		if p.line(t, maxTag) {
			before = ", "
		} else {
			p.out = p.out[:at]
		}
	}
	if len(p.out) > mark {
		p.write("\n")
	}
}

// line writes a text as one trimmed line of at most limit characters, and
// reports whether it has any.
func (p *pen) line(s string, limit int) bool {
	mark := len(p.out)
	p.text(s, " ")
	p.out = append(p.out[:mark], bytes.TrimSpace(p.out[mark:])...)
	at, runes := mark, 0
	for last := mark; at < len(p.out); runes++ {
		if runes == limit {
			p.out = append(p.out[:last], "…"...)
			break
		}
		_, n := utf8.DecodeRune(p.out[at:])
		last, at = at, at+n
	}
	return len(p.out) > mark
}

// label writes what stands in a line of ours: a plain word as it is, anything
// else as a code span, where neither Markdown nor a forged remark is read.
func (p *pen) label(s string) {
	switch {
	case isWord(s):
		p.write(s)
	case !p.span(s):
		p.write("unnamed")
	}
}

func isWord(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := 'a' <= c|0x20 && c|0x20 <= 'z'
		if !letter && (i == 0 || c != '-') && (c < '0' || c > '9') {
			return false
		}
	}
	return s != "" && len(s) <= maxWord
}

// span writes a code span, if the text has anything to show, and reports it.
// Backticks in it become apostrophes, since one of them would end it.
func (p *pen) span(s string) bool {
	mark := len(p.out)
	p.write("`")
	if !p.line(s, maxField) {
		p.out = p.out[:mark]
		return false
	}
	for i, c := range p.out[mark+1:] {
		if c == '`' {
			p.out[mark+1+i] = '\''
		}
	}
	p.write("`")
	return true
}
