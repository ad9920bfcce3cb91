package op

import (
	"cmp"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/loci-memory/loci"
)

// A kind is the JSON form of a value.
type kind int

const (
	stringKind kind = iota
	boolKind
	integerKind
	numberKind
	timeKind
	arrayKind
	objectKind
	metadataKind
)

func (k kind) String() string {
	return [...]string{"string", "boolean", "integer", "number", "string", "array", "object", "object"}[k]
}

// An inputSpec describes how to read and check values of a Go type. It is made
// once per type, when the operation is defined.
type inputSpec struct {
	kind     kind
	rule     loci.Rule
	pattern  *regexp.Regexp // of the rule; nil without one
	pointer  bool           // the Go type is a pointer: nil is absent
	elem     *inputSpec     // of a list
	fields   []field
	endOfDay bool         // of a time: a date means the end of its day in UTC
	typ      reflect.Type // without the pointer
}

type field struct {
	Field
	folded string // the name by foldName
	index  []int
	spec   *inputSpec
}

// A ruleProvider type has its own Rule.
type ruleProvider interface{ Rule() loci.Rule }

var (
	timeType     = reflect.TypeFor[loci.Time]()
	momentType   = reflect.TypeFor[loci.Moment]()
	idType       = reflect.TypeFor[loci.ID]()
	optionalID   = reflect.TypeFor[loci.OptionalID]()
	metadataType = reflect.TypeFor[loci.Metadata]()
)

func newInputSpec(t reflect.Type) *inputSpec {
	p := &inputSpec{typ: t}
	if t.Kind() == reflect.Pointer {
		p.pointer, p.typ = true, t.Elem()
	}
	if r, ok := reflect.Zero(p.typ).Interface().(ruleProvider); ok {
		p.rule = r.Rule()
	}
	if p.rule.Pattern != "" {
		p.pattern = regexp.MustCompile(p.rule.Pattern)
	}
	switch k := p.typ.Kind(); {
	case p.typ == timeType:
		p.kind = timeKind
	case p.typ == metadataType:
		p.kind = metadataKind
	case k == reflect.String:
		p.kind = stringKind
	case k == reflect.Bool:
		p.kind = boolKind
	case k == reflect.Int || k == reflect.Int64:
		p.kind = integerKind
	case k == reflect.Float64:
		p.kind = numberKind
	case k == reflect.Slice:
		p.kind, p.elem = arrayKind, newInputSpec(p.typ.Elem())
	case k == reflect.Struct:
		p.kind = objectKind
		p.addFields()
	default:
		panic(fmt.Sprintf("op: a field cannot be a %s", t))
	}
	return p
}

// addFields adds the fields of a struct, and those of the structs that it embeds as its own.
func (p *inputSpec) addFields() {
	toolDefaults := map[string]int{}
	for _, f := range reflect.VisibleFields(p.typ) {
		if f.Anonymous {
			addToolDefault(toolDefaults, f)
			continue
		}
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.IsExported() || name == "" || name == "-" {
			panic(fmt.Sprintf("op: %s.%s needs a name on the wire", p.typ, f.Name))
		}
		spec := newInputSpec(f.Type)
		item := spec
		spec.endOfDay = f.Tag.Get("date") == "end"
		if spec.kind == arrayKind {
			item = spec.elem
		}
		resource := f.Tag.Get("id")
		if (resource != "") != item.isID() {
			panic(fmt.Sprintf(`op: %s.%s: an id needs a tag id:"RESOURCE", and only an id has one`, p.typ, f.Name))
		}
		p.fields = append(p.fields, field{Field{Name: name, Required: options != "omitzero", Resource: resource,
			List: spec.kind == arrayKind, Type: item.kind.String(), Enum: item.rule.Enum, Format: item.rule.Format,
			Instant:   item.kind == timeKind || item.typ == reflect.TypeFor[loci.Moment](),
			EndOfDay:  spec.endOfDay,
			MaxLength: item.rule.MaxLength,
			Min:       item.rule.Min, Max: item.rule.Max, Default: item.rule.Default,
			Description: cmp.Or(f.Tag.Get("jsonschema"), spec.rule.Description),
			ToolDefault: cmp.Or(toolDefaults[name], item.rule.ToolDefault),
			Fields:      spec.describeFields()}, foldName(name), f.Index, spec})
	}
	if n := len(p.fields); n > maxFields {
		panic(fmt.Sprintf("op: %s has %d fields, and %d are the most", p.typ, n, maxFields))
	}
}

// addToolDefault adds the default that the tag tool:"limit=10" of an embedded struct states for a tool. It panics on a
// tag of another form.
func addToolDefault(defaults map[string]int, f reflect.StructField) {
	tag := f.Tag.Get("tool")
	if tag == "" {
		return
	}
	name, value, _ := strings.Cut(tag, "=")
	n, err := strconv.Atoi(value)
	if err != nil || !slices.ContainsFunc(reflect.VisibleFields(f.Type), func(inner reflect.StructField) bool {
		own, _, _ := strings.Cut(inner.Tag.Get("json"), ",")
		return own == name
	}) {
		panic(fmt.Sprintf(`op: the tag tool:"%s" names no field of %s and its default`, tag, f.Type))
	}
	defaults[name] = n
}

// field returns the field of that name, or nil. Inputs have few fields, so that a walk is faster than a map.
func (p *inputSpec) field(name string) *field {
	for i := range p.fields {
		if p.fields[i].Name == name {
			return &p.fields[i]
		}
	}
	return nil
}

// isID reports whether the values are ids of records.
func (p *inputSpec) isID() bool { return p.typ == idType || p.typ == optionalID }

// settable returns the value to fill for a field or an item of v's type.
func (p *inputSpec) settable(v reflect.Value) reflect.Value {
	if !p.pointer {
		return v
	}
	v.Set(reflect.New(p.typ))
	return v.Elem()
}
