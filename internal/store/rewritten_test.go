package store_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/search"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/storetest"
)

func TestFindTellsWhichWordsItIgnoredAndCorrected(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{})
		ann, bob := user(t, s, "ann"), user(t, s, "bob")
		crew := team(t, s, ann, nil)
		long := "heliotropes"
		for i := range 40 {
			long += fmt.Sprintf(" %c%cz", 'a'+i%26, 'b'+i/26)
		}
		for range 2 {
			add(t, s, ann, "", long)
		}
		add(t, s, ann, "", "the heliotropes of the harbour")
		add(t, s, ann, crew, "abz of a crew with leather bags")
		add(t, s, bob, "", "another harbuorx")
		ask := func(query string, f store.Filter) store.Findings {
			r, err := store.Read(ctx, s, ann, func(tx *store.Tx) (store.Findings, error) {
				return tx.Find(store.Ask(query, 0), f, "", 5)
			})
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		for range 2 { // the second time it is known
			f := ask(long, store.Filter{})
			if len(f.Ignored) != 9 || slices.Contains(f.Ignored, "abz") || !slices.Contains(f.Ignored, "heliotropes") || f.Corrected != nil {
				t.Errorf("ignored %v, corrected %v", f.Ignored, f.Corrected)
			}
			f = ask("harbuor and laether", store.Filter{})
			if want := []search.Correction{{From: "harbuor", To: "harbour"}, {From: "laether", To: "leather"}}; f.Ignored != nil || !slices.Equal(f.Corrected, want) {
				t.Errorf("ignored %v, corrected %v", f.Ignored, f.Corrected)
			}
		}
		if f := ask("laether", store.Filter{WorkspaceID: crew}); len(f.Page) != 1 || len(f.Corrected) != 1 || f.Page[0].Memory.Status != loci.Active {
			t.Errorf("found %v, corrected %v", f.Page, f.Corrected)
		}
	})
}
