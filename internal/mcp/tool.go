package mcp

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/loci-memory/loci/internal/op"
)

// A tool is an operation as agents see it.
type tool struct {
	*sdk.Tool
	op     *op.Op
	limit  bool // it answers with a page, whose length the field limit bounds
	reads  bool // it answers with one long text, and can begin anywhere in it
	brief  *brief
	listed int // characters of each text of a list that it shows at most

	defaults []op.Field // what it sends in place of what is absent
}

// offset is the one argument that no operation has: a result is bounded, a
// memory is not, so that a tool that reads a text reads it in parts.
const offset = "offset"

// newTool makes a tool of an operation. A client pays for the size of the list
// with each conversation. So the schema has the names, types and choices of the
// fields alone, and the tool's one line says what each field means.
func newTool(o *op.Op) *tool {
	in := bare(o.In())
	t := &tool{op: o, limit: o.Reads && in.Properties["limit"] != nil, listed: most}
	_, out := o.Types()
	if b := newBrief(out); b != nil && b.lists {
		if t.brief = b; b.cuts {
			t.listed = found
		}
	}
	if o.Reads && o.Out().Properties["content"] != nil && in.Properties[offset] == nil {
		t.reads = true
		in.Properties[offset] = &jsonschema.Schema{Type: "integer"}
	}
	for _, f := range o.Fields() {
		if f.ToolDefault != 0 {
			t.defaults = append(t.defaults, f)
		}
	}
	schema, err := json.Marshal(in)
	if err != nil {
		panic("mcp: " + o.Name + ": " + err.Error())
	}
	t.Tool = &sdk.Tool{Name: o.Tool(), Description: t.line(), InputSchema: json.RawMessage(schema),
		Annotations: hints(o)}
	return t
}

// line describes the tool: the summary of its operation, then each field with
// its meaning. Fields that mean the same share it; the id of the record that
// the tool is about needs none.
func (t *tool) line() string {
	var names, meanings []string
	for _, f := range t.op.Fields() {
		meaning := meaningOf(f)
		if meaning == "" {
			continue
		}
		if i := slices.Index(meanings, meaning); i >= 0 {
			names[i] += "/" + f.Name
			continue
		}
		names, meanings = append(names, f.Name), append(meanings, meaning)
	}
	if t.reads {
		names, meanings = append(names, offset), append(meanings, "characters to skip")
	}
	line := t.op.Summary
	for i := range names {
		separator := ", "
		if i == 0 {
			separator = " "
		}
		line += separator + names[i] + " (" + meanings[i] + ")"
	}
	return line
}

// meaningOf returns the description of a field within a sentence.
func meaningOf(f op.Field) string {
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

// Budget returns how many bytes the list of a set of tools may have.
func Budget(set op.Reach) int {
	return map[op.Reach]int{op.Core: 6 << 10, op.Stable: 18 << 10, op.Full: 27 << 10}[set]
}

// List returns the tools of a set as tools/list answers them: {"tools": [...]}.
func List(t *op.Table, set op.Reach) ([]byte, error) {
	list := []*sdk.Tool{}
	for _, o := range t.Ops {
		if offered(o, set) {
			list = append(list, newTool(o).Tool)
		}
	}
	return json.Marshal(struct {
		Tools []*sdk.Tool `json:"tools"`
	}{list})
}

// tools returns the tools of a set by their names.
func tools(t *op.Table, set op.Reach) map[string]*tool {
	m := map[string]*tool{}
	for _, o := range t.Ops {
		if offered(o, set) {
			m[o.Tool()] = newTool(o)
		}
	}
	return m
}

func offered(o *op.Op, set op.Reach) bool { return o.Reach >= set && !o.Streams }

// bare returns a copy of s with nothing but types, choices and required fields,
// one type a field. What is beyond a bound or unknown, the operation refuses in
// words.
func bare(s *jsonschema.Schema) *jsonschema.Schema {
	if s == nil {
		return nil
	}
	c := &jsonschema.Schema{Type: s.Type, Enum: s.Enum, Const: s.Const, Required: s.Required,
		PropertyOrder: s.PropertyOrder, Items: bare(s.Items)}
	if len(s.Types) > 0 {
		c.Type = s.Types[0] // the other is null
	}
	if s.Properties != nil {
		c.Properties = make(map[string]*jsonschema.Schema, len(s.Properties))
	}
	for name, p := range s.Properties {
		c.Properties[name] = bare(p)
	}
	return c
}

// hints tells what the operation's method tells. Only DELETE destroys: every
// other change of a memory keeps the version before it.
func hints(o *op.Op) *sdk.ToolAnnotations {
	resource, verb, _ := strings.Cut(o.Name, ".")
	a := &sdk.ToolAnnotations{
		Title:          strings.ToUpper(resource[:1]) + resource[1:] + " " + verb,
		ReadOnlyHint:   o.Reads,
		IdempotentHint: o.Reads || o.Method == "PUT" || o.Method == "DELETE",
	}
	if !o.Reads {
		a.DestructiveHint = jsonschema.Ptr(o.Method == "DELETE")
	}
	return a
}
