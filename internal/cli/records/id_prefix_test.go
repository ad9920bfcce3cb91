package records

import (
	"context"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/op"
)

// moderate is an input with several ids.
type moderate struct {
	SessionID   loci.ID   `json:"sessionId" id:"session"`
	CandidateID loci.ID   `json:"candidateId" id:"candidate"`
	UnitID      loci.ID   `json:"unitId,omitzero" id:"unit"`
	AgentID     loci.ID   `json:"agentId,omitzero" id:"agent"`
	SessionIDs  []loci.ID `json:"sessionIds,omitzero" id:"session"`
}

type idPage struct {
	Records []struct{} `json:"records"`
	loci.Page
}

func (fakeService) moderate(context.Context, *identity.Actor, moderate) (out loci.Empty, err error) {
	return out, nil
}

func (fakeService) list(context.Context, *identity.Actor, struct{ loci.Paging }) (out idPage, err error) {
	return out, nil
}

// callerByName is a server that answers by the name of the operation.
type callerByName map[string]string

func (c callerByName) Call(_ context.Context, o *op.Op, _ *op.Call, _ op.Args) ([]byte, error) {
	return []byte(c[o.Name]), nil
}

func TestExpandIDsExpandsEachResource(t *testing.T) {
	t.Parallel()
	const session, candidate, agent = "01a20154-2c96-728a-887c-000000000001", "01a20154-2c97-728a-887c-000000000002",
		"agt_01a201542c98728a887c000000000003"
	table := &op.Table{}
	o := op.Add(table, "session.moderate", "POST /sessions/{sessionId}/candidates/{candidateId}/moderate", "Decide.",
		op.Account, op.NoTool, fakeService.moderate)
	r := Reader{Table: table, Caller: callerByName{
		"session.list":       `{"ok":true,"sessions":[{"id":"` + session + `","task":"Ship it"}]}`,
		"session.candidates": `{"ok":true,"candidates":[{"id":"` + candidate + `"}]}`,
		"agent.list":         `{"ok":true,"agents":[{"id":"` + agent + `"}]}`,
	}}
	for _, name := range []string{"session.list", "session.candidates", "agent.list"} {
		op.Add(table, name, "GET /"+name, "List.", op.Account, op.NoTool, fakeService.list)
	}
	for input, want := range map[string]string{
		`{"sessionId":"01a20154","candidateId":"01A20154-2C97"}`: `{"candidateId":"` + candidate + `","sessionId":"` +
			session + `"}`,
		`{"agentId":"agt_01a201542c98","unitId":"any"}`: `{"agentId":"` + agent + `","unitId":"any"}`,
		`{"agentId":"` + agent + `"}`:                   `{"agentId":"` + agent + `"}`,
		`{"sessionIds":["01a20154","` + session + `"]}`: `{"sessionIds":["` + session + `","` + session + `"]}`,
		`{"sessionIds":["01a20154",5]}`:                 `{"sessionIds":["01a20154",5]}`,
		`{"sessionId":"01a20155"}`:                      "No session has an id that begins with 01a20155",
		`{"agentId":"agt_01a2"}`:                        "at least the first 8 characters",
		`{"sessionIds":["Ship it"]}`:                    `No session has the id "Ship it"`,
	} {
		got, err := r.ExpandIDs(t.Context(), o.Op, []byte(input))
		if err != nil {
			got = []byte(err.Error())
		}
		if !strings.Contains(string(got), want) {
			t.Errorf("%s becomes %s, want %s", input, got, want)
		}
	}
	phrase, err := r.Describe(t.Context(), o.Op, []byte(`{"sessionId":"`+session+`","candidateId":"`+candidate+`"}`))
	if err != nil || phrase != `the candidate `+candidate+` of the session "Ship it" (`+session+`)` {
		t.Error(phrase, err)
	}
}
