package jsonc

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// mark is a space after a bracket, or before the root, where Set and Append add to an object, list or document that was
// there and empty. Nobody sees it. Remove finds it, and leaves the empty object; without it, it takes back the object
// that Set made.
const mark = " "

// A splice replaces text[start:end].
type splice struct {
	start, end int
	text       string
}

// Set returns the text with the member of the container, an object in the root. The value is JSON in one line; it is
// written in the style of the document. A member that exists keeps its place.
func (d *Document) Set(container, name string, value []byte) ([]byte, error) {
	found, err := d.find(container, name)
	if err != nil {
		return nil, err
	}
	if found != nil {
		return d.replace(found, value), nil
	}
	if d.root == nil {
		return d.fill(container, name, value), nil
	}
	at, err := d.lookup(d.root, "the document", container)
	if err != nil {
		return nil, err
	}
	if at != nil {
		return d.apply(d.insert(at.value, d.indentOf(at.start), name, value)...), nil
	}
	return d.apply(d.insert(d.root, "", container, wrap(name, value))...), nil
}

// replace returns the text with another value of a member, in the style of the document.
func (d *Document) replace(m *member, value []byte) []byte {
	if bytes.IndexByte(d.text[m.value.start:m.value.end], '\n') >= 0 || d.ownLine(m.start) {
		value = d.format(value, d.indentOf(m.start))
	}
	return d.apply(splice{m.value.start, m.value.end, string(value)})
}

// wrap returns the object with one member.
func wrap(name string, value []byte) []byte {
	return slices.Concat([]byte("{"), quote(name), []byte(": "), value, []byte("}"))
}

// label returns the name of a member as it stands before its value. Items of a list have none.
func label(name string) string {
	if name == "" {
		return ""
	}
	return string(quote(name)) + ": "
}

func quote(name string) []byte {
	text, _ := json.Marshal(name) // texts have JSON
	return text
}

// fill returns a document of whitespace with an object.
func (d *Document) fill(container, name string, value []byte) []byte {
	text := d.text
	if text != nil {
		text = slices.Concat(text, []byte(mark))
	}
	return slices.Concat(text, d.format(wrap(container, wrap(name, value)), ""), []byte(d.newline()))
}

// insert adds a member after the last one of an object or list whose line has that indentation.
func (d *Document) insert(object *node, outer, name string, value []byte) []splice {
	if len(object.members) == 0 {
		return []splice{d.insertFirst(object, outer, name, value)}
	}
	last := object.members[len(object.members)-1]
	text := label(name)
	lead := " "
	at := last.value.end
	if last.comma >= 0 {
		at = last.comma + 1
	}
	if d.ownLine(last.start) {
		indent := d.indentOf(last.start)
		lead = d.newline() + indent
		text += string(d.format(value, indent))
		at = d.endOfLineComment(at)
	} else {
		text += string(value)
	}
	if last.comma >= 0 {
		return []splice{{at, at, lead + text + ","}}
	}
	return []splice{{last.value.end, last.value.end, ","}, {at, at, lead + text}}
}

// insertFirst adds a member to an empty object. Whitespace in it stays before the mark, and comments before the member.
func (d *Document) insertFirst(object *node, outer, name string, value []byte) splice {
	inside := string(d.text[object.start+1 : object.end-1])
	indent := outer + d.unit()
	text := d.newline() + indent + label(name) + string(d.format(value, indent))
	if content := strings.TrimRight(inside, " \t\r\n"); content != "" {
		at := object.start + 1 + len(content)
		return splice{at, at, text}
	}
	at := object.end - 1
	return splice{at, at, mark + text + d.newline() + outer}
}

// Remove returns the text without the member, or nil if nothing remains of a text that Set made.
func (d *Document) Remove(container, name string) ([]byte, error) {
	found, err := d.find(container, name)
	if err != nil || found == nil {
		return d.text, err
	}
	outer, err := d.lookup(d.root, "the document", container)
	if err != nil {
		return nil, err
	}
	if !d.madeBySet(outer.value, true) {
		return d.apply(d.cut(outer.value, found)...), nil
	}
	if !d.madeBySet(d.root, false) {
		return d.apply(d.cut(d.root, outer)...), nil
	}
	before, after := string(d.text[:d.root.start]), string(d.text[d.root.end:])
	switch {
	case after != d.newline():
	case before == "":
		return nil, nil
	case strings.HasSuffix(before, mark):
		return []byte(strings.TrimSuffix(before, mark)), nil
	}
	return d.apply(splice{d.root.start, d.root.end, "{}"}), nil
}

// madeBySet reports whether Set made an object for its one member: there is no mark and no comment. An object in one
// line counts if inline says so.
func (d *Document) madeBySet(object *node, inline bool) bool {
	if len(object.members) != 1 || object.members[0].comma >= 0 {
		return false
	}
	m := object.members[0]
	before, after := string(d.text[object.start+1:m.start]), string(d.text[m.value.end:object.end-1])
	if before == "" && after == "" {
		return inline
	}
	return strings.TrimLeft(before, "\r\n") == d.indentOf(m.start) && strings.TrimSpace(after) == "" &&
		d.ownLine(m.start)
}

// cut removes a member with its line, and the comma that it needed.
func (d *Document) cut(object *node, m *member) []splice {
	start := d.startOfCut(object, m)
	if m.comma >= 0 {
		end := m.comma + 1
		if start == object.start+1 && !d.ownLine(m.start) { // the next member takes its place
			start, end = m.start, len(d.text)-len(bytes.TrimLeft(d.text[end:], " \t"))
		}
		return []splice{{start, end, ""}}
	}
	if len(object.members) == 1 {
		return []splice{d.cutOnly(object, m, start)}
	}
	previous := object.members[len(object.members)-2].comma
	return []splice{{previous, previous + 1, ""}, {start, m.value.end, ""}}
}

// startOfCut returns the place from which a member is removed: after the line before, or after the spaces in its own
// line. A // comment keeps its line end, unless the member has no other neighbor in its line.
func (d *Document) startOfCut(object *node, m *member) int {
	start := m.start - len(d.spacesBefore(m.start))
	if !d.ownLine(m.start) {
		return start
	}
	end := max(m.value.end, m.comma+1)
	rest := d.text[end : end+lineLength(d.text[end:])]
	if len(bytes.TrimSpace(rest)) > 0 && d.followsComment(object, m) {
		return start
	}
	return len(bytes.TrimSuffix(bytes.TrimSuffix(d.text[:start], []byte("\n")), []byte("\r")))
}

// followsComment reports whether a // comment is the last thing before a member.
func (d *Document) followsComment(object *node, m *member) (follows bool) {
	from := object.start + 1
	for _, other := range object.members {
		if other.start < m.start {
			from = other.comma + 1
		}
	}
	for gap := d.text[from:m.start]; ; {
		gap = bytes.TrimLeft(gap, " \t\r\n")
		switch {
		case bytes.HasPrefix(gap, []byte("//")):
			gap, follows = gap[lineLength(gap):], true
		case bytes.HasPrefix(gap, []byte("/*")):
			_, gap, _ = bytes.Cut(gap[2:], []byte("*/"))
			follows = false
		default:
			return follows
		}
	}
}

// cutOnly removes the one member of an object, with all that Set wrote after a mark.
func (d *Document) cutOnly(object *node, m *member, start int) splice {
	before, after := d.text[object.start+1:start], d.text[m.value.end:object.end-1]
	if len(bytes.TrimSpace(before)) > 0 || len(bytes.TrimSpace(after)) > 0 {
		return splice{start, m.value.end, ""} // comments stay
	}
	return splice{object.start + 1, object.end - 1, strings.TrimSuffix(string(before), mark)}
}

// apply returns the text with the splices, which are in order.
func (d *Document) apply(splices ...splice) []byte {
	var out []byte
	at := 0
	for _, s := range splices {
		out = append(append(out, d.text[at:s.start]...), s.text...)
		at = s.end
	}
	return append(out, d.text[at:]...)
}
