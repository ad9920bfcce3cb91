package mcp_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
)

// TestToolTakesPartOfIDAndName gives a tool the beginning and the end of an id, names of atlases, and texts that
// several records answer to.
func TestToolTakesPartOfIDAndName(t *testing.T) {
	t.Parallel()
	s := newFakeService()
	s.addAtlases("Website", "Garden", "garden")
	s.memories = nil
	for i := range 2 {
		s.memories = append(s.memories, loci.Memory{Title: fmt.Sprintf("Number %d", i), Status: loci.MemoryActive,
			ID: loci.ID(fmt.Sprintf("01890000-000%d-7000-8000-00000000000%d", i, i))})
	}
	everyRevision(t, s, func(t *testing.T, c client) {
		for _, test := range []struct {
			tool string
			args object
			want string // in the result, or in the error
		}{
			{"memory_get", object{"memoryId": "01890000-0001"}, `Number 1`},
			{"memory_get", object{"memoryId": "7000-8000"}, `not_found`}, // neither the beginning nor the end
			{"memory_get", object{"memoryId": "000000000000"}, `Number 0`},
			{"memory_get", object{"memoryId": "0189000"}, `not_found`},
			{"memory_get", object{"memoryId": "01890000"}, `2 memory records answer to`},
			{"memory_get", object{"memoryId": "no id"}, `not_found`},
			{"memory_context", object{"query": "q", "atlas_id": "WEBSITE"}, string(s.atlases[0].ID)},
			{"memory_context", object{"query": "q", "atlas_id": "garden"}, string(s.atlases[2].ID)},
			{"memory_context", object{"query": "q", "atlas_id": "Yard"}, `There is no atlas`},
		} {
			if got, _ := c.tool(test.tool, test.args); !strings.Contains(fmt.Sprint(got), test.want) {
				t.Errorf("%s %v: %v, want %s", test.tool, test.args, got, test.want)
			}
		}
	})
}

// TestLookUpOfToolCounts looks an atlas up on eleven pages. Ten of them count as one call.
func TestLookUpOfToolCounts(t *testing.T) {
	t.Parallel()
	s := newFakeService()
	for i := range 1100 {
		s.atlases = append(s.atlases, loci.Atlas{ID: loci.NewID(time.Now()), Name: fmt.Sprintf("Many %d", i)})
	}
	everyRevision(t, s, func(t *testing.T, c client) {
		s.calls = nil
		c.tool("memory_context", object{"query": "q", "atlas_id": "Many 3"})
		counted := 0
		for _, call := range s.calls {
			if !call.Continuation {
				counted++
			}
		}
		if len(s.calls) != 12 || counted != 3 { // eleven pages and the call itself
			t.Errorf("%d calls, %d of them count", len(s.calls), counted)
		}
	})
}
