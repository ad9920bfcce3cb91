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

func TestDescribeNamesEachRecord(t *testing.T) {
	t.Parallel()
	type pair struct {
		SessionID   loci.ID `json:"sessionId" id:"session"`
		CandidateID loci.ID `json:"candidateId" id:"candidate"`
	}
	const session, candidate = "01a20154-2c96-728a-887c-000000000001", "01a20154-2c97-728a-887c-000000000002"
	table := &op.Table{}
	o := op.Add(table, "session.moderate", "POST /sessions/{sessionId}/candidates/{candidateId}/moderate", "Decide.",
		op.Account, op.NoTool, func(fakeService, context.Context, *identity.Actor, pair) (out loci.Empty, err error) {
			return out, nil
		})
	for _, name := range []string{"session.list", "session.candidates"} {
		op.Add(table, name, "GET /"+name, "List.", op.Account, op.NoTool,
			func(fakeService, context.Context, *identity.Actor, loci.ListAtlases) (out loci.Atlases, err error) {
				return out, nil
			})
	}
	r := Reader{Table: table, Caller: callerFunc(func(op.Args) string {
		return `{"ok":true,"records":[{"id":"` + session + `","task":"Ship it"},{"id":"` + candidate + `"}]}`
	})}
	phrase, err := r.Describe(t.Context(), o.Op, []byte(`{"sessionId":"`+session+`","candidateId":"`+candidate+`"}`))
	if err != nil || phrase != `the candidate `+candidate+` of the session "Ship it" (`+session+`)` {
		t.Error(phrase, err)
	}
}
