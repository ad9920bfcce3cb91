package mcp

import (
	"testing"

	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/op"
)

// Instructions are in each conversation. A connection with a key is an agent.
func TestInstructionsAreShort(t *testing.T) {
	t.Parallel()
	key := identity.NewKey()
	d := &Server{tools: map[op.Toolset]map[string]*tool{op.FullTools: {"agent_inbox": {}}, op.CoreTools: {}}}
	for name, x := range map[string]struct {
		call  op.Call
		set   op.Toolset
		agent bool
	}{
		"key":    {op.Call{Credential: key}, op.FullTools, true},
		"header": {op.Call{ActorHeader: "agent"}, op.FullTools, true},
		"core":   {op.Call{Credential: key}, op.CoreTools, false},
		"none":   {op.Call{}, op.FullTools, false},
	} {
		text := d.instructions(&exchange{set: x.set, call: &x.call})
		if isAgent := text == baseInstructions+agentInstructions; len(text) > 700 || isAgent != x.agent {
			t.Errorf("%s: %d bytes: %s", name, len(text), text)
		}
	}
}
