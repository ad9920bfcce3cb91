package setup

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tailscale/hujson"
)

// A jsonDocument is a JSON text in which comments and trailing commas may stand. An edit changes one member or item and
// no other byte; it uses the document up.
type jsonDocument struct {
	text    []byte       // of the file; nil: it does not exist
	body    []byte       // without a byte order mark
	root    hujson.Value // its Value is nil in a text of whitespace
	newline string       // the line ending
}

// bom is the mark at the start of some texts of Windows.
const bom = "\ufeff"

func parseJSON(text []byte) (*jsonDocument, error) {
	d := &jsonDocument{text: text, body: bytes.TrimPrefix(text, []byte(bom)), newline: newlineOf(text)}
	switch {
	case isBlank(d.body):
		return d, nil
	case !utf8.Valid(text):
		return nil, errors.New("the file is not UTF-8")
	case isTooDeep(d.body, jsonQuoting):
		return nil, errTooDeep
	}
	var err error
	if d.root, err = hujson.Parse(withNewline(d.body)); err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "hujson: "))
	}
	if d.root.Value.Kind() != '{' {
		return nil, d.errorAt(&d.root, "the document is not an object")
	}
	d.root.BeforeExtra = slices.Concat(text[:len(text)-len(d.body)], d.root.BeforeExtra)
	d.root.AfterExtra = d.root.AfterExtra[:len(d.root.AfterExtra)-1]
	return d, nil
}

// withNewline returns a copy with a line end, which a comment in the last line needs.
func withNewline(text []byte) []byte { return slices.Concat(text, []byte("\n")) }

func isBlank(text []byte) bool { return len(bytes.Trim(text, " \t\r\n")) == 0 }

func (d *jsonDocument) errorAt(v *hujson.Value, message string) error {
	before := d.body[:v.StartOffset]
	return fmt.Errorf("line %d, column %d: %s", 1+bytes.Count(before, []byte("\n")),
		len(before)-bytes.LastIndexByte(before, '\n'), message)
}

// jsonValues returns all values of a valid text.
func jsonValues(text []byte) (values map[string]any, err error) {
	body := bytes.TrimPrefix(text, []byte(bom))
	if isBlank(body) {
		return nil, nil
	}
	plain, err := hujson.Standardize(withNewline(body))
	if err == nil {
		err = decodeJSON(plain, &values)
	}
	return values, err
}

// decodeJSON decodes a value, and keeps numbers as they are written.
func decodeJSON(text []byte, value any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return d.Decode(value)
}

// A slot is a member of an object, or an item of a list.
type slot struct{ first, value *hujson.Value } // first is the name, or the item

// slots returns the parts of an object or list, and what follows the last of them.
func slots(v *hujson.Value) (all []slot, after *hujson.Extra) {
	switch v := v.Value.(type) {
	case *hujson.Object:
		for i := range v.Members {
			all = append(all, slot{&v.Members[i].Name, &v.Members[i].Value})
		}
		after = &v.AfterExtra
	case *hujson.Array:
		for i := range v.Elements {
			all = append(all, slot{&v.Elements[i], &v.Elements[i]})
		}
		after = &v.AfterExtra
	}
	return all, after
}

// lookup returns the index of a member, or -1. A duplicate name is an error: programs differ in which value they take.
func (d *jsonDocument) lookup(object *hujson.Value, label, name string) (int, error) {
	if object.Value.Kind() != '{' {
		return 0, d.errorAt(object, label+" is not an object")
	}
	found := -1
	all, _ := slots(object)
	for i, s := range all {
		if s.first.Value.(hujson.Literal).String() != name {
			continue
		}
		if found >= 0 {
			return 0, d.errorAt(s.first, fmt.Sprintf("%q is a duplicate name", name))
		}
		found = i
	}
	return found, nil
}

// find returns the container, or nil, and the index of a member in it, or -1.
func (d *jsonDocument) find(container, name string) (in *hujson.Value, index int, err error) {
	if d.root.Value == nil {
		return nil, -1, nil
	}
	outer, err := d.lookup(&d.root, "the document", container)
	if err != nil || outer < 0 {
		return nil, -1, err
	}
	all, _ := slots(&d.root)
	in = all[outer].value
	index, err = d.lookup(in, fmt.Sprintf("%q", container), name)
	return in, index, err
}

// member returns the value of a member of the container, or nil.
func (d *jsonDocument) member(container, name string) (*hujson.Value, error) {
	in, at, err := d.find(container, name)
	if err != nil || at < 0 {
		return nil, err
	}
	all, _ := slots(in)
	return all[at].value, nil
}

// Value returns the decoded member of the container, an object in the root. An absent container has no members.
func (d *jsonDocument) Value(container, name string) (value any, found bool, err error) {
	v, err := d.member(container, name)
	if err != nil || v == nil {
		return nil, false, err
	}
	plain := v.Clone()
	plain.Standardize()
	return value, true, decodeJSON(plain.Pack(), &value)
}
