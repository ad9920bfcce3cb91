package conformance_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/loci-memory/loci/internal/mcp"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/testenv"
)

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
	for _, tool := range list.Tools {
		a := tool.Annotations
		for _, hint := range []string{"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"} {
			if _, ok := a[hint].(bool); !ok {
				t.Errorf("%s has no %s", tool.Name, hint)
			}
		}
		if a["openWorldHint"] != false || a["readOnlyHint"] == true && a["destructiveHint"] == true ||
			a["destructiveHint"] != slices.Contains(destructive, tool.Name) {
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
