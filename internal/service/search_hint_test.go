package service_test

import (
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	. "github.com/loci-memory/loci/internal/conformance"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/store/storetest"
)

// TestSearchHasHintWhenNothingFits searches an empty workspace, and then one with a memory, in every mode.
func TestSearchHasHintWhenNothingFits(t *testing.T) {
	t.Parallel()
	const noWord, nearest = "no memory that was searched holds a word", "these are the nearest by meaning"
	w := New(t, OpenSQLite, Options{Embedder: &storetest.FakeEmbedder{Name: "words"}})
	search := func(query string, mode loci.Mode) loci.FoundMemories {
		return MustCall(t, w, CallerOwner, service.MemorySearch,
			loci.SearchMemories{Query: loci.Query(query), Mode: mode})
	}
	for mode, want := range map[loci.Mode]string{loci.ModeKeyword: noWord, loci.ModeSemantic: "near to the query",
		loci.ModeHybrid: "near to the query", loci.ModeAuto: "near to the query"} {
		if found := search("zzyzx", mode); len(found.Memories) != 0 || !strings.Contains(found.Meta.Hint, want) {
			t.Errorf("%s on an empty workspace: %d memories, %q", mode, len(found.Memories), found.Meta.Hint)
		}
	}
	MustCall(t, w, CallerOwner, service.MemoryCreate, loci.CreateMemory{Content: "The staging host is called basalt."})
	w.WaitForEmbeddings(t)
	for _, test := range []struct {
		query string
		mode  loci.Mode
		hits  int
		want  string
	}{
		{"zzyzx", loci.ModeKeyword, 0, noWord}, {"zzyzx", loci.ModeHybrid, 1, nearest},
		{"zzyzx", loci.ModeAuto, 1, nearest}, {"zzyzx", loci.ModeSemantic, 1, ""},
		{"basalt", loci.ModeKeyword, 1, ""}, {"basalt", loci.ModeAuto, 1, ""},
	} {
		found := search(test.query, test.mode)
		if hint := found.Meta.Hint; len(found.Memories) != test.hits || (hint == "") != (test.want == "") ||
			!strings.Contains(hint, test.want) {
			t.Errorf("%s by %s: %d memories, %q", test.query, test.mode, len(found.Memories), hint)
		}
	}
}
