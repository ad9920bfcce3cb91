package mcp

import (
	"encoding/json"
	"reflect"
	"strings"
)

// A brief says what a tool leaves out of an object where it answers with a
// list: an agent reads many records then, and pays for every byte. It follows
// from the tags of the output's type:
//
//	brief:"-"               is left out
//	brief:"active"          is left out where it has this value
//	brief:"cut"             is left out unless the content beside it is cut
//	brief:"without a b"     is a list whose records lack a and b
//
// A record that stands alone is shown whole.
type brief struct {
	members map[string]*briefMember // by name; what is not listed is shown
	lists   bool                    // something is left out of the records of a list
	cuts    bool                    // something depends on whether the content is cut
}

// A briefMember is what a brief says of one member.
type briefMember struct {
	omit   bool
	usual  string // the JSON value with which it says nothing
	cut    bool
	inside *brief // of the object, or of each record of the list
}

// newBrief returns what the type of an output says, or nil where it leaves out
// nothing.
func newBrief(t reflect.Type, without ...string) *brief {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	b := &brief{members: map[string]*briefMember{}}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || !f.IsExported() {
			continue
		}
		if m := b.member(f); m != nil {
			b.members[name] = m
		}
	}
	for _, name := range without {
		b.members[name] = &briefMember{omit: true}
	}
	if len(b.members) == 0 {
		return nil
	}
	return b
}

// member returns what the tag of a field and its type say.
func (b *brief) member(f reflect.StructField) *briefMember {
	m, tag := &briefMember{}, f.Tag.Get("brief")
	names, listed := strings.CutPrefix(tag, "without ")
	switch {
	case listed:
		m.inside = newBrief(f.Type, strings.Fields(names)...)
	case tag == "-":
		m.omit = true
	case tag == "cut":
		m.cut, b.cuts = true, true
	case tag != "" && f.Type.Kind() == reflect.String:
		m.usual = `"` + tag + `"`
	default:
		m.usual = tag
	}
	if m.inside == nil {
		m.inside = newBrief(f.Type)
	}
	if m.inside != nil {
		b.lists = b.lists || m.inside.lists || f.Type.Kind() == reflect.Slice
		b.cuts = b.cuts || m.inside.cuts
	}
	if tag == "" && m.inside == nil {
		return nil
	}
	return m
}

// apply returns the answer raw without what the brief leaves out.
func (b *brief) apply(raw []byte) []byte {
	if b == nil || !json.Valid(raw) {
		return raw
	}
	out, _ := b.value(make([]byte, 0, len(raw)), raw, space(raw, 0))
	return out
}

// value copies the value of in that begins at i, and returns its end.
func (b *brief) value(out, in []byte, i int) ([]byte, int) {
	end := after(in, i)
	switch {
	case b == nil || in[i] != '[' && in[i] != '{':
		return append(out, in[i:end]...), end
	case in[i] == '{':
		return b.object(out, in[i:end]), end
	}
	out = append(out, '[')
	for at := space(in, i+1); in[at] != ']'; at = comma(in, at) {
		if out[len(out)-1] != '[' {
			out = append(out, ',')
		}
		out, at = b.value(out, in, at)
	}
	return append(out, ']'), end
}

func (b *brief) object(out, object []byte) []byte {
	out = append(out, '{')
	long := false
	each(object, func(name, value []byte) {
		m := b.members[string(name)]
		if string(name) == "content" && value[0] == '"' {
			text := value[1 : len(value)-1]
			long = characters(text, found) < len(text)
		}
		if m != nil && (m.omit || m.cut && !long || m.usual != "" && string(value) == m.usual) {
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
		out, _ = m.inside.value(out, value, 0)
	})
	return append(out, '}')
}
