package mcp

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/loci-memory/loci/internal/op"
)

// A tool is an operation in the form of MCP.
type tool struct {
	toolInfo
	op        *op.Op
	isPaged   bool // it answers with a page, whose length the field limit bounds
	readsText bool // it answers with one long text, which it reads in parts
	cutsLists bool // its lists lose items where the result is too long
	shown     op.Presentation

	defaults []op.Field // fields that it sends when they are absent

	other         *tool // runs in its place where its argument is true
	otherArgument string
}

// otherOps are the operations that a tool runs in place of its own: by an argument, and not by a tool of their own, for
// whose size all clients would pay.
var otherOps = map[string]struct{ argument, op, description string }{
	"agent.inbox": {"sent", "agent.sent", "true: those that you sent, with receipts, without status"},
}

// choices tell tools apart that a model might confuse. They are of the full set alone.
var choices = map[string]string{
	"session.start":   "Just to read, call memory_context.",
	"session.capture": "To store at once, call memory_create.",
	"memory.delete":   "memory_archive hides a memory, memory_supersede replaces it.",
}

// A toolInfo is a tool as clients list it.
type toolInfo struct {
	Annotations annotations        `json:"annotations"`
	Description string             `json:"description"`
	InputSchema *jsonschema.Schema `json:"inputSchema"`
	Name        string             `json:"name"`
}

// The annotations of a tool are hints for clients. All of them are written: the default of an absent hint is the worst,
// and Codex refuses a tool whose world may be open.
type annotations struct {
	Destructive bool   `json:"destructiveHint"`
	Idempotent  bool   `json:"idempotentHint"`
	OpenWorld   bool   `json:"openWorldHint"`
	ReadOnly    bool   `json:"readOnlyHint"`
	Title       string `json:"title"`
}

// newTool returns the tool of an operation. A client pays for the size of the list in each conversation. So the
// schema has only names, types and choices, and the description explains the fields.
func newTool(o *op.Op) *tool {
	in := stripSchema(o.InputSchema())
	t := &tool{op: o, isPaged: o.Paged, shown: o.Presentation()}
	t.cutsLists = cutsLists(o, t.shown)
	if o.ReadOnly && t.shown.Text != "" && in.Properties[partArgument] == nil {
		t.readsText = true
		in.Properties[partArgument] = &jsonschema.Schema{Type: "integer"}
	}
	for _, f := range o.Fields() {
		if f.ToolDefault != 0 {
			t.defaults = append(t.defaults, f)
		}
	}
	t.toolInfo = toolInfo{Name: o.ToolName(), Description: t.description(), InputSchema: in,
		Annotations: newAnnotations(o)}
	return t
}

// cutsLists reports whether the lists of an answer may lose items. A page is asked for again with fewer items, a
// snapshot with fewer tokens. The lists of a creation stay, unless they belong to a snapshot: nothing might show them
// again, such as the addresses of a hundred invitations.
func cutsLists(o *op.Op, shown op.Presentation) bool {
	if o.Paged || shown.Whole != "" {
		return false
	}
	for _, m := range shown.Members {
		if m.Nested.Whole != "" {
			return true
		}
	}
	return !o.Has(op.Creates | op.MayCreate)
}

// description returns the summary of the operation and the description of each field. Fields of the same meaning
// share it; the id of the tool's own record has none. The schema says enough of a filter that limits a list to its
// value, of a field with a single choice, of choices with a default, and of the size of a page.
func (t *tool) description() string {
	var names, meanings []string
	for _, f := range t.op.Fields() {
		meaning := fieldDescription(f)
		if meaning == "" || strings.HasPrefix(meaning, "only ") || len(f.Enum) == 1 ||
			f.Enum != nil && strings.HasPrefix(meaning, "default: ") || t.isPaged && f.Name == "limit" {
			continue
		}
		if i := slices.Index(meanings, meaning); i >= 0 {
			names[i] += "/" + f.Name
			continue
		}
		names, meanings = append(names, f.Name), append(meanings, meaning)
	}
	if t.readsText {
		names, meanings = append(names, partArgument), append(meanings, "of a long text, from 1")
	}
	for i := range names {
		names[i] += " (" + meanings[i] + ")"
	}
	summary := strings.TrimSpace(t.op.Summary + " " + choices[t.op.Name])
	return strings.TrimSuffix(summary+" "+strings.Join(names, ", "), " ")
}

// fieldDescription returns the description of a field within a sentence.
func fieldDescription(f op.Field) string {
	text := f.Description
	if rest, ok := strings.CutPrefix(text, "null:"); ok {
		text = `"":` + rest // an argument has one type
	}
	if first, size := utf8.DecodeRuneInString(text); size > 0 {
		text = string(unicode.ToLower(first)) + text[size:]
	}
	if f.ToolDefault != 0 {
		text += "; default " + strconv.Itoa(f.ToolDefault)
	}
	return text
}

// MaxListBytes returns how many bytes the list of a set of tools may have.
func MaxListBytes(set op.Toolset) int {
	return map[op.Toolset]int{op.CoreTools: 6 << 10, op.StableTools: 18 << 10, op.FullTools: 27 << 10}[set]
}

// List returns the tools of a set, in the order of the table: {"tools": [...]}.
func List(t *op.Table, set op.Toolset) []byte { return encode(result{"tools": toolsOf(t, set)}) }

// toolsOf returns the tools of a set. In JSON a tool is its toolInfo.
func toolsOf(t *op.Table, set op.Toolset) []*tool {
	list := []*tool{}
	for _, o := range t.Tools(set) {
		tool := newTool(o)
		if x := otherOps[o.Name]; t.Op(x.op) != nil {
			tool.other, tool.otherArgument = newTool(t.Op(x.op)), x.argument
			tool.InputSchema.Properties[x.argument] = &jsonschema.Schema{Type: "boolean"}
			tool.Description += ", " + x.argument + " (" + x.description + ")"
		}
		list = append(list, tool)
	}
	return list
}

// stripSchema returns a copy of s with types, choices and required fields only, one type a field. The operation itself
// refuses values beyond a bound, in words.
func stripSchema(s *jsonschema.Schema) *jsonschema.Schema {
	c := s.CloneSchemas()
	op.EachSchema(c, func(s *jsonschema.Schema) {
		kept := jsonschema.Schema{Type: s.Type, Enum: s.Enum, Required: s.Required,
			PropertyOrder: s.PropertyOrder, Items: s.Items, Properties: s.Properties}
		if len(s.Types) > 0 {
			kept.Type = s.Types[0] // the other is null
		}
		*s = kept
	})
	return c
}

// newAnnotations returns the hints of a tool. A repeated PATCH, PUT or DELETE has no further effect. The world of a
// tool is not open: it touches records of Loci alone.
func newAnnotations(o *op.Op) annotations {
	resource, verb, _ := strings.Cut(o.Name, ".")
	return annotations{
		Title:       strings.ToUpper(resource[:1]) + resource[1:] + " " + verb,
		ReadOnly:    o.ReadOnly,
		Destructive: o.Has(op.Destructive),
		Idempotent:  o.ReadOnly || o.Method != "POST" || o.Has(op.Idempotent),
	}
}
