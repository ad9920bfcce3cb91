package op

import (
	"reflect"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/loci-memory/loci"
)

// schemaCache makes JSON Schema 2020-12 from Go types by a library, and adds the rules. A schema of a struct has the
// type's name as its title; the OpenAPI document lists it under that name.
type schemaCache struct {
	sync.Mutex
	byType map[reflect.Type]*jsonschema.Schema
}

// schemaOf returns the schema of t, and makes those of the types within first.
func (s *schemaCache) schemaOf(t reflect.Type) *jsonschema.Schema {
	if s.byType == nil {
		free := &jsonschema.Schema{Type: "object", AdditionalProperties: &jsonschema.Schema{}}
		applyRule(free, loci.Metadata{}.Rule())
		s.byType = map[reflect.Type]*jsonschema.Schema{timeType: {Type: "string", Format: "date-time"},
			idType: {Type: "string", Format: "uuid"}, metadataType: free}
	}
	if cached := s.byType[t]; cached != nil {
		return cached.CloneSchemas()
	}
	switch t.Kind() {
	case reflect.Pointer:
		return s.schemaOf(t.Elem())
	case reflect.Slice:
		s.schemaOf(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if f := t.Field(i); f.IsExported() {
				s.schemaOf(f.Type)
			}
		}
	}
	made, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: s.memberSchemas(t)})
	if err != nil {
		panic("op: " + err.Error())
	}
	EachSchema(made, dropNull)
	if r, ok := reflect.Zero(t).Interface().(ruleProvider); ok {
		applyRule(made, r.Rule())
	}
	if t.Kind() == reflect.Struct {
		made.Title = t.Name()
		dropFormatOfAgents(made, t)
	}
	if t.Name() != "" && t.PkgPath() != "" {
		s.byType[t] = made
	}
	return made.CloneSchemas()
}

// dropFormatOfAgents removes the format from the ids of agents in a struct: they are no UUIDs.
func dropFormatOfAgents(s *jsonschema.Schema, t reflect.Type) {
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if p := s.Properties[name]; p != nil && f.Tag.Get("id") == "agent" {
			EachSchema(p, func(s *jsonschema.Schema) { s.Format = "" })
		}
	}
}

// memberSchemas returns the known schemas of the types in t only: the library copies every given schema. It handles an
// embedded struct itself and needs no schema of it.
func (s *schemaCache) memberSchemas(t reflect.Type) map[reflect.Type]*jsonschema.Schema {
	members := map[reflect.Type]*jsonschema.Schema{}
	addMember := func(t reflect.Type) {
		for t.Name() == "" && (t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice) {
			t = t.Elem()
		}
		if cached := s.byType[t]; cached != nil {
			members[t] = cached
		}
	}
	switch t.Kind() {
	case reflect.Slice:
		addMember(t.Elem())
	case reflect.Struct:
		for _, f := range reflect.VisibleFields(t) {
			if !f.Anonymous {
				addMember(f.Type)
			}
		}
	}
	return members
}

// inputSchema returns the schema of an operation's input.
func (s *schemaCache) inputSchema(p *inputSpec) *jsonschema.Schema {
	made := s.schemaOf(p.typ)
	for i := range p.fields {
		f := &p.fields[i]
		if f.Description != "" {
			made.Properties[f.Name].Description = f.Description
		}
		if f.spec.endOfDay {
			made.Properties[f.Name].Format = "" // a date is no date-time
		}
	}
	if made.Properties == nil {
		made.Properties = map[string]*jsonschema.Schema{}
	}
	made.Title = ""
	return made
}

// outputSchema returns the schema of an operation's output: with ok: true, unless it is an event, and open to unknown
// fields, because clients must accept additions.
func (s *schemaCache) outputSchema(t reflect.Type, isEvent bool) *jsonschema.Schema {
	made := s.schemaOf(t)
	EachSchema(made, func(s *jsonschema.Schema) { s.AdditionalProperties = nil })
	made.Title = ""
	if made.Properties == nil {
		made.Properties = map[string]*jsonschema.Schema{}
	}
	if isEvent {
		return made
	}
	made.Properties["ok"] = &jsonschema.Schema{Type: "boolean", Const: jsonschema.Ptr(any(true))}
	made.PropertyOrder = append([]string{"ok"}, made.PropertyOrder...)
	made.Required = append([]string{"ok"}, made.Required...)
	return made
}

// dropNull removes the null that the library adds to a slice or a pointer: a
// field is present or absent, and a list is never null.
func dropNull(s *jsonschema.Schema) {
	if len(s.Types) == 2 && s.Types[0] == "null" {
		s.Type, s.Types = s.Types[1], nil
	}
}

// EachSchema calls f with s and every schema within.
func EachSchema(s *jsonschema.Schema, f func(*jsonschema.Schema)) {
	if s == nil {
		return
	}
	f(s)
	EachSchema(s.Items, f)
	for _, p := range s.Properties {
		EachSchema(p, f)
	}
}

// applyRule writes a rule into a schema. A length that is measured after
// trimming has no upper bound there: JSON Schema cannot trim.
func applyRule(s *jsonschema.Schema, r loci.Rule) {
	for _, w := range r.Enum {
		s.Enum = append(s.Enum, w)
	}
	if r.Max > 0 {
		s.Minimum, s.Maximum = jsonschema.Ptr(float64(r.Min)), jsonschema.Ptr(float64(r.Max))
	}
	s.MinLength, s.MinItems, s.MaxItems = positiveOrNil(r.MinLength), positiveOrNil(r.MinItems),
		positiveOrNil(r.MaxItems)
	s.MinProperties = positiveOrNil(r.MinFields)
	if s.MaxLength = positiveOrNil(max(r.MaxLength, r.MaxBytes)); r.Trim {
		s.MaxLength, s.Pattern = nil, `\S`
	}
	if r.Pattern != "" {
		s.Pattern = r.Pattern
	}
	if r.Null {
		s.Type, s.Types = "", []string{s.Type, "null"}
	}
	if r.True {
		s.Const = jsonschema.Ptr(any(true))
	}
	if r.Default != nil {
		b, err := Marshal(r.Default)
		if err != nil {
			panic("op: " + err.Error())
		}
		s.Default = b
	}
	s.Format, s.Description = r.Format, r.Description
}

func positiveOrNil(n int) *int {
	if n <= 0 {
		return nil
	}
	return &n
}

// WithRefs returns s with each named type as a reference below prefix, and adds those types to named. An OpenAPI
// document needs this form; a tool uses s itself, which is complete.
func WithRefs(s *jsonschema.Schema, prefix string, named map[string]*jsonschema.Schema) *jsonschema.Schema {
	if s == nil {
		return nil
	}
	c := s.CloneSchemas()
	c.Items = WithRefs(c.Items, prefix, named)
	for name, p := range c.Properties {
		c.Properties[name] = WithRefs(p, prefix, named)
	}
	if s.Title == "" {
		return c
	}
	// Description and deprecation are those of the field, and not of the type.
	named[s.Title], c.Deprecated, c.Description = c, false, ""
	return &jsonschema.Schema{Ref: prefix + s.Title, Description: s.Description, Deprecated: s.Deprecated}
}
