package op_test

import (
	"reflect"
	"strings"
	"testing"

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
