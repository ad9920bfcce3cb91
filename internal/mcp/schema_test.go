package mcp_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/loci-memory/loci/internal/testenv"
)

// conforms validates a value by the protocol's official schema of a revision.
func conforms(t *testing.T, version, name string, value any) {
	t.Helper()
	data := testenv.Must(os.ReadFile("testdata/mcp-" + version + ".schema.json"))(t)
	var s jsonschema.Schema
	testenv.NoError(t, json.Unmarshal(data, &s))
	s.Ref = "#/$defs/" + name
	if s.Defs == nil {
		s.Ref = "#/definitions/" + name
	}
	resolved := testenv.Must(s.Resolve(nil))(t)
	if err := resolved.Validate(value); err != nil {
		t.Errorf("%s of %s: %v", name, version, err)
	}
}
