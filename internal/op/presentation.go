package op

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// A Presentation states how commands and tools show an output. It follows from the tags of the output's type:
//
//	show:"text"                the long text of a record: commands print it last, and tools read it in parts
//	show:"whole"               the object as one text: commands print it alone, and tools only cut it after a memory
//	show:"heading"             the title of the text: tools omit it in lists where the text repeats it
//	show:"snippets"            commands print the first below its row; tools show a long text around the first alone
//	show:"-"                   tools omit it in lists
//	show:"unless=note"         tools omit it in lists where it has this value
//	show:"limit"               tools show the absent limit (loci.Unlimited) as "unlimited"
//	show:"without=a b"         tools omit a and b in the records of this list
//	show:"columns=id title:28" the columns of this list, see Column
//
// Tools omit members because an agent pays for every byte. They show a single record whole, but not in the answer of a
// write, whose caller knows what it sent. There a record with tags write shows these members alone:
//
//	write:"show" the member, with the beginnings of its texts and lists
//	write:"name" the id in an object with the name of its record: atlas {id, name}
type Presentation struct {
	Text, Whole       string            // names of members, or ""
	Heading, Snippets string            // names of members, or ""
	Members           map[string]Member // by name; other members are shown as they are
	Times             map[string]bool   // the members that are times
	TrimsLists        bool              // tools omit something in the records of a list, or show a limit as a word
	TrimsWrites       bool              // the answer of a write shows the members of the record that state so, alone
}

// A Member states how one member of an object is shown.
type Member struct {
	Omit      bool
	OmitValue string       // the JSON value with which a tool omits it
	IsLimit   bool         // a tool shows loci.Unlimited as a word
	Written   bool         // the answer of a write shows it
	NamedAs   string       // the resource of an id that the answer of a write shows with a name, or ""
	Columns   []Column     // of a list
	Nested    Presentation // of the object, or of each record of the list
}

// A Column is a column of a table. It is written as its name, followed by :28 where it may be cut to 28 characters, by
// ! where it is always whole, and by =active where it is omitted if every record has this value.
type Column struct {
	Name     string
	MinWidth int // 0: it is not cut
	Fixed    bool
	Time     bool // the type of the field is loci.Time
	Usual    string
}

// Presentation returns how the output is shown.
func (o *Op) Presentation() Presentation { return NewPresentation(o.outType) }

// NewPresentation returns the presentation of a type. Records in it lack the members without.
func NewPresentation(t reflect.Type, without ...string) (p Presentation) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return p
	}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || !f.IsExported() {
			continue
		}
		if f.Type == timeType {
			if p.Times == nil {
				p.Times = map[string]bool{}
			}
			p.Times[name] = true
		}
		m := p.newMember(name, f)
		m.Omit = m.Omit || slices.Contains(without, name)
		if !reflect.ValueOf(m).IsZero() {
			if p.Members == nil {
				p.Members = map[string]Member{}
			}
			p.Members[name] = m
		}
	}
	return p
}

// newMember returns what a field states by its tag and type. It panics on an unknown tag.
func (p *Presentation) newMember(name string, f reflect.StructField) (m Member) {
	rule, value, _ := strings.Cut(f.Tag.Get("show"), "=")
	var without []string
	switch rule {
	case "":
	case "text":
		p.Text = name
	case "whole":
		p.Whole = name
	case "heading":
		p.Heading = name
	case "snippets":
		p.Snippets = name
	case "-":
		m.Omit = true
	case "unless":
		if m.OmitValue = value; f.Type.Kind() == reflect.String {
			m.OmitValue = strconv.Quote(value)
		}
	case "limit":
		m.IsLimit, p.TrimsLists = true, true
	case "without":
		without = strings.Fields(value)
	case "columns":
		m.Columns = parseColumns(value)
	default:
		panic(fmt.Sprintf("op: the field %s has the unknown tag %s", f.Name, f.Tag))
	}
	switch tag := f.Tag.Get("write"); tag {
	case "":
	case "show":
		m.Written = true
	case "name":
		m.Written, m.NamedAs = true, strings.TrimSuffix(name, "Id")
	default:
		panic(fmt.Sprintf("op: the field %s has the unknown tag %s", f.Name, f.Tag))
	}
	p.TrimsWrites = p.TrimsWrites || m.Written
	m.Nested = NewPresentation(f.Type, without...)
	for i := range m.Columns {
		m.Columns[i].Time = m.Nested.Times[m.Columns[i].Name]
	}
	p.TrimsLists = p.TrimsLists || m.Nested.TrimsLists || f.Type.Kind() == reflect.Slice && m.Nested.trims()
	return m
}

// trims reports whether tools omit something in such an object.
func (p *Presentation) trims() bool {
	for _, m := range p.Members {
		if m.Omit || m.OmitValue != "" {
			return true
		}
	}
	return p.Snippets != ""
}

func parseColumns(list string) (columns []Column) {
	for _, text := range strings.Fields(list) {
		var c Column
		text, c.Usual, _ = strings.Cut(text, "=")
		text, c.Fixed = strings.CutSuffix(text, "!")
		name, width, _ := strings.Cut(text, ":")
		c.Name = name
		c.MinWidth, _ = strconv.Atoi(width) // none is 0
		columns = append(columns, c)
	}
	return columns
}
