package mcp

import (
	"encoding/json"
	"reflect"
	"strings"
)

// A projection says what a tool leaves out of an object where it answers with a
// list: an agent reads many records then, and pays for every byte. It follows
// from the tags of the output's type:
//
//	brief:"-"               is left out
//	brief:"active"          is left out where it has this value
//	brief:"cut"             is left out unless the content beside it is cut
//	brief:"without a b"     is a list whose records lack a and b
//
// A record that stands alone is shown whole.
type projection struct {
	members      map[string]*memberRule // by name; what is not listed is shown
	trimsLists   bool                   // something is left out of the records of a list
	dependsOnCut bool                   // something depends on whether the content is cut
}

// A memberRule is what a brief says of one member.
type memberRule struct {
	omit        bool
	omitValue   string // the JSON value with which it says nothing
	onlyWhenCut bool
	nested      *projection // of the object, or of each record of the list
}

// newProjection returns what the type of an output says, or nil where it leaves out
// nothing.
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

// newMemberRule returns what the tag of a field and its type say.
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

// apply returns the answer raw without what the brief leaves out.
func (b *projection) apply(raw []byte) []byte {
	if b == nil || !json.Valid(raw) {
		return raw
	}
	out, _ := b.copyValue(make([]byte, 0, len(raw)), raw, skipSpace(raw, 0))
	return out
}

// copyValue copies the value of in that begins at i, and returns its end.
func (b *projection) copyValue(out, in []byte, i int) ([]byte, int) {
	end := valueEnd(in, i)
	switch {
	case b == nil || in[i] != '[' && in[i] != '{':
		return append(out, in[i:end]...), end
	case in[i] == '{':
		return b.copyObject(out, in[i:end]), end
	}
	out = append(out, '[')
	for at := skipSpace(in, i+1); in[at] != ']'; at = skipComma(in, at) {
		if out[len(out)-1] != '[' {
			out = append(out, ',')
		}
		out, at = b.copyValue(out, in, at)
	}
	return append(out, ']'), end
}

func (b *projection) copyObject(out, object []byte) []byte {
	out = append(out, '{')
	long := false
	eachMember(object, func(name, value []byte) {
		m := b.members[string(name)]
		if string(name) == "content" && value[0] == '"' {
			text := value[1 : len(value)-1]
			long = prefixBytes(text, maxSearchText) < len(text)
		}
		if m != nil && (m.omit || m.onlyWhenCut && !long || m.omitValue != "" && string(value) == m.omitValue) {
			return
		}
		if out[len(out)-1] != '{' {
			out = append(out, ',')
		}
		out = append(append(append(out, '"'), name...), '"', ':')
		if m == nil {
			out = append(out, value...)
			return
		}
		out, _ = m.nested.copyValue(out, value, 0)
	})
	return append(out, '}')
}
