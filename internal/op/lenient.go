package op

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/strictjson"
)

// Lenient returns the arguments of a tool as the strict decoder wants them. Models fill optional arguments with null or
// "", quote numbers, booleans, lists and objects, write a list as one text, and spell the names of fields in another
// case. Arguments that the decoder accepts keep their meaning. An optional "" is the exception: it counts as absent,
// unless its type gives it a meaning (loci.Rule.Null). All else is left for the decoder to refuse.
func (o *Op) Lenient(args []byte) ([]byte, error) {
	args = unquoteObject(args)
	in := strictjson.NewScanner(args)
	if in.Next() != '{' {
		return args, nil
	}
	l := lenientWriter{out: make([]byte, 0, len(args))}
	if err := l.object(o.input, &in, ""); err != nil {
		if _, ok := err.(*loci.Error); ok {
			return nil, err
		}
		return args, nil
	}
	if in.End("object") != nil {
		return args, nil
	}
	return l.out, nil
}

// unquoteObject returns the JSON object that a JSON string holds, or else the value.
func unquoteObject(value []byte) []byte {
	if text, ok := readText(value); ok && strings.HasPrefix(strings.TrimSpace(text), "{") {
		in := strictjson.NewScanner([]byte(text))
		if object, err := in.Raw(); err == nil && in.End("object") == nil {
			return object
		}
	}
	return value
}

// A lenientWriter writes arguments again. It reads each byte at most once for each level of the input's type.
type lenientWriter struct{ out []byte }

// object writes the next object without its absent members; prefix is the path to it, "" or "source.". A field that is
// given under two names must have one value.
func (l *lenientWriter) object(p *inputSpec, in *strictjson.Scanner, prefix string) error {
	var given fieldSet
	written := make([][]byte, len(p.fields))
	l.out = append(l.out, '{')
	begin := len(l.out)
	err := in.RawMembers(func(rawName []byte) error {
		value, err := in.Raw()
		if err != nil {
			return err
		}
		end := len(l.out)
		if end > begin {
			l.out = append(l.out, ',')
		}
		name, _ := readText(rawName)
		i := p.meantField(name)
		if i < 0 {
			l.out = append(append(append(l.out, rawName...), ':'), value...)
			return nil
		}
		f := &p.fields[i]
		if f.Name == name && given.has(i) {
			return invalidf("%s is given twice", prefix+name)
		} else if f.Name == name {
			given.add(i)
		}
		l.out = append(append(append(l.out, '"'), f.Name...), `":`...)
		start := len(l.out)
		kept, err := l.member(f, value, prefix)
		switch first := written[i]; {
		case !kept || err != nil:
			l.out = l.out[:end]
		case first == nil:
			written[i] = l.out[start:len(l.out):len(l.out)]
		case bytes.Equal(first, l.out[start:]):
			l.out = l.out[:end]
		default:
			return invalidf("%s is given twice, with different values", prefix+f.Name)
		}
		return err
	})
	l.out = append(l.out, '}')
	return err
}

// meantField returns the index of the field that an argument means, or -1: the field of its name, or the only one whose
// name differs in letter case and separators alone, or the only one that the name can stand for. An atlas beside the id
// of another record is not taken: answers name atlases, models repeat them, and a memory would move.
func (p *inputSpec) meantField(name string) int {
	only := func(matches func(f *field) bool) int {
		found := -1
		for i := range p.fields {
			if matches(&p.fields[i]) {
				if found >= 0 {
					return -1
				}
				found = i
			}
		}
		return found
	}
	if i := only(func(f *field) bool { return f.Name == name }); i >= 0 {
		return i
	}
	folded := foldName(name)
	if i := only(func(f *field) bool { return f.folded == folded }); i >= 0 {
		return i
	}
	return only(func(f *field) bool {
		switch folded {
		case "id":
			return f.Required && f.spec.isID()
		case "text":
			return f.Name == "content"
		}
		return f.spec.isID() && f.folded == folded+"id" && (f.Required || f.Name != "atlasId" || !p.hasRequiredID())
	})
}

// hasRequiredID reports whether an input names a record.
func (p *inputSpec) hasRequiredID() bool {
	return slices.ContainsFunc(p.fields, func(f field) bool { return f.Required && f.spec.isID() })
}

// member writes the value of a field, unless it counts as absent. So does an object whose members all do.
func (l *lenientWriter) member(f *field, value []byte, prefix string) (written bool, err error) {
	if value[0] == 'n' {
		return false, nil // the decoder reports a required field
	}
	if text, ok := readText(value); ok && !f.Required && f.spec.isAbsent(text) {
		return false, nil
	}
	begin := len(l.out)
	if err := l.value(f.spec, value, prefix+f.Name); err != nil {
		return false, err
	}
	emptied := f.spec.kind == objectKind && string(l.out[begin:]) == "{}" && bytes.Contains(value, []byte(":"))
	return !emptied || f.Required, nil
}

// isAbsent reports whether a text means that an optional value is absent.
func (p *inputSpec) isAbsent(text string) bool {
	if p.kind == stringKind {
		return text == "" && (!p.rule.Null || p.isID()) // no id is meant
	}
	return strings.TrimSpace(text) == ""
}

// value writes a value as p wants it; name is its path, for messages.
func (l *lenientWriter) value(p *inputSpec, value []byte, name string) error {
	if p.kind == objectKind || p.kind == metadataKind {
		value = unquoteObject(value)
	}
	in := strictjson.NewScanner(value)
	switch c := value[0]; {
	case c == '{' && p.kind == objectKind:
		return l.object(p, &in, name+".")
	case c == '[' && p.kind == arrayKind:
		l.out = append(l.out, '[')
		err := in.Items(']', func() error {
			if last := l.out[len(l.out)-1]; last != '[' {
				l.out = append(l.out, ',')
			}
			item, err := in.Raw()
			if err == nil {
				err = l.value(p.elem, item, name)
			}
			return err
		})
		l.out = append(l.out, ']')
		return err
	case c == '"':
		if text, ok := readText(value); ok {
			return l.text(p, value, strings.TrimSpace(text), name)
		}
	default:
		value = p.clamp(value)
	}
	l.out = append(l.out, value...)
	return nil
}

// text writes a JSON string, or the value of another type that its text reads as.
func (l *lenientWriter) text(p *inputSpec, value []byte, text, name string) error {
	switch p.kind {
	case boolKind:
		if b := strings.ToLower(text); b == "true" || b == "false" {
			value = []byte(b)
		}
	case integerKind, numberKind:
		if text != "" && strictjson.NumberEnd([]byte(text), 0) == len(text) {
			value = p.clamp([]byte(text))
		}
	case timeKind:
		if _, err := time.Parse(time.DateOnly, text); err == nil {
			if !p.endOfDay { // else the decoder reads dates
				text += "T00:00:00Z"
			}
			value = strconv.AppendQuote(nil, text)
		}
	case arrayKind:
		if strings.HasPrefix(text, "[") {
			in := strictjson.NewScanner([]byte(text))
			if list, err := in.Raw(); err == nil && in.End("list") == nil {
				return l.value(p, list, name)
			}
			break
		}
		if items := splitItems(text); items != nil && p.elem.kind < arrayKind {
			list, err := Marshal(items)
			if err != nil {
				return err
			}
			return l.value(p, list, name)
		}
	}
	l.out = append(l.out, value...)
	return nil
}

// splitItems returns the items of a list that is written as one text, without white space around them and empty ones.
func splitItems(text string) (items []string) {
	for _, item := range SplitList(text) {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}
	return items
}

// clamp returns the nearest number within the bounds of a rule that clamps, or else the value.
func (p *inputSpec) clamp(value []byte) []byte {
	f, err := strconv.ParseFloat(string(value), 64)
	switch {
	case !p.rule.Clamp || err != nil:
		return value
	case f < float64(p.rule.Min):
		return strconv.AppendInt(nil, p.rule.Min, 10)
	case f > float64(p.rule.Max):
		return strconv.AppendInt(nil, p.rule.Max, 10)
	}
	return value
}

// readText returns the text of a JSON string.
func readText(value []byte) (string, bool) {
	if len(value) == 0 || value[0] != '"' {
		return "", false
	}
	in := strictjson.NewScanner(value)
	text, err := in.String("")
	return text, err == nil
}
