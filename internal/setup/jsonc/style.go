package jsonc

import (
	"bytes"
	"encoding/json"
	"strings"
)

// newline returns the line ending of the document.
func (d *Document) newline() string {
	if bytes.Contains(d.text, []byte("\r\n")) {
		return "\r\n"
	}
	return "\n"
}

// unit returns one step of indentation: that of the first member of the root, or two spaces.
func (d *Document) unit() string {
	if d.root != nil && len(d.root.members) > 0 && d.ownLine(d.root.members[0].start) {
		if indent := d.indentOf(d.root.members[0].start); indent != "" {
			return indent
		}
	}
	return "  "
}

// spacesBefore returns the spaces and tabs before a place.
func (d *Document) spacesBefore(at int) string {
	start := at
	for start > 0 && (d.text[start-1] == ' ' || d.text[start-1] == '\t') {
		start--
	}
	return string(d.text[start:at])
}

// ownLine reports whether only spaces and tabs precede a place in its line.
func (d *Document) ownLine(at int) bool {
	start := at - len(d.spacesBefore(at))
	return start > 0 && d.text[start-1] == '\n'
}

// indentOf returns the indentation of the line of a place.
func (d *Document) indentOf(at int) string {
	line := d.text[bytes.LastIndexByte(d.text[:at], '\n')+1 : at]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// endOfLineComment returns the end of the // comment that follows in the same line, or the same place.
func (d *Document) endOfLineComment(at int) int {
	rest := d.text[at:]
	text := bytes.TrimLeft(rest, " \t")
	if !bytes.HasPrefix(text, []byte("//")) {
		return at
	}
	return at + len(rest) - len(text) + lineLength(text)
}

// format returns the value in several lines, in the style of the document.
func (d *Document) format(value []byte, indent string) []byte {
	var b bytes.Buffer
	if json.Indent(&b, value, indent, d.unit()) != nil {
		return value // no JSON: the caller checks the result
	}
	return []byte(strings.ReplaceAll(b.String(), "\n", d.newline()))
}
