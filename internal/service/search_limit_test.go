package service_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	. "github.com/loci-memory/loci/internal/conformance"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
)

// A scoredID holds the parts of a hit that must not depend on the limit.
type scoredID struct {
	id    loci.ID
	score float64
}

func rankedOf(list []loci.FoundMemory) (out []scoredID) {
	for _, m := range list {
		out = append(out, scoredID{m.ID, m.Score})
	}
	return out
}

// The list of a limit is a prefix of that of any higher limit, and pages of any size are parts of one list: in all
// modes, with and without conversations, phrases and dates, in one workspace and over several.
func TestSearchRanksTheSameWhateverTheLimit(t *testing.T) {
	t.Parallel()
	queries := []string{"tide w3 w7 w11", `"w1 w2" tide w5`, "w9 w4 2023-05-07"}
	if testing.Short() {
		queries = queries[:1]
	}
	for _, grouped := range []bool{false, true} {
		t.Run(fmt.Sprintf("grouped %v", grouped), func(t *testing.T) {
			t.Parallel()
			w := New(t, OpenSQLite, Options{Embedder: &storetest.FakeEmbedder{Name: "words"}})
			fillForLimits(t, w, grouped)
			for _, query := range queries {
				for i, mode := range []loci.Mode{loci.ModeKeyword, loci.ModeSemantic, loci.ModeHybrid, loci.ModeAuto} {
					for _, workspace := range []string{string(w.Team), ""}[i%2:] {
						checkLimits(t, w, loci.SearchMemories{Query: loci.Query(query), Mode: mode,
							MemoryFilter: loci.MemoryFilter{WorkspaceID: loci.ID(workspace)}})
					}
				}
			}
		})
	}
}

// fillForLimits makes memories of one and of several chunks in two workspaces, some of them equal.
func fillForLimits(t *testing.T, w *World, grouped bool) {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	targets := w.Atlas(t, "Shelf")
	for i := range 150 {
		in := loci.CreateMemory{AtlasID: targets}
		if i%5 == 4 {
			in.AtlasID = ""
		}
		if grouped {
			at := int64(i / 7)
			in.Source = &loci.Source{Group: loci.SourceText(fmt.Sprint("talk ", i%7)), Position: &at}
		}
		var text strings.Builder
		for range 1 + i%3*i%4 {
			for range 20 + random.IntN(60) {
				n := random.IntN(40)
				fmt.Fprintf(&text, "w%d ", n*n/40)
			}
			text.WriteString("tide.\n\n")
		}
		if i%10 < 2 {
			text.Reset()
			fmt.Fprintf(&text, "w1 w2 w3 tide w%d 2023-05-%02d", i%20/10, 7+i%20/10)
		}
		if i%10 == 2 { // ranks high by all of its words, and low by its best chunk
			text.Reset()
			for _, word := range []string{"tide", "w3", "w7", "w11", "w4", "w9", "w5"} {
				text.WriteString(strings.Repeat(word+" ", 1+i%3) + strings.Repeat("other ", 60+random.IntN(60)) +
					".\n\n")
			}
		}
		in.Content = loci.Content(text.String())
		MustCall(t, w, CallerOwner, service.MemoryCreate, in)
	}
	w.WaitForEmbeddings(t)
}

// checkLimits searches with limits from 1 to 100, and page by page. Spaces
// behind a query only keep it from the ranking cache of another limit.
func checkLimits(t *testing.T, w *World, in loci.SearchMemories) {
	t.Helper()
	query := in.Query
	var all []scoredID
	for limit := 1; limit <= 100; limit += 1 + limit/12 {
		in.Limit, in.Query = loci.Limit(limit), query+loci.Query(strings.Repeat(" ", limit))
		got := rankedOf(MustCall(t, w, CallerOwner, service.MemorySearch, in).Memories)
		testenv.RequireEqual(t, len(got), limit, query, "by", in.Mode, "hits of limit")
		if !slices.Equal(all, got[:len(all)]) {
			t.Fatalf("%q by %s: limit %d does not begin with that before:\n%v\n%v", query, in.Mode, limit, all, got)
		}
		all = got
	}
	in.Query = query
	for _, limit := range []loci.Limit{100, 17} {
		in.Limit = limit
		got := rankedOf(allPages(t, w, in))
		if len(got) < len(all) || !slices.Equal(all, got[:len(all)]) {
			t.Fatalf("%q by %s: pages of %d are not the list of limit %d:\n%v\n%v", query, in.Mode, limit, len(all),
				got, all)
		}
		all = got
	}
}
