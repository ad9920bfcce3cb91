package store_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/query"
	"github.com/loci-memory/loci/internal/retrieve"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/storetest"
)

func TestSearchReportsIgnoredAndCorrectedTerms(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{})
		ann, bob := user(t, s, "ann"), user(t, s, "bob")
		crew := team(t, s, ann, nil)
		long := "heliotropes"
		for i := range 40 {
			long += fmt.Sprintf(" %c%cz", 'a'+i%26, 'b'+i/26)
		}
		for i := range 8 { // words at both ends always count
			long = fmt.Sprintf("%cqx %s %cqy", 'a'+i, long, 'a'+i)
		}
		for range 2 {
			add(t, s, ann, "", long)
		}
		add(t, s, ann, "", "the heliotropes of the harbour")
		add(t, s, ann, crew, "abz of a crew with leather bags")
		add(t, s, bob, "", "another harbuorx")
		ask := func(query string, f loci.MemoryFilter) retrieve.Result {
			r, err := store.Read(ctx, s, ann, func(tx *store.Tx) (retrieve.Result, error) {
				return storetest.Search(tx, retrieve.NewQuery(query), f, "", 5)
			})
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		for range 2 { // the second time it is known
			f := ask(long, loci.MemoryFilter{})
			if len(f.Ignored) != 25 || slices.Contains(f.Ignored, "abz") || f.Corrected != nil ||
				!slices.Contains(f.Ignored, "heliotropes") {
				t.Errorf("ignored %v, corrected %v", f.Ignored, f.Corrected)
			}
			f = ask("harbuor and laether", loci.MemoryFilter{})
			if want := []query.Correction{{From: "harbuor", To: "harbour"},
				{From: "laether", To: "leather"}}; f.Ignored != nil || !slices.Equal(f.Corrected, want) {
				t.Errorf("ignored %v, corrected %v", f.Ignored, f.Corrected)
			}
		}
		if f := ask("laether", loci.MemoryFilter{WorkspaceID: crew}); len(f.Hits) != 1 || len(f.Corrected) != 1 ||
			f.Hits[0].Memory.Status != loci.MemoryActive {
			t.Errorf("found %v, corrected %v", f.Hits, f.Corrected)
		}
	})
}

func TestWordKnownToOneWorkspaceIsNotCorrected(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{})
		ann := user(t, s, "ann")
		crew := team(t, s, ann, nil)
		journey := add(t, s, ann, "", "the journey of the sculptors")
		tourney := add(t, s, ann, crew, "the tourney of the sculptors")
		ask := func(query string, f loci.MemoryFilter) (ids []string, corrected []query.Correction) {
			r, err := store.Read(ctx, s, ann, func(tx *store.Tx) (retrieve.Result, error) {
				return storetest.Search(tx, retrieve.NewQuery(query), f, "", 5)
			})
			if err != nil {
				t.Fatal(err)
			}
			if r.KeywordCandidates != len(r.Hits) {
				t.Errorf("%q: a total of %d, %d on the page", query, r.KeywordCandidates, len(r.Hits))
			}
			for _, x := range r.Hits {
				ids = append(ids, string(x.Memory.ID))
			}
			slices.Sort(ids)
			return ids, r.Corrected
		}
		both := []string{string(journey.ID), string(tourney.ID)}
		slices.Sort(both)
		sculptors := query.Correction{From: "sculptros", To: "sculptors"}
		for _, x := range []struct {
			query     string
			workspace loci.ID
			ids       []string
			corrected []query.Correction
		}{
			{"tourney", "", []string{string(tourney.ID)}, nil},
			{"tourney", journey.WorkspaceID, []string{string(journey.ID)},
				[]query.Correction{{From: "tourney", To: "journey"}}},
			{"sculptros", "", both, []query.Correction{sculptors}},
			{"tourney sculptros", "", both, []query.Correction{sculptors}},
			{"sculptors journy", "", both, []query.Correction{{From: "journy", To: "journey"}}}, // in one of them
		} {
			ids, corrected := ask(x.query, loci.MemoryFilter{WorkspaceID: x.workspace})
			if !slices.Equal(ids, x.ids) || !slices.Equal(corrected, x.corrected) {
				t.Errorf("%q in %q: found %v, corrected %v", x.query, x.workspace, ids, corrected)
			}
		}
	})
}
