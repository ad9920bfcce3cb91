package op_test

import (
	"context"
	"reflect"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/op"
)

func TestCanonicalKeepsWhatWasMeantAndRefusesTheRest(t *testing.T) {
	t.Parallel()
	got, err := make_.Canonical(op.Args{JSON: []byte(`{ "name":" A<b ","tags":[" x "],"size":5.0,"note":""}`), Texts: []op.Text{{Name: "thingId", Value: "7"}}})
	if want := `{"thingId":"7","name":"A<b","tags":["x"],"size":5,"note":""}`; err != nil || string(got) != want {
		t.Errorf("%s %v, want %s", got, err, want)
	}
	if _, err := make_.Canonical(op.Args{JSON: []byte(`{"nmae":"x"}`)}); err == nil || !strings.Contains(err.Error(), "did you mean") {
		t.Errorf("an unknown field: %v", err)
	}
}

func TestAnOpKnowsItsTypes(t *testing.T) {
	t.Parallel()
	if in, out := make_.Types(); in != reflect.TypeFor[thing]() || out != reflect.TypeFor[reply]() {
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
	Kind loci.Kind `json:"kind"`
}

func TestAnEmbeddedStructLendsItsFieldsToTheSchema(t *testing.T) {
	t.Parallel()
	table := &op.Table{}
	o := op.Add(table, "thing.widen", "POST /things", "Widen.", op.Account, op.Core, func(*toy, context.Context, *loci.Actor, Shown) (wider, error) { return wider{}, nil })
	kind := o.Out().Properties["kind"]
	if kind == nil || len(kind.Enum) != len(loci.Kinds) || o.Out().Properties["more"] == nil || o.Out().AdditionalProperties != nil {
		t.Errorf("%+v", o.Out().Properties)
	}
}
