package op_test

import (
	"context"
	"reflect"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/op"
)

func TestCanonicalKeepsInputAndRejectsInvalid(t *testing.T) {
	t.Parallel()
	got, err := makeOp.Canonical(op.Args{JSON: []byte(`{ "name":" A<b ","tags":[" x "],"size":5.0,"note":""}`),
		Params: []op.Param{{Name: "thingId", Value: "7"}}})
	if want := `{"thingId":"7","name":"A<b","tags":["x"],"size":5,"note":""}`; err != nil || string(got) != want {
		t.Errorf("%s %v, want %s", got, err, want)
	}
	if _, err := makeOp.Canonical(op.Args{JSON: []byte(`{"nmae":"x"}`)}); err == nil ||
		!strings.Contains(err.Error(), "did you mean") {
		t.Errorf("an unknown field: %v", err)
	}
}

func TestOpReturnsItsTypes(t *testing.T) {
	t.Parallel()
	if in, out := makeOp.Types(); in != reflect.TypeFor[thing]() || out != reflect.TypeFor[reply]() {
		t.Errorf("%v, %v", in, out)
	}
}

type wider struct {
	reply
	Shown
	More string `json:"more"`
}

// Shown is embedded in an output.
type Shown struct {
	Kind loci.MemoryType `json:"kind"`
}

func TestSchemaIncludesEmbeddedFields(t *testing.T) {
	t.Parallel()
	table := &op.Table{}
	o := op.Add(table, "thing.widen", "POST /things", "Widen.", op.Account, op.ToolCore,
		func(*fakeService, context.Context, *identity.Actor, Shown) (wider, error) { return wider{}, nil })
	kind := o.OutputSchema().Properties["kind"]
	if kind == nil || len(kind.Enum) != len(loci.MemoryTypes) || o.OutputSchema().Properties["more"] == nil ||
		o.OutputSchema().AdditionalProperties != nil {
		t.Errorf("%+v", o.OutputSchema().Properties)
	}
}

type bulk struct {
	SessionIDs loci.BulkIDs `json:"sessionIds" id:"session"`
}

func TestBoundOfOneIsSingular(t *testing.T) {
	t.Parallel()
	o := op.Add(&op.Table{}, "thing.bulk", "POST /things", "Change things.", op.Account, op.NoTool,
		func(struct{}, context.Context, *identity.Actor, bulk) (out loci.Empty, err error) { return })
	for args, want := range map[string]string{
		`{"sessionIds":[]}`: "sessionIds must have at least 1 item",
		`{"sessionIds":["` + strings.Repeat(`x","`, 100) + `x"]}`: "sessionIds must have at most 100 items",
	} {
		if _, err := o.Canonical(op.Args{JSON: []byte(args)}); loci.AsError(err).Message != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
