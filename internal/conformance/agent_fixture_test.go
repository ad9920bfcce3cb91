package conformance_test

import (
	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/conformance"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/service"
)

// agentFixtures are the fixtures of agents.
var agentFixtures = map[string]fixture{
	service.AgentList.Name: {
		needs:  member,
		server: true,
		args:   func(s testScene) args { s.agent(s.Ann); return args{"workspace_id": s.Team, "limit": 1} },
		names:  []string{"workspace_id"},
		refusals: []refusal{{name: "foreign cursor", code: loci.CodeInvalidQuery, args: func(s testScene) args {
			return args{"workspace_id": s.Team, "cursor": foreignCursor}
		}}},
	},
}

// agent lets an agent call with the key of a person.
func (s testScene) agent(p *conformance.Person) {
	c := &op.Call{Transport: "test", Credential: p.Key, ActorHeader: op.ActorAgent, Address: "192.0.2.1"}
	if _, err := s.Host.Call(s.t.Context(), service.AccountStatus.Op, c, op.Args{}); err != nil {
		s.t.Fatal(err)
	}
}
