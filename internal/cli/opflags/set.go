package opflags

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/cli/command"
	"github.com/loci-memory/loci/internal/cli/format"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/resolve"
)

// A Set is the input of an operation on a command line: arguments in a fixed order, and flags. It leaves validation
// to the operation, so that every transport returns the same errors.
type Set struct {
	op    *op.Op
	args  []*spec // the ids of the path, then a required query
	flags []*spec

	several bool  // several records
	target  *spec // the flag that a move needs
}

// Confirm is the flag of operations that need a confirmation. Commands ask, or take --yes, in its place: it is hidden.
const Confirm = "confirm"

// TakesSeveral reports whether a command takes several records.
func (f *Set) TakesSeveral() bool { return f.several }

// RecordID returns the id of the record that an input of a command for several records names.
func RecordID(o *op.Op, input []byte) (id loci.ID) {
	var given map[string]json.RawMessage
	_ = json.Unmarshal(input, &given) // it is an object
	for _, f := range o.Fields() {
		if f.Location == op.InPath {
			_ = json.Unmarshal(given[f.Name], &id)
		}
	}
	return id
}

// New returns the flags of an operation. A nested object of plain values has a flag for each: --source-name.
func New(o *op.Op) *Set {
	f := &Set{op: o}
	for _, field := range o.Fields() {
		s := &spec{Field: field, flag: format.Kebab(field.Name), found: resolve.Omittable(o, field)}
		s.Required = field.Required && !s.found
		switch {
		case field.Location == op.InPath || field.Name == "query" && field.Type == "string" && field.Required:
			f.args = append(f.args, s)
		case len(field.Fields) > 0 && !field.List:
			f.addNested(s, field.Fields)
		default:
			f.flags = append(f.flags, s)
		}
	}
	slices.SortStableFunc(f.args, func(a, b *spec) int { return argOrder(o, a) - argOrder(o, b) })
	f.several = o.Method == "DELETE" && len(f.args) == 1
	return f
}

// Only returns the set with the flags of some fields alone.
func (f *Set) Only(fields ...string) *Set {
	f.flags = slices.DeleteFunc(f.flags, func(s *spec) bool { return !slices.Contains(fields, s.Name) })
	return f
}

// Moving returns the set of a command that moves several records: with the one flag of a field, which is required and
// has another name.
func (f *Set) Moving(field, flag string) *Set {
	f.Only(field)
	f.target, f.several = f.flags[0], true
	f.target.flag, f.target.Required, f.target.Description = flag, true, "Where to move them: a name or an id"
	return f
}

// argsOf returns the arguments of a command line with n of them: without the first one that the command finds, unless
// all are given.
func (f *Set) argsOf(n int) []*spec {
	if len(f.args) > 0 && f.args[0].found && n < len(f.args) {
		return f.args[1:]
	}
	return f.args
}

// maxLine is the length of the longest value that is one line, such as a title. Longer ones are texts.
const maxLine = 300

// isLine reports whether a value is one line: a password, a name or a token.
func (s *spec) isLine() bool {
	return s.Format == passwordFormat || s.MaxLength > 0 && s.MaxLength <= maxLine
}

// bounds describes the bounds and the default of an integer.
func (s *spec) bounds() string {
	if s.Max == 0 {
		return ""
	}
	text := fmt.Sprintf(" (%d to %d", s.Min, s.Max)
	if s.Default != nil {
		text += fmt.Sprintf(", default %v", s.Default)
	}
	return text + ")"
}

// argOrder orders the arguments: those of the path first, in its order.
func argOrder(o *op.Op, s *spec) int {
	if i := strings.Index(o.Path, "{"+s.Name+"}"); i >= 0 {
		return i
	}
	return len(o.Path)
}

// addNested adds a flag for each value of an object; an object that has more than plain values is one flag that takes
// JSON.
func (f *Set) addNested(s *spec, fields []op.Field) {
	var inner []*spec
	for _, field := range fields {
		if field.List || field.Type == "object" {
			inner = []*spec{s}
			break
		}
		inner = append(inner, &spec{parent: s.Name, flag: s.flag + "-" + format.Kebab(field.Name),
			Field: op.Field{Name: field.Name, Type: field.Type, Enum: field.Enum,
				Description: cmp.Or(field.Description, s.Description)}})
	}
	f.flags = append(f.flags, inner...)
}

// Bind adds the arguments, the flags and examples to a command.
func (f *Set) Bind(cmd *cobra.Command) {
	for _, s := range f.args {
		if s.found {
			cmd.Use += " [" + s.flag + "]"
		} else {
			cmd.Use += " <" + s.flag + ">"
		}
	}
	if f.TakesSeveral() {
		cmd.Use += "..."
	}
	if s := f.missing(); s != nil && s.isPositional() {
		cmd.Use += " [" + s.argument() + "]"
	}
	cmd.Args, cmd.Example = f.checkArgs, f.examples()
	for _, s := range f.flags {
		usage := s.usage()
		if usage == "" {
			usage = "The " + strings.ReplaceAll(s.flag, "-", " ")
		}
		if s.Format == passwordFormat {
			usage += "; - reads a line of the standard input, and a terminal asks for it"
		}
		if s.Required {
			usage += " (required)"
		} else if s.found {
			usage += " (default: your only team, or else your personal workspace)"
		}
		flag := cmd.Flags().VarPF(s, s.flag, "", usage)
		flag.Hidden = s.flag == Confirm
		if s.Field.Type == "boolean" {
			flag.NoOptDefVal = "true"
		}
	}
}

// Complete completes the arguments and flags of a command: ids and tags with values of a resource, enumerations with
// their values. A shell offers files for nothing.
func (f *Set) Complete(cmd *cobra.Command, values func(resource string) cobra.CompletionFunc) {
	cmd.ValidArgsFunction = func(c *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		next := f.argsOf(len(args) + 1)
		if f.TakesSeveral() {
			args = nil
		}
		if len(args) >= len(next) || next[len(args)].Resource == "" {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return values(next[len(args)].Resource)(c, args, typed)
	}
	for _, s := range f.flags {
		complete := cobra.NoFileCompletions
		switch {
		case s.Resource != "":
			complete = values(s.Resource)
		case s.flag == "tags":
			complete = values(s.flag)
		case s.Enum != nil:
			complete = s.completeEnum
		}
		_ = cmd.RegisterFlagCompletionFunc(s.flag, complete) // fails for an unknown flag only
	}
}

// completeEnum completes a value of an enumeration, in a list one after a comma.
func (s *spec) completeEnum(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	before := ""
	if s.List {
		before = typed[:strings.LastIndexByte(typed, ',')+1]
	}
	var found []string
	for _, value := range s.Enum {
		if strings.HasPrefix(before+value, typed) && !slices.Contains(op.SplitList(before), value) {
			found = append(found, before+value)
		}
	}
	return found, cobra.ShellCompDirectiveNoFileComp
}

// usageTexts are the descriptions of fields for people, where those for models are too short.
var usageTexts = map[string]string{
	"Last nextCursor":         "The cursor that the page before has printed",
	"These too":               "Show those as well",
	"Only these":              "Leave others out",
	"0 to 1":                  "How sure it is",
	"All of these":            "Only those with all of these",
	"Only labels":             "Labels",
	"Only its origin":         "Origin",
	"Created: date, time, 7d": "Creation as a date, a time, or an age such as 7d; dates are those of your time zone",
	"Date or time":            "A date or a time, in your time zone unless it names another",
}

// usage describes the flag on the help page as a phrase. Values and names keep
// their letter case, because others are invalid.
func (s *spec) usage() string {
	if text := usageTexts[s.Description]; text != "" {
		s.Description = text
	}
	if s.Resource != "" && s.Description == usageTexts["Only these"] {
		s.Description = "Only those of this " + s.Resource
	}
	word, rest, _ := strings.Cut(s.Description, ":")
	rest = strings.TrimSpace(rest)
	values := strings.Join(s.Enum, ", ")
	switch {
	case word == "null":
		return "With \"\": " + rest
	case slices.Contains(s.Enum, word):
		return "With " + s.Description + " (" + values + ")"
	case s.Enum == nil:
		return s.Description + s.bounds()
	case s.Description == "":
		return "One of " + values
	}
	return s.Description + " (" + values + ")"
}

// Malformed reports whether the last input is invalid with any texts: a required flag is missing, or a value has
// another type or is out of its bounds. The operation judges the texts.
func (f *Set) Malformed() bool {
	plain := &Set{op: f.op}
	for _, s := range append(slices.Clone(f.args), f.flags...) {
		copied := *s
		if s.values != nil && s.isText() && (s.Format == "" || s.Format == passwordFormat) {
			copied.values = []string{"x"}
		}
		plain.flags = append(plain.flags, &copied)
	}
	input, err := plain.InputJSON(context.Background(), nil, nil)
	return err != nil || plain.check(input) != nil
}

// passwordFormat is the format of the flags that a person types unseen.
const passwordFormat = "password"

// MissingPasswords returns the required flags of passwords that have no value.
func (f *Set) MissingPasswords() (flags []string) {
	for _, s := range f.flags {
		if s.Format == passwordFormat && s.Required && s.values == nil {
			flags = append(flags, s.flag)
		}
	}
	return flags
}

// A Stdin reads the standard input for values that are given as -: whole, or the next line for a value of one line.
type Stdin interface {
	ReadStdin(ctx context.Context) (string, error)
	ReadLine(ctx context.Context) (string, error)
}

// Inputs returns the valid inputs of a command line as JSON objects: one, or one for each record.
func (f *Set) Inputs(ctx context.Context, args []string, stdin Stdin) (inputs [][]byte, err error) {
	lines := [][]string{args}
	if f.TakesSeveral() {
		lines = slices.Collect(slices.Chunk(args, 1))
	}
	for _, line := range lines {
		input, err := f.InputJSON(ctx, line, stdin)
		if err == nil {
			err = f.check(input)
		}
		if err != nil {
			return nil, err
		}
		inputs = append(inputs, input)
	}
	return inputs, nil
}

// check returns the error of the operation for an input, to which the command may add values that it finds.
func (f *Set) check(input []byte) error {
	var given map[string]json.RawMessage
	_ = json.Unmarshal(input, &given) // it is an object
	for _, s := range slices.Concat(f.args, f.flags) {
		if s.found && given[s.Name] == nil {
			given[s.Name] = json.RawMessage(`"found"`)
		}
	}
	complete, err := json.Marshal(given)
	if err == nil {
		_, err = f.op.Canonical(op.Args{JSON: complete})
	}
	return err
}

// InputJSON returns the input of a command line as a JSON object.
func (f *Set) InputJSON(ctx context.Context, args []string, stdin Stdin) ([]byte, error) {
	list := f.argsOf(len(args))
	for i, arg := range args[:min(len(args), len(list))] { // checkArgs has taken a further one
		list[i].values = []string{arg}
	}
	object := map[string]any{}
	for _, s := range append(slices.Clone(f.args), f.flags...) {
		if s.values == nil {
			continue
		}
		v, err := s.jsonValue(ctx, stdin)
		if err != nil {
			return nil, err
		}
		into := object
		if s.parent != "" {
			if object[s.parent] == nil {
				object[s.parent] = map[string]any{}
			}
			into = object[s.parent].(map[string]any)
		}
		into[s.Name] = v
	}
	return json.Marshal(object)
}

// checkArgs requires every argument. One more is the text of the first required flag that has none.
func (f *Set) checkArgs(cmd *cobra.Command, args []string) error {
	var words []string
	for i, s := range f.argsOf(len(args)) {
		words = append(words, "<"+s.flag+">")
		if s.Resource != "" && (i < len(args) && args[i] == "" || f.several && slices.Contains(args, "")) {
			return command.UsageError("<" + s.flag + "> must not be empty")
		}
	}
	text := f.missing()
	takesText := text != nil && text.isPositional()
	switch {
	case takesText && len(args) == len(words)+1:
		text.values = args[len(words):]
		return nil
	case takesText && len(args) > len(words):
		words = append(words, "["+text.argument()+"]")
	}
	var err error
	if !f.TakesSeveral() || len(args) < 2 {
		err = command.ExactArgs(words...)(cmd, args)
	}
	if err == nil && f.target != nil && f.target.values == nil { // the operation does not require it
		return command.Missing(cmd, "--"+f.target.flag)
	}
	if err == nil || len(args) <= len(words) {
		return err
	}
	word := args[len(words)]
	for _, s := range f.flags {
		if s.Field.Type == "boolean" && s.values != nil && (word == "true" || word == "false") {
			return fmt.Errorf("%w: write --%s=%s", err, s.flag, word)
		}
	}
	if n := len(f.args); n > 0 && f.args[n-1].Resource == "" || takesText {
		return fmt.Errorf("%w: put a text with spaces between quotation marks", err)
	}
	return err
}

// Hint tells how to give the first required flag that has no value, or "".
func (f *Set) Hint() string {
	missing := f.missing()
	switch {
	case missing == nil:
		return ""
	case missing.isText():
		return fmt.Sprintf("--%[1]s \"...\", or --%[1]s - to read it from the standard input", missing.flag)
	}
	example, _, _ := strings.Cut(f.examples(), "\n")
	return "for example " + example
}

// missing returns the first required flag without a value, or nil.
func (f *Set) missing() *spec {
	for _, s := range f.flags {
		if s.Required && s.values == nil {
			return s
		}
	}
	return nil
}

// isPositional reports whether the value of a required flag may be the last argument.
func (s *spec) isPositional() bool { return s.isText() && s.Format != passwordFormat }

// argument names the value of a required flag where it is an argument.
func (s *spec) argument() string {
	if s.flag == "content" {
		return "text"
	}
	return s.flag
}

// isText reports whether a flag takes any text.
func (s *spec) isText() bool {
	return s.Field.Type == "string" && !s.List && s.Resource == "" && s.Enum == nil
}
