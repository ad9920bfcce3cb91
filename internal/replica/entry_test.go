package replica

import (
	"testing"

	"github.com/loci-memory/loci"
)

func TestStateFromBeforeDerivedTitlesIsKnown(t *testing.T) {
	t.Parallel()
	m := loci.Memory{Title: "One", TitleDerived: true, Content: "One", Tags: []string{}, Status: loci.MemoryActive}
	before := m
	before.TitleDerived = false
	stored := newEntry(before).state()
	if !newEntry(m).hasState(stored) {
		t.Error("a memory counts as changed because its title is known as derived")
	}
	m.Title, m.Content = "Two", "Two"
	if newEntry(m).hasState(stored) {
		t.Error("another content is no change")
	}
}
