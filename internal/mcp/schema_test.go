package mcp_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

// conforms validates a value by the protocol's official schema of a revision.
func conforms(t *testing.T, version, name string, value any) {
	t.Helper()
	data, err := os.ReadFile("testdata/mcp-" + version + ".schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(data, &s); err != nil {
		t.Fatal(err)
	}
	s.Ref = "#/$defs/" + name
	if s.Defs == nil {
		s.Ref = "#/definitions/" + name
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := resolved.Validate(value); err != nil {
		t.Errorf("%s of %s: %v", name, version, err)
	}
}
