package mcp_test

import (
	"fmt"
	"testing"
)

func TestZZPromptCounts(t *testing.T) {
	s := newFakeService()
	for i := range 150 {
		s.addAtlases(fmt.Sprintf("Many %d", i))
	}
	everyRevision(t, s, func(t *testing.T, c client) {
		s.calls = nil
		c.prompt("recall", object{"query": "deploys", "atlas": "Many 120"})
		for _, x := range s.calls {
			t.Log(x.Continuation)
		}
	})
}
