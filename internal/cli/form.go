package cli

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/op"
)

// A form is the input of an operation on a command line: words in a fixed
// order, and flags. It checks nothing that the operation checks itself, so
// that every door refuses in the same words.
type form struct {
	words []*slot // the ids of the path, then the query
	flags []*slot
}

// newForm returns the form of an operation. A nested object of plain values
// has a flag for each: --source-name.
func newForm(o *op.Op) *form {
	f := &form{}
	for _, field := range o.Fields() {
		s := &slot{path: []string{field.Name}, flag: kebab(field.Name), kind: field.Type, list: field.List,
			enum: field.Enum, usage: field.Description, required: field.Required}
		switch {
		case field.Place == op.InPath || field.Name == "query" && field.Type == "string":
			f.words = append(f.words, s)
		case field.Type == "object" && !field.List:
			f.nested(s, field.Fields)
		default:
			f.flags = append(f.flags, s)
		}
	}
	slices.SortStableFunc(f.words, func(a, b *slot) int { return place(o, a) - place(o, b) })
	return f
}

// place orders the words: as in the path, and what is not there after it.
func place(o *op.Op, s *slot) int {
	if i := strings.Index(o.Path, "{"+s.path[0]+"}"); i >= 0 {
		return i
	}
	return len(o.Path)
}

// nested adds a flag for each value of an object; an object that holds more
// than plain values is one flag that takes JSON.
func (f *form) nested(s *slot, fields []op.Field) {
	var inner []*slot
	for _, field := range fields {
		if field.List || field.Type == "object" {
			inner = []*slot{s}
			break
		}
		usage := field.Description
		if usage == "" {
			usage = s.usage
		}
		inner = append(inner, &slot{path: []string{s.path[0], field.Name}, flag: s.flag + "-" + kebab(field.Name), kind: field.Type, enum: field.Enum, usage: usage})
	}
	f.flags = append(f.flags, inner...)
}

func (f *form) bind(cmd *cobra.Command) {
	for _, s := range f.flags {
		usage := s.usage
		if s.enum != nil {
			usage = strings.TrimPrefix(usage+" ("+strings.Join(s.enum, ", ")+")", " ")
		}
		if usage == "" {
			usage = strings.ReplaceAll(s.flag, "-", " ")
		}
		if s.required {
			usage += " (required)"
		}
		flag := cmd.Flags().VarPF(s, s.flag, "", usage)
		if s.kind == "boolean" {
			flag.NoOptDefVal = "true"
		}
		if s.enum != nil {
			_ = cmd.RegisterFlagCompletionFunc(s.flag, cobra.FixedCompletions(s.enum, cobra.ShellCompDirectiveNoFileComp)) // fails for a flag that is not there
		}
	}
}

// input returns the JSON object that the command line means.
func (f *form) input(args []string, stdin func() (string, error)) ([]byte, error) {
	for i, arg := range args {
		f.words[i].given = []string{arg}
	}
	object := map[string]any{}
	for _, s := range append(slices.Clone(f.words), f.flags...) {
		if s.given == nil {
			continue
		}
		v, err := s.value(stdin)
		if err != nil {
			return nil, err
		}
		into := object
		if len(s.path) == 2 {
			if object[s.path[0]] == nil {
				object[s.path[0]] = map[string]any{}
			}
			into = object[s.path[0]].(map[string]any)
		}
		into[s.path[len(s.path)-1]] = v
	}
	return json.Marshal(object)
}

// A slot is one value of a form. It is a pflag.Value.
type slot struct {
	path     []string // in the JSON object: "source", "name"
	flag     string
	kind     string // of the value or of an item, in the words of JSON Schema
	list     bool
	enum     []string
	usage    string
	required bool
	given    []string
}

// Set takes a value; of a list it may be one of several, each with items
// between commas.
func (s *slot) Set(text string) error {
	if !s.list {
		s.given = nil
	}
	s.given = append(s.given, text)
	return nil
}

func (s *slot) String() string { return strings.Join(s.given, ",") }

// Type names the value on the help page.
func (s *slot) Type() string {
	if s.list && s.kind != "object" {
		return s.kind + "s"
	}
	if s.kind == "object" {
		return "json"
	}
	return s.kind
}

// value returns what was given as JSON has it. An empty list is given as "".
func (s *slot) value(stdin func() (string, error)) (any, error) {
	if s.kind == "object" {
		return scalar("object", s.given[len(s.given)-1])
	}
	if !s.list {
		text := s.given[0]
		if text == "-" && s.kind == "string" && s.enum == nil {
			var err error
			if text, err = stdin(); err != nil {
				return nil, err
			}
		}
		return scalar(s.kind, text)
	}
	items := []any{}
	for _, text := range s.given {
		if text == "" {
			continue
		}
		for item := range strings.SplitSeq(text, ",") {
			v, err := scalar(s.kind, item)
			if err != nil {
				return nil, err
			}
			items = append(items, v)
		}
	}
	return items, nil
}

// scalar returns a text as a value of the kind; one that is not of the kind
// stays a text, for the operation to refuse.
func scalar(kind, text string) (any, error) {
	if !utf8.ValidString(text) {
		return nil, loci.Fail(loci.InvalidQuery, "an argument is not valid UTF-8")
	}
	if kind != "string" && json.Valid([]byte(text)) {
		return json.RawMessage(text), nil
	}
	return text, nil
}

// kebab returns a name of the wire as a flag or command: atlas_id and atlasId
// are both atlas-id.
func kebab(name string) string {
	var b strings.Builder
	lower := false
	for _, r := range name {
		if unicode.IsUpper(r) && lower {
			b.WriteByte('-')
		}
		lower = !unicode.IsUpper(r)
		if r == '_' || r == '.' {
			r, lower = '-', false
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}
