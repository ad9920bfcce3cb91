package cli

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci/internal/op"
)

// A flagSet is the input of an operation on a command line: arguments in a fixed order, and flags. It leaves validation
// to the operation, so that every transport returns the same errors.
type flagSet struct {
	args  []*flagSpec // the ids of the path, then a required query
	flags []*flagSpec
}

// newFlagSet returns the flags of an operation. A nested object of plain values has a flag for each: --source-name.
func newFlagSet(o *op.Op) *flagSet {
	f := &flagSet{}
	for _, field := range o.Fields() {
		s := &flagSpec{path: []string{field.Name}, flag: kebab(field.Name), jsonType: field.Type, list: field.List,
			enum: field.Enum, description: field.Description, required: field.Required}
		switch {
		case field.Location == op.InPath || field.Name == "query" && field.Type == "string" && field.Required:
			f.args = append(f.args, s)
		case field.Type == "object" && !field.List:
			f.addNested(s, field.Fields)
		default:
			f.flags = append(f.flags, s)
		}
	}
	slices.SortStableFunc(f.args, func(a, b *flagSpec) int { return argOrder(o, a) - argOrder(o, b) })
	return f
}

// argOrder orders the arguments: those of the path first, in its order.
func argOrder(o *op.Op, s *flagSpec) int {
	if i := strings.Index(o.Path, "{"+s.path[0]+"}"); i >= 0 {
		return i
	}
	return len(o.Path)
}

// addNested adds a flag for each value of an object; an object that has more
// than plain values is one flag that takes JSON.
func (f *flagSet) addNested(s *flagSpec, fields []op.Field) {
	var inner []*flagSpec
	for _, field := range fields {
		if field.List || field.Type == "object" {
			inner = []*flagSpec{s}
			break
		}
		usage := field.Description
		if usage == "" {
			usage = s.description
		}
		inner = append(inner, &flagSpec{path: []string{s.path[0], field.Name}, flag: s.flag + "-" + kebab(field.Name),
			jsonType: field.Type, enum: field.Enum, description: usage})
	}
	f.flags = append(f.flags, inner...)
}

func (f *flagSet) bind(cmd *cobra.Command) {
	for _, s := range f.flags {
		usage := s.usage()
		if usage == "" {
			usage = "The " + strings.ReplaceAll(s.flag, "-", " ")
		}
		if s.required {
			usage += " (required)"
		}
		flag := cmd.Flags().VarPF(s, s.flag, "", usage)
		if s.jsonType == "boolean" {
			flag.NoOptDefVal = "true"
		}
		if s.enum != nil {
			// fails for an unknown flag only
			_ = cmd.RegisterFlagCompletionFunc(s.flag, cobra.FixedCompletions(s.enum,
				cobra.ShellCompDirectiveNoFileComp))
		}
	}
}

// usage describes the flag on the help page as a phrase. Values and names keep
// their letter case, because others are invalid.
func (s *flagSpec) usage() string {
	word, rest, _ := strings.Cut(s.description, ":")
	rest = strings.TrimSpace(rest)
	values := strings.Join(s.enum, ", ")
	switch {
	case word == "null":
		return "With \"\": " + rest
	case slices.Contains(s.enum, word):
		return "With " + s.description + " (" + values + ")"
	case s.enum == nil:
		return s.description
	case s.description == "":
		return "One of " + values
	}
	return s.description + " (" + values + ")"
}

// incomplete reports whether a required flag is missing, or a flag has a value of another type.
func (f *flagSet) incomplete() bool {
	return slices.ContainsFunc(f.flags, func(s *flagSpec) bool {
		return s.required && s.values == nil || slices.ContainsFunc(s.items(), func(text string) bool {
			return !s.accepts(text)
		})
	})
}

// inputJSON returns the input of the command line as a JSON object.
func (f *flagSet) inputJSON(args []string, stdin func() (string, error)) ([]byte, error) {
	for i, arg := range args {
		f.args[i].values = []string{arg}
	}
	object := map[string]any{}
	for _, s := range append(slices.Clone(f.args), f.flags...) {
		if s.values == nil {
			continue
		}
		v, err := s.jsonValue(stdin)
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
