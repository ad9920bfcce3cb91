package mcp

import (
	"encoding/json"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/loci-memory/loci/internal/op"
)

// A tool is an operation as agents see it.
type tool struct {
	*sdk.Tool
	op    *op.Op
	limit bool // it answers with a page, whose length the field limit bounds
	reads bool // it answers with one long text, and can begin anywhere in it

	defaults []op.Field // what it sends in place of what is absent
}

// offset is the one argument that no operation has: a result is bounded, a
// memory is not, so that a tool that reads a text reads it in parts.
const offset = "offset"

// newTool makes a tool of an operation. What a client pays for with each
// conversation is the size of the list, so that all is left out that the tool's
// own line does not need: descriptions of fields, formats, defaults, the output.
func newTool(o *op.Op) *tool {
	in := bare(o.In())
	t := &tool{op: o, limit: o.Reads && in.Properties["limit"] != nil}
	if o.Reads && o.Out().Properties["content"] != nil && in.Properties[offset] == nil {
		t.reads = true
		in.Properties[offset] = &jsonschema.Schema{Type: "integer", Minimum: jsonschema.Ptr(0.0)}
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
	t.Tool = &sdk.Tool{Name: o.Tool(), Description: o.Summary, InputSchema: json.RawMessage(schema), Annotations: hints(o)}
	return t
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

// bare returns a copy of s with nothing but what decides whether a value fits.
func bare(s *jsonschema.Schema) *jsonschema.Schema {
	if s == nil {
		return nil
	}
	c := s.CloneSchemas()
	c.Title, c.Description, c.Format, c.Pattern, c.Default, c.Examples = "", "", "", "", nil, nil
	c.Items = bare(s.Items)
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
