package setup

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// mark is a space after a bracket, or before the root, which tells that Set or Append added to an object, list or text
// that was there and empty. Remove leaves it empty. Without the mark, it takes back the object that Set made.
const mark = " "

// Set returns the text with the member of the container, an object in the root. The value is JSON in one line; it is
// written in the style of the document. A member that exists keeps its place.
func (d *jsonDocument) Set(container, name string, value []byte) ([]byte, error) {
	in, at, err := d.find(container, name)
	switch {
	case err != nil:
		return nil, err
	case d.root.Value == nil:
		return d.fill(container, name, value), nil
	case in == nil:
		d.add(&d.root, container, wrap(name, value))
	case at < 0:
		d.add(in, name, value)
	default:
		d.replace(in, at, value)
	}
	return d.root.Pack(), nil
}

// Append returns the text with an item after the last one of a list, the member of the container. An absent list is
// made. The item is JSON in one line.
func (d *jsonDocument) Append(container, name string, item []byte) ([]byte, error) {
	list, err := d.member(container, name)
	if err != nil {
		return nil, err
	}
	if list == nil {
		return d.Set(container, name, slices.Concat([]byte("["), item, []byte("]")))
	}
	d.add(list, "", item)
	return d.root.Pack(), nil
}

// SetItem returns the text with another item in the place of one of a list that exists.
func (d *jsonDocument) SetItem(container, name string, index int, item []byte) ([]byte, error) {
	list, err := d.member(container, name)
	if err != nil {
		return nil, err
	}
	d.replace(list, index, item)
	return d.root.Pack(), nil
}

// RemoveItem returns the text without an item of a list that exists, or nil if nothing remains of a text that Append
// made. The last item of a list that Append made takes the list with it.
func (d *jsonDocument) RemoveItem(container, name string, index int) ([]byte, error) {
	list, err := d.member(container, name)
	switch {
	case err != nil:
		return nil, err
	case madeBySet(list, true):
		return d.Remove(container, name)
	}
	d.cut(list, index)
	return d.root.Pack(), nil
}

// Remove returns the text without the member, or nil if nothing remains of a text that Set made.
func (d *jsonDocument) Remove(container, name string) ([]byte, error) {
	in, at, err := d.find(container, name)
	if err != nil || at < 0 {
		return d.text, err
	}
	if madeBySet(in, true) {
		if madeBySet(&d.root, false) {
			return d.withoutObject(), nil
		}
		in = &d.root
		at, _ = d.lookup(in, "", container) // find has found it
	}
	d.cut(in, at)
	return d.root.Pack(), nil
}

// withoutObject returns the text before Set made the root, or nil if there was none.
func (d *jsonDocument) withoutObject() []byte {
	switch before := d.root.BeforeExtra; {
	case string(d.root.AfterExtra) != d.newline:
	case len(before) == 0:
		return nil
	case bytes.HasSuffix(before, []byte(mark)) && isBlank(bytes.TrimPrefix(before, []byte(bom))):
		return bytes.TrimSuffix(before, []byte(mark))
	}
	d.root.Value = &hujson.Object{}
	return d.root.Pack()
}

// wrap returns the object with one member.
func wrap(name string, value []byte) []byte {
	return slices.Concat([]byte("{"), hujson.String(name), []byte(": "), value, []byte("}"))
}

// fill returns a text of whitespace with an object.
func (d *jsonDocument) fill(container, name string, value []byte) []byte {
	before := d.text
	if before != nil {
		before = slices.Concat(before, []byte(mark))
	}
	return slices.Concat(before, d.format(wrap(container, wrap(name, value)), ""), []byte(d.newline))
}

// replace changes the value of a slot, in the style of the document.
func (d *jsonDocument) replace(in *hujson.Value, at int, value []byte) {
	all, _ := slots(in)
	s := all[at]
	if ownLine(s.first.BeforeExtra) || bytes.IndexByte(d.body[s.value.StartOffset:s.value.EndOffset], '\n') >= 0 {
		value = d.format(value, d.indentOf(s.first.StartOffset))
	}
	s.value.Value = hujson.Literal(value)
}

// add appends a member to an object, or an item without a name to a list.
func (d *jsonDocument) add(in *hujson.Value, name string, value []byte) {
	all, after := slots(in)
	lead, comma := hujson.Extra(" "), hujson.Extra(nil)
	if len(all) == 0 {
		lead, value = d.addFirst(in, after, value)
	} else {
		last := all[len(all)-1]
		if ownLine(last.first.BeforeExtra) {
			indent, end := d.indentOf(last.first.StartOffset), lineCommentLength(*after)
			lead = slices.Concat((*after)[:end], []byte(d.newline+indent))
			*after = (*after)[end:]
			value = d.format(value, indent)
		}
		if last.value.AfterExtra != nil { // a comma follows the last one
			comma = hujson.Extra{}
		}
	}
	item := hujson.Value{BeforeExtra: lead, Value: hujson.Literal(value), AfterExtra: comma}
	switch in := in.Value.(type) {
	case *hujson.Object:
		item.BeforeExtra = hujson.Extra(" ")
		in.Members = append(in.Members, hujson.ObjectMember{
			Name: hujson.Value{BeforeExtra: lead, Value: hujson.String(name)}, Value: item})
	case *hujson.Array:
		in.Elements = append(in.Elements, item)
	}
}

// addFirst makes room in an empty object or list. Comments in it stay before the value, and whitespace before the mark.
func (d *jsonDocument) addFirst(in *hujson.Value, inside *hujson.Extra, value []byte) (lead hujson.Extra, _ []byte) {
	outer := d.indentOf(in.StartOffset)
	indent := outer + d.unit()
	if content := bytes.TrimRight(*inside, " \t\r\n"); len(content) > 0 {
		lead, *inside = content, (*inside)[len(content):]
	} else {
		lead = slices.Concat(*inside, []byte(mark))
		*inside = hujson.Extra(d.newline + outer)
	}
	return slices.Concat(lead, []byte(d.newline+indent)), d.format(value, indent)
}

// madeBySet reports whether Set made an object for its one member: there is no mark and no comment. An object in one
// line counts if inline says so.
func madeBySet(object *hujson.Value, inline bool) bool {
	all, after := slots(object)
	if len(all) != 1 || all[0].value.AfterExtra != nil {
		return false
	}
	before := all[0].first.BeforeExtra
	if ownLine(before) {
		return len(bytes.Trim(withoutLine(before), "\r\n")) == 0 && isBlank(*after)
	}
	return inline && len(before)+len(*after) == 0
}

// cut removes a slot with its line, and the comma that it needed.
func (d *jsonDocument) cut(in *hujson.Value, at int) {
	all, after := slots(in)
	s := all[at]
	before := s.first.BeforeExtra
	switch {
	case at+1 < len(all):
		next := &all[at+1].first.BeforeExtra
		if ownLine(before) {
			*next = d.join(withoutLine(before), *next)
		} else {
			*next = slices.Concat(before, bytes.TrimLeft(*next, " \t"))
		}
	case at == 0 && s.value.AfterExtra == nil && isBlank(before) && isBlank(*after):
		*after = bytes.TrimSuffix(withoutLine(before), []byte(mark))
	default:
		*after = d.join(withoutLine(before), *after)
		if at > 0 {
			moveComma(s.value, all[at-1].value, after)
		}
	}
	switch in := in.Value.(type) {
	case *hujson.Object:
		in.Members = slices.Delete(in.Members, at, at+1)
	case *hujson.Array:
		in.Elements = slices.Delete(in.Elements, at, at+1)
	}
}

// moveComma lets a comma follow the new last value if it followed the old one.
func moveComma(old, last *hujson.Value, after *hujson.Extra) {
	switch {
	case old.AfterExtra == nil:
		*after = slices.Concat(last.AfterExtra, *after)
		last.AfterExtra = nil
	case last.AfterExtra == nil:
		last.AfterExtra = hujson.Extra{}
	}
}

// join joins what stood before and after a removed value. A // comment keeps its line end if something follows it.
func (d *jsonDocument) join(before, after hujson.Extra) hujson.Extra {
	if !before.IsValid() && !bytes.HasPrefix(bytes.TrimLeft(after, " \t\r"), []byte("\n")) {
		before = slices.Concat(before, []byte(d.newline))
	}
	return slices.Concat(before, after)
}

// newlineOf returns the line ending of a text.
func newlineOf(text []byte) string {
	if bytes.Contains(text, []byte("\r\n")) {
		return "\r\n"
	}
	return "\n"
}

// unit returns one step of indentation: that of the first member of the root, or two spaces.
func (d *jsonDocument) unit() string {
	if all, _ := slots(&d.root); len(all) > 0 && ownLine(all[0].first.BeforeExtra) {
		if indent := d.indentOf(all[0].first.StartOffset); indent != "" {
			return indent
		}
	}
	return "  "
}

// ownLine reports whether a value begins its line, by what stands before it.
func ownLine(before hujson.Extra) bool {
	return bytes.HasSuffix(bytes.TrimRight(before, " \t"), []byte("\n"))
}

// withoutLine returns what stands before a value without the line break and the spaces right before it.
func withoutLine(before hujson.Extra) hujson.Extra {
	return bytes.TrimSuffix(bytes.TrimSuffix(bytes.TrimRight(before, " \t"), []byte("\n")), []byte("\r"))
}

// indentOf returns the indentation of the line of a place.
func (d *jsonDocument) indentOf(at int) string {
	line := d.body[bytes.LastIndexByte(d.body[:at], '\n')+1 : at]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// lineCommentLength returns the length of the // comment with which a text begins, without its line end, or 0.
func lineCommentLength(text []byte) int {
	if !bytes.HasPrefix(bytes.TrimLeft(text, " \t"), []byte("//")) {
		return 0
	}
	line, _, _ := bytes.Cut(text, []byte("\n"))
	return len(bytes.TrimSuffix(line, []byte("\r")))
}

// format returns the value in several lines, in the style of the document.
func (d *jsonDocument) format(value []byte, indent string) []byte {
	var b bytes.Buffer
	if json.Indent(&b, value, indent, d.unit()) != nil {
		return value // no JSON: the caller checks the result
	}
	return []byte(strings.ReplaceAll(b.String(), "\n", d.newline))
}
