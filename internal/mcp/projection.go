package mcp

import (
	"reflect"
	"strings"

	"github.com/loci-memory/loci/internal/strictjson"
)

// A projection lists the members that a tool omits from the records of a list, because an agent pays for every byte.
// It follows from the tags of the output's type:
//
//	brief:"-"               is left out
//	brief:"active"          is left out where it has this value
//	brief:"cut"             is left out unless the content beside it is cut
//	brief:"without a b"     is a list whose records lack a and b
//
// A single record is shown whole.
type projection struct {
	members      map[string]*memberRule // by name; other members are shown
	trimsLists   bool                   // something is left out of the records of a list
	dependsOnCut bool                   // something depends on whether the content is cut
}

// A memberRule is the rule of a projection for one member.
type memberRule struct {
	omit        bool
	omitValue   string // the JSON value with which it says nothing
	onlyWhenCut bool
	nested      *projection // of the object, or of each record of the list
}

// newProjection returns the projection of an output type, or nil if it omits nothing.
func newProjection(t reflect.Type, without ...string) *projection {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	b := &projection{members: map[string]*memberRule{}}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || !f.IsExported() {
			continue
		}
		if m := b.newMemberRule(f); m != nil {
			b.members[name] = m
		}
	}
	for _, name := range without {
		b.members[name] = &memberRule{omit: true}
	}
	if len(b.members) == 0 {
		return nil
	}
	return b
}

// newMemberRule returns the rule of a field from its tag and type.
func (b *projection) newMemberRule(f reflect.StructField) *memberRule {
	m, tag := &memberRule{}, f.Tag.Get("brief")
	names, listed := strings.CutPrefix(tag, "without ")
	switch {
	case listed:
		m.nested = newProjection(f.Type, strings.Fields(names)...)
	case tag == "-":
		m.omit = true
	case tag == "cut":
		m.onlyWhenCut, b.dependsOnCut = true, true
	case tag != "" && f.Type.Kind() == reflect.String:
		m.omitValue = `"` + tag + `"`
	default:
		m.omitValue = tag
	}
	if m.nested == nil {
		m.nested = newProjection(f.Type)
	}
	if m.nested != nil {
		b.trimsLists = b.trimsLists || m.nested.trimsLists || f.Type.Kind() == reflect.Slice
		b.dependsOnCut = b.dependsOnCut || m.nested.dependsOnCut
	}
	if tag == "" && m.nested == nil {
		return nil
	}
	return m
}

// apply returns an answer without the members that the projection omits.
func (b *projection) apply(raw []byte) []byte {
	if b == nil {
		return raw
	}
	in := strictjson.NewScanner(raw)
	out, err := b.copyValue(make([]byte, 0, len(raw)), &in)
	if err != nil {
		return raw
	}
	return out
}

// copyValue appends the next value of in to out.
func (b *projection) copyValue(out []byte, in *strictjson.Scanner) ([]byte, error) {
	switch c := in.Next(); {
	case b == nil || c != '[' && c != '{':
		value, err := in.Raw()
		return append(out, value...), err
	case c == '{':
		return b.copyObject(out, in)
	}
	out = append(out, '[')
	err := in.Items(']', func() (err error) {
		out, err = b.copyValue(appendComma(out), in)
		return err
	})
	return append(out, ']'), err
}

func (b *projection) copyObject(out []byte, in *strictjson.Scanner) ([]byte, error) {
	out = append(out, '{')
	long := false
	err := in.RawMembers(func(name []byte) error {
		value, err := in.Raw()
		if err != nil {
			return err
		}
		m := b.members[string(name[1:len(name)-1])]
		if string(name) == `"content"` && value[0] == '"' {
			text := value[1 : len(value)-1]
			long = prefixBytes(text, maxSearchText) < len(text)
		}
		if m != nil && (m.omit || m.onlyWhenCut && !long || m.omitValue != "" && string(value) == m.omitValue) {
			return nil
		}
		out = append(append(appendComma(out), name...), ':')
		if m == nil {
			out = append(out, value...)
			return nil
		}
		nested := strictjson.NewScanner(value)
		out, err = m.nested.copyValue(out, &nested)
		return err
	})
	return append(out, '}'), err
}

// appendComma appends a comma, unless a bracket was opened just before.
func appendComma(out []byte) []byte {
	if last := out[len(out)-1]; last == '{' || last == '[' {
		return out
	}
	return append(out, ',')
}
