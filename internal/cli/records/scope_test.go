package records

import (
	"context"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/op"
)

type attach struct {
	FileID loci.ID   `json:"fileId,omitzero" id:"file"`
	Others []loci.ID `json:"others,omitzero" id:"memory"`
}

type fakeService struct{}

func (fakeService) attach(context.Context, *identity.Actor, attach) (loci.Empty, error) {
	return loci.Empty{}, nil
}

type fakeCaller struct{ calls int }

func (c *fakeCaller) Call(context.Context, *op.Op, *op.Call, op.Args) ([]byte, error) {
	c.calls++
	return []byte("{}"), nil
}

func TestScopeRejectsIDsThatItCannotCheck(t *testing.T) {
	t.Parallel()
	table := &op.Table{}
	o := op.Add(table, "memory.attach", "POST /attach", "Attach a file.", op.Account, op.ToolFull, fakeService.attach)
	const id = "01a20154-2c96-728a-887c-000000000001"
	for input, want := range map[string]int{"{}": 1, `{"fileId":"` + id + `"}`: 0, `{"others":["` + id + `"]}`: 0} {
		caller := &fakeCaller{}
		s := &Scope{Reader: Reader{Caller: caller, Table: table}, workspaceID: id}
		if _, err := s.Call(t.Context(), o.Op, &op.Call{}, op.Args{JSON: []byte(input)}); (err == nil) != (want == 1) ||
			caller.calls != want {
			t.Errorf("%s: %d calls, %v", input, caller.calls, err)
		}
	}
}
