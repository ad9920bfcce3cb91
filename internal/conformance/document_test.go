package conformance_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/mcp"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/testenv"
)

// pageHead returns the beginning of a generated page.
func pageHead(t *testing.T, name string) []byte {
	t.Helper()
	return testenv.Must(os.ReadFile("testdata/" + name))(t)
}

func TestErrorsMatchGoldenPage(t *testing.T) {
	t.Parallel()
	var page bytes.Buffer
	page.Write(pageHead(t, "errors.md"))
	last := 0
	seen := map[loci.Code]bool{}
	for _, e := range loci.Catalogue {
		if e.Status < last || seen[e.Code] || !strings.HasSuffix(e.Hint, ".") {
			t.Errorf("%s: the catalogue goes by status, has each code once, and hints are sentences", e.Code)
		}
		last, seen[e.Code] = e.Status, true
		fmt.Fprintf(&page, "| %d | `%s` | %s |\n", e.Status, e.Code, e.Hint)
	}
	golden(t, "../../docs/errors.md", page.Bytes())
}

func TestToolsMatchGoldenFileWithinBudget(t *testing.T) {
	t.Parallel()
	sets := map[string]json.RawMessage{}
	for name, v := range service.Variants {
		table, _ := service.Ops.Variant(v)
		for _, set := range op.Toolsets {
			list := mcp.List(table, set)
			if len(list) > mcp.MaxListBytes(set) {
				t.Errorf("variant %s: the list of the %s set has %d bytes, and its budget is %d: shorten "+
					"descriptions, or list the operation in a wider set", name, set, len(list), mcp.MaxListBytes(set))
			}
			if name == "full" {
				sets[string(set)] = list
			}
		}
	}
	for _, o := range service.Ops.Ops {
		for _, f := range o.Fields() {
			if o.Exposure > op.NoTool && f.Location != op.InPath && f.Description == "" {
				t.Errorf("%s: %s has no description, and agents know of nothing else", o.Name, f.Name)
			}
		}
	}
	b := testenv.Must(json.MarshalIndent(sets, "", "  "))(t)
	golden(t, "../../docs/tools.json", append(b, '\n'))
}

func TestVariantsReplaceTools(t *testing.T) {
	t.Parallel()
	tools := func(variant string, set op.Toolset) string {
		table, _ := service.Ops.Variant(service.Variants[variant])
		var names []string
		for _, o := range table.Tools(set) {
			names = append(names, o.ToolName())
		}
		slices.Sort(names)
		return strings.Join(names, " ")
	}
	deleting := strings.NewReplacer("atlas_archive", "atlas_delete", "workspace_archive", "workspace_delete")
	want := strings.Fields(deleting.Replace(tools("full", op.StableTools)))
	slices.Sort(want)
	if got := tools("a", op.StableTools); got != strings.Join(want, " ") || !strings.Contains(got, "atlas_delete") {
		t.Errorf("variant a, stable: %s", got)
	}
	if got := tools("a", op.FullTools); got != tools("full", op.FullTools) || strings.Contains(got, "atlas_archive") {
		t.Errorf("variant a, full: %s", got)
	}
	for _, set := range []op.Toolset{op.StableTools, op.FullTools} {
		if got := tools("b", set); got != tools("full", op.StableTools) || strings.Contains(got, "_delete") {
			t.Errorf("variant b, %s: %s", set, got)
		}
	}
}

func TestOperationsMatchGoldenPage(t *testing.T) {
	t.Parallel()
	var page bytes.Buffer
	page.Write(pageHead(t, "api.md"))
	resource := ""
	for _, o := range service.Ops.Ops {
		if r, _, _ := strings.Cut(o.Name, "."); r != resource {
			resource = r
			fmt.Fprintf(&page, "\n## %s\n", r)
		}
		describeOperation(&page, o)
	}
	golden(t, "../../docs/api.md", page.Bytes())
}

// exposures describe the exposures on the page.
var exposures = map[op.Exposure]string{
	op.BrowserOnly:    "REST alone: its response sets a cookie",
	op.NoTool:         "REST and command",
	op.ToolFull:       "REST, command and tool (full)",
	op.ToolStableOnly: "REST, command and tool (stable)",
	op.ToolStable:     "REST, command and tool (stable, full)",
	op.ToolCore:       "REST, command and tool (core, stable, full)",
}

func describeOperation(page *bytes.Buffer, o *op.Op) {
	conditional := ""
	if o.Has(op.IfMatch) {
		conditional = " · takes `If-Match`"
	}
	where := exposures[o.Exposure]
	if o == service.AccountEvents.Op {
		where = "REST alone: a stream"
	}
	fmt.Fprintf(page, "\n### %s\n`%s %s` · %s · %s%s\n\n%s\n", o.Name, o.Method, o.Path, o.Access, where,
		conditional, o.Summary)
	if fields := o.Fields(); len(fields) > 0 {
		page.WriteString("\n| field | in | type | |\n|---|---|---|---|\n")
		for _, f := range fields {
			name := "`" + f.Name + "`"
			if f.Required {
				name += " *"
			}
			fmt.Fprintf(page, "| %s | %s | %s | %s |\n", name, f.Location, typeOf(o.InputSchema().Properties[f.Name]),
				f.Description)
		}
	}
	_, out := o.Types()
	fmt.Fprintf(page, "\nReturns %s.\n", outputType(out))
}

// typeOf describes a schema for people: its type and bounds.
func typeOf(s *jsonschema.Schema) string {
	if s.Items != nil {
		return strings.TrimSpace("list of " + typeOf(s.Items) + bounds(s.MinItems, s.MaxItems, "items"))
	}
	text := cmp.Or(s.Type, strings.Join(s.Types, " or "))
	switch {
	case s.Const != nil:
		text = fmt.Sprintf("`%v`", *s.Const)
	case s.Enum != nil:
		words := make([]string, len(s.Enum))
		for i, w := range s.Enum {
			words[i] = fmt.Sprintf("`%v`", w)
		}
		text = strings.Join(words, ", ")
	case s.Minimum != nil:
		text += fmt.Sprintf(" %s-%s", formatNumber(*s.Minimum), formatNumber(*s.Maximum))
	case s.Format == "date-time":
		text = "time"
	}
	if s.Type == "object" {
		return "object {" + strings.Join(s.PropertyOrder, ", ") + "}"
	}
	text += bounds(s.MinLength, s.MaxLength, "characters")
	if s.Default != nil {
		text += " (default " + strings.Trim(string(s.Default), `"`) + ")"
	}
	return text
}

// formatNumber writes a number without an exponent.
func formatNumber(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

func bounds(least, most *int, of string) string {
	switch {
	case least != nil && most != nil:
		return fmt.Sprintf(", %d-%d %s", *least, *most, of)
	case most != nil:
		return fmt.Sprintf(", at most %d %s", *most, of)
	}
	return ""
}

// outputType names the fields of an output.
func outputType(t reflect.Type) string {
	var names []string
	for _, f := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
			names = append(names, "`"+name+"`")
		}
	}
	if names == nil {
		return "`ok`"
	}
	return strings.Join(names, ", ")
}

var update = flag.Bool("update", false, "write the golden files")

// golden compares the printed bytes with the file, or writes it with -update.
func golden(t testing.TB, file string, got []byte) {
	t.Helper()
	if *update {
		testenv.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		testenv.NoError(t, os.WriteFile(file, got, 0o644))
	}
	if want := testenv.Must(os.ReadFile(file))(t); !bytes.Equal(got, want) {
		t.Errorf("%s is another one now: look at what has changed, then make golden.\n%s", file, difference(want, got))
	}
}

// difference returns the first line that differs.
func difference(want, got []byte) string {
	w, g := bytes.Split(want, []byte("\n")), bytes.Split(got, []byte("\n"))
	for i := range max(len(w), len(g)) {
		var a, b []byte
		if i < len(w) {
			a = w[i]
		}
		if i < len(g) {
			b = g[i]
		}
		if !bytes.Equal(a, b) {
			return "was " + string(a) + "\nis  " + string(b)
		}
	}
	return ""
}

func TestToolsHaveAllHintsAndPlainSchemas(t *testing.T) {
	t.Parallel()
	var list struct {
		Tools []struct {
			Name        string
			Annotations map[string]any
			InputSchema map[string]any
		}
	}
	testenv.NoError(t, json.Unmarshal(mcp.List(service.Ops, op.FullTools), &list))
	destructive := []string{"atlas_delete", "member_remove", "memory_delete", "workspace_delete", "workspace_leave",
		"workspace_transfer"}
	accumulating := []string{"agent_send", "atlas_create", "invitation_create", "memory_append", "memory_create",
		"memory_verify", "session_capture", "session_checkpoint", "session_start", "workspace_create"}
	for _, tool := range list.Tools {
		a := tool.Annotations
		for _, hint := range []string{"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"} {
			if _, ok := a[hint].(bool); !ok {
				t.Errorf("%s has no %s", tool.Name, hint)
			}
		}
		if a["openWorldHint"] != false || a["readOnlyHint"] == true && a["destructiveHint"] == true ||
			a["destructiveHint"] != slices.Contains(destructive, tool.Name) ||
			a["idempotentHint"] == slices.Contains(accumulating, tool.Name) {
			t.Errorf("%s: %v", tool.Name, a)
		}
		checkPlainSchema(t, tool.Name, tool.InputSchema)
	}
}

// checkPlainSchema checks that a schema has one type, and no keyword that some clients cannot read.
func checkPlainSchema(t *testing.T, path string, schema map[string]any) {
	t.Helper()
	for keyword, value := range schema {
		if !slices.Contains([]string{"type", "enum", "items", "properties", "required"}, keyword) {
			t.Errorf("%s has %s", path, keyword)
		}
		choices, _ := value.([]any)
		for _, choice := range choices {
			if _, ok := choice.(string); !ok {
				t.Errorf("%s has %v in %s", path, choice, keyword)
			}
		}
	}
	if _, ok := schema["type"].(string); !ok {
		t.Errorf("%s has no single type", path)
	}
	if items, ok := schema["items"].(map[string]any); ok {
		checkPlainSchema(t, path+"[]", items)
	}
	properties, _ := schema["properties"].(map[string]any)
	for name, p := range properties {
		checkPlainSchema(t, path+"."+name, p.(map[string]any))
	}
}
