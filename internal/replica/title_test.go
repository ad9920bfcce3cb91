package replica_test

import (
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/store/pairdb"
)

func TestDerivedTitleStaysDerivedOnTheOtherSide(t *testing.T) {
	t.Parallel()
	c := newCouple(t)
	m := add(c.callers[here], loci.CreateMemory{Content: "# One\ntext"})
	check := func(from pairdb.Place, title string, derived bool) {
		t.Helper()
		if r := c.run(from.Other()); !r.OK || r.Created+r.Updated != 1 {
			t.Errorf("%s: %+v", title, r)
		}
		for place, caller := range c.callers {
			if got := all(caller)[0]; got.Title != title || got.TitleDerived != derived {
				t.Errorf("on side %d, the title is %q, derived: %t; want %q, %t", place, got.Title, got.TitleDerived,
					title, derived)
			}
		}
		for _, to := range []pairdb.Place{here, there} {
			if r := c.run(to); !r.OK || len(r.Changes) != 0 || r.Waiting != 0 {
				t.Errorf("%s, again: %+v", title, r)
			}
		}
	}
	change := func(place pairdb.Place, content, title string) {
		in := loci.UpdateMemory{MemoryID: all(c.callers[place])[0].ID}
		if text := loci.Content(content); content != "" {
			in.Content = &text
		} else {
			given := loci.OptionalTitle(title)
			in.Title = &given
		}
		must(do(c.callers[place], service.MemoryUpdate, in))
	}
	if !m.TitleDerived {
		t.Errorf("%+v", m)
	}
	check(here, "One", true)
	change(there, "# Two\ntext", "")
	check(there, "Two", true)
	change(here, "", "Two")
	check(here, "Two", false)
	change(there, "# Three", "")
	check(there, "Two", false)
	change(here, "", "")
	check(here, "Three", true)
}
