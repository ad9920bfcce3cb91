package conformance_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/loci-memory/loci/internal/conformance"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/testenv"
)

// tools returns every operation that is a tool.
func tools() []*op.Op {
	return slices.DeleteFunc(slices.Clone(service.Ops.Ops), func(o *op.Op) bool { return o.Exposure <= op.NoTool })
}

// TestToolsReadArgumentsThatModelsFillIn sends the call of each fixture with null or "" in all other fields, and with
// each number, boolean and list as a text.
func TestToolsReadArgumentsThatModelsFillIn(t *testing.T) {
	t.Parallel()
	s := testScene{conformance.New(t, conformance.OpenSQLite, withMail), t}
	for _, o := range tools() {
		f := fixtureOf(t, o.Name)
		in := f.args(testScene{f.world(t, s.World, conformance.OpenSQLite), t})
		want := readArguments(t, o, in)
		for name, empty := range map[string]any{"null": nil, "an empty text": ""} {
			filled := args{}
			for _, field := range o.Fields() {
				value, given := in[field.Name]
				switch {
				case given:
					filled[field.Name] = quoted(t, value)
				case empty == nil || !slices.Contains(o.InputSchema().Properties[field.Name].Types, "null"):
					filled[field.Name] = empty
				}
			}
			testenv.Equal(t, readArguments(t, o, filled), want, o.Name, name, filled)
		}
	}
}

// readArguments returns the input that an operation gets of a tool's arguments.
func readArguments(t *testing.T, o *op.Op, in args) string {
	t.Helper()
	given := conformance.Must(json.Marshal(in))(t)
	lenient, err := o.Lenient(given)
	if err == nil {
		lenient, err = o.Canonical(op.Args{JSON: lenient})
	}
	if err != nil {
		t.Errorf("%s: %s: %v", o.Name, given, err)
	}
	return string(lenient)
}

// quoted returns a value as a text, unless it is one or an object.
func quoted(t *testing.T, value any) any {
	t.Helper()
	switch value.(type) {
	case string, args:
		return value
	}
	raw := conformance.Must(json.Marshal(value))(t)
	if raw[0] == '"' || raw[0] == '{' {
		return value
	}
	return string(raw)
}
