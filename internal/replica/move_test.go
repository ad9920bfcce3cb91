package replica_test

import (
	"slices"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/replica"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/store/pairdb"
	"github.com/loci-memory/loci/internal/testenv"
)

// A move is carried in both directions, also with a change of the text and of an archived memory, and is no second
// memory. Moves on both sides to the same atlas agree, and others are a conflict.
func TestMovesAreCopied(t *testing.T) {
	t.Parallel()
	c := newCouple(t)
	atlas := func(place pairdb.Place, name loci.Name) loci.ID {
		t.Helper()
		list := must(do(c.callers[place], service.AtlasList, loci.ListAtlases{})).Atlases
		i := slices.IndexFunc(list, func(a loci.Atlas) bool { return a.Name == string(name) })
		if i < 0 {
			return must(do(c.callers[place], service.AtlasCreate, loci.CreateAtlas{Name: name})).Atlas.ID
		}
		return list[i].ID
	}
	move := func(place pairdb.Place, id loci.ID, name loci.Name) {
		t.Helper()
		must(do(c.callers[place], service.MemoryUpdate, loci.UpdateMemory{MemoryID: id, AtlasID: atlas(place, name)}))
	}
	both := func(want string) {
		t.Helper()
		for place, caller := range c.callers {
			if list := all(caller); len(list) != 1 || list[0].AtlasID != atlas(pairdb.Place(place), loci.Name(want)) {
				t.Errorf("on side %d, not in %s alone: %+v", place, want, list)
			}
		}
	}
	m := add(c.callers[here], loci.CreateMemory{Content: "First."})
	c.run(there)
	copied := all(c.callers[there])[0].ID

	move(here, m.ID, "Website")
	update(c.callers[here], m.ID, "Second.")
	testenv.Equal(t, counts(c.run(here)), "waiting 1")
	testenv.Equal(t, counts(c.run(there)), "atlases 1, updated 1")
	both("Website")

	move(there, copied, "Inbox")
	testenv.Equal(t, counts(c.run(here)), "updated 1")
	both("Inbox")

	move(here, m.ID, "Website")
	must(do(c.callers[here], service.MemoryArchive, loci.ArchiveMemory{MemoryID: m.ID}))
	testenv.Equal(t, counts(c.run(there)), "updated 1")
	both("Website")
	if got := all(c.callers[there])[0]; got.Status != loci.MemoryArchived || got.ID != copied {
		t.Errorf("%+v", got)
	}
	must(do(c.callers[here], service.MemoryRestore, loci.RestoreMemory{MemoryID: m.ID}))
	c.run(there)

	for place, id := range []loci.ID{m.ID, copied} {
		move(pairdb.Place(place), id, "Garden")
	}
	testenv.Equal(t, counts(c.run(there)), "unchanged 1")
	move(here, m.ID, "Inbox")
	move(there, copied, "Website")
	testenv.Equal(t, counts(c.run(there)), "conflicts 1")
	testenv.Equal(t, counts(c.run(there, winner(replica.Theirs))), "updated 1")
	both("Website")

	site := loci.Name("Site")
	// An atlas with another name has the same memories.
	must(do(c.callers[there], service.AtlasUpdate, loci.UpdateAtlas{AtlasID: atlas(there, "Website"),
		Name: &site}))
	update(c.callers[here], m.ID, "Third.")
	testenv.Equal(t, counts(c.run(there)), "updated 1")
	if got := all(c.callers[there])[0]; got.AtlasID != atlas(there, "Site") {
		t.Errorf("%+v", got)
	}

	// A move that the other side refuses is named, and stays for the next run.
	garden := atlas(there, "Garden")
	for _, archived := range []bool{true, false} {
		must(do(c.callers[there], service.AtlasArchive, loci.ArchiveAtlas{AtlasID: garden, Archived: &archived}))
		if archived {
			move(here, m.ID, "Garden")
			testenv.Equal(t, counts(c.run(there)), "refusals 1")
		}
	}
	testenv.Equal(t, counts(c.run(there)), "updated 1")
	both("Garden")
}
