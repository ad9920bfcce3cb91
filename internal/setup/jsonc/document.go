package jsonc

import (
	"bytes"
	"fmt"
)

// A Document is a parsed text. Comments and trailing commas are allowed everywhere.
type Document struct {
	text []byte
	root *node // nil in a document of whitespace
}

// A node is a value and its place in the text.
type node struct {
	start, end int      // the bytes of the value: text[start:end]
	members    []member // of an object; those of a list have no name
	scalar     any      // a string, number, boolean or nil
}

// isObject reports whether the node is an object.
func (n *node) isObject(text []byte) bool { return text[n.start] == '{' }

// A member is one name of an object with its value, or one item of a list.
type member struct {
	name  string
	start int // of the name, or of the item
	value *node
	comma int // the place of the comma after the value, or -1
}

// bom is the mark at the start of some texts of Windows.
const bom = "\ufeff"

// Parse reads a document. A nil text is that of a file which does not exist; one of whitespace is a document too.
func Parse(text []byte) (*Document, error) {
	p := &parser{text: text}
	if bytes.HasPrefix(text, []byte(bom)) {
		p.at = len(bom)
	}
	root, err := p.document()
	if err != nil {
		return nil, err
	}
	return &Document{text: text, root: root}, nil
}

// Value returns the decoded member of the container, an object in the root. An absent container has no members.
func (d *Document) Value(container, name string) (value any, found bool, err error) {
	m, err := d.find(container, name)
	if err != nil || m == nil {
		return nil, false, err
	}
	return m.value.decode(d.text), true, nil
}

// find returns a member of the container, or nil.
func (d *Document) find(container, name string) (*member, error) {
	if d.root == nil {
		return nil, nil
	}
	outer, err := d.lookup(d.root, "the document", container)
	if err != nil || outer == nil {
		return nil, err
	}
	return d.lookup(outer.value, fmt.Sprintf("%q", container), name)
}

// lookup returns the member of an object, or nil. A duplicate name is an error: programs differ in which value they
// take.
func (d *Document) lookup(n *node, label, name string) (found *member, err error) {
	if !n.isObject(d.text) {
		return nil, d.errorAt(n.start, label+" is not an object")
	}
	for i := range n.members {
		if n.members[i].name != name {
			continue
		}
		if found != nil {
			return nil, d.errorAt(n.members[i].start, fmt.Sprintf("%q is a duplicate name", name))
		}
		found = &n.members[i]
	}
	return found, nil
}

func (d *Document) errorAt(at int, message string) error {
	return fmt.Errorf("line %d: %s", lineOf(d.text, at), message)
}

func lineOf(text []byte, at int) int { return 1 + bytes.Count(text[:at], []byte("\n")) }

// decode returns the value as encoding/json does.
func (n *node) decode(text []byte) any {
	switch text[n.start] {
	case '{':
		object := make(map[string]any, len(n.members))
		for _, m := range n.members {
			object[m.name] = m.value.decode(text)
		}
		return object
	case '[':
		list := make([]any, 0, len(n.members))
		for _, m := range n.members {
			list = append(list, m.value.decode(text))
		}
		return list
	}
	return n.scalar
}
