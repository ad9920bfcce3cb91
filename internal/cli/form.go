package cli

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci/internal/op"
)

// A form is the input of an operation on a command line: words in a fixed
// order, and flags. It checks nothing that the operation checks itself, so
// that every door refuses in the same words.
type form struct {
	words []*slot // the ids of the path, then the query without which nothing is found
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
		case field.Place == op.InPath || field.Name == "query" && field.Type == "string" && field.Required:
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
		usage := s.told()
		if usage == "" {
			usage = "The " + strings.ReplaceAll(s.flag, "-", " ")
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

// told describes the slot on the help page as a phrase, in which values and
// names keep their letters: the others would be refused.
func (s *slot) told() string {
	word, rest, _ := strings.Cut(s.usage, ":")
	rest = strings.TrimSpace(rest)
	values := strings.Join(s.enum, ", ")
	switch {
	case word == "null":
		return "With \"\": " + rest
	case slices.Contains(s.enum, word):
		return "With " + s.usage + " (" + values + ")"
	case s.enum == nil:
		return s.usage
	case s.usage == "":
		return "One of " + values
	}
	return s.usage + " (" + values + ")"
}

// senseless reports whether a flag is missing without which nothing can be done, or
// has a value that is none of its kind.
func (f *form) senseless() bool {
	return slices.ContainsFunc(f.flags, func(s *slot) bool {
		return s.required && s.given == nil || slices.ContainsFunc(s.items(), func(text string) bool { return !s.fits(text) })
	})
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
