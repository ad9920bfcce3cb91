package op

import (
	"reflect"
	"strings"

	"github.com/loci-memory/loci/internal/strictjson"
)

// A decoder reads JSON into an operation's input.
type decoder struct {
	strictjson.Scanner
	op       *Op
	fromHTTP bool
}

// decodeDocument reads the whole text: one object and nothing after it.
func (d *decoder) decodeDocument(p *inputSpec, v reflect.Value, given *fieldSet) error {
	switch d.Next() {
	case 0:
		return d.End("object") // white space alone
	case '{':
		if err := d.decodeObject(p, v, given, ""); err != nil {
			return err
		}
		return d.End("object")
	}
	return invalidf("send a JSON object")
}

// decodeObject reads an object; prefix is the path to it, "" or "source.".
func (d *decoder) decodeObject(p *inputSpec, v reflect.Value, given *fieldSet, prefix string) error {
	return d.Members(func(name string) error { return d.decodeMember(p, v, given, prefix, name) })
}

func (d *decoder) decodeMember(p *inputSpec, v reflect.Value, given *fieldSet, prefix, name string) error {
	for i := range p.fields {
		f := &p.fields[i]
		if f.Name != name || d.fromHTTP && prefix == "" && f.Location != InBody {
			continue
		}
		if given.has(i) {
			return invalidf("%s is given twice", prefix+name)
		}
		given.add(i)
		return d.decodeValue(f.spec, f.spec.settable(v.FieldByIndex(f.index)), prefix+name)
	}
	return unknownField(name, d.knownNames(p, prefix))
}

// knownNames lists the names that an object may hold.
func (d *decoder) knownNames(p *inputSpec, prefix string) []string {
	if d.fromHTTP && prefix == "" {
		return d.op.fieldNames(InBody)
	}
	names := make([]string, len(p.fields))
	for i := range p.fields {
		names[i] = p.fields[i].Name
	}
	return names
}

func (d *decoder) decodeValue(p *inputSpec, v reflect.Value, name string) error {
	switch c := d.Next(); {
	case c == '"' && (p.kind == stringKind || p.kind == timeKind):
		text, err := d.String(name)
		if err != nil {
			return err
		}
		if strings.IndexByte(text, 0) >= 0 {
			return invalidf("%s must hold no NUL", name)
		}
		return p.setString(v, name, text)
	case c == '[' && p.kind == arrayKind:
		return d.decodeArray(p, v, name)
	case c == '{' && p.kind == objectKind:
		var given fieldSet
		if err := d.decodeObject(p, v, &given, name+"."); err != nil {
			return err
		}
		return p.checkRequired(&given, name+".")
	case c == '{' && p.kind == metadataKind:
		r := metadataReader{Scanner: &d.Scanner, field: name}
		object, err := r.readObject(1)
		v.Set(reflect.ValueOf(object))
		return err
	case (c == 't' || c == 'f') && p.kind == boolKind:
		if yes := d.Literal("true"); yes || d.Literal("false") {
			return p.setBool(v, name, yes)
		}
		return d.SyntaxError()
	case c == '-' || '0' <= c && c <= '9':
		text, err := d.Number()
		if err != nil {
			return err
		}
		if p.kind != integerKind && p.kind != numberKind {
			return p.typeError(name)
		}
		return p.setNumber(v, name, text)
	case c == 'n' && d.Literal("null"):
		if p.rule.Null {
			return p.setString(v, name, "")
		}
		return invalidf("%s must not be null: leave it out", name)
	case c != '"' && c != '[' && c != '{' && c != 't' && c != 'f':
		return d.SyntaxError()
	}
	return p.typeError(name)
}

func (d *decoder) decodeArray(p *inputSpec, v reflect.Value, name string) error {
	n := 0
	v.Set(reflect.MakeSlice(v.Type(), 0, 4))
	err := d.Items(']', func() error {
		if n++; n > p.maxItems() {
			return invalidf("%s must have at most %s", name, plural(p.maxItems(), "item"))
		}
		v.Set(reflect.Append(v, reflect.Zero(v.Type().Elem())))
		return d.decodeValue(p.elem, p.elem.settable(v.Index(n-1)), name)
	})
	if err == nil && n < p.rule.MinItems {
		return invalidf("%s must have at least %s", name, plural(p.rule.MinItems, "item"))
	}
	return err
}
