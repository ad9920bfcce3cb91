package service_test

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	. "github.com/loci-memory/loci/internal/conformance"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/page"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
)

func TestCursorIsValidForItsQueryOnly(t *testing.T) {
	t.Parallel()
	w := New(t, OpenSQLite, Options{})
	for i := range 6 {
		w.Memory(t, w.Atlas(t, "Shelf"), fmt.Sprintf("the tide %d", i))
	}
	first := MustCall(t, w, CallerOwner, service.AtlasList,
		loci.ListAtlases{WorkspaceID: w.Team, Paging: loci.Paging{Limit: 2}})
	c := loci.Cursor(first.NextCursor)
	again := MustCall(t, w, CallerOwner, service.AtlasList,
		loci.ListAtlases{WorkspaceID: w.Team, Paging: loci.Paging{Limit: 4, Cursor: c}})
	if len(again.Atlases) != 4 || again.NextCursor != "" || again.Atlases[0].ID >= first.Atlases[1].ID {
		t.Errorf("another limit: %+v", again)
	}
	MustFail(t, w, CallerOwner, service.AtlasList, loci.ListAtlases{Paging: loci.Paging{Cursor: c}},
		loci.CodeInvalidQuery)
	MustFail(t, w, CallerOwner, service.AtlasList, loci.ListAtlases{WorkspaceID: w.Team,
		Include: []loci.IncludeArchivedOnly{"archived"}, Paging: loci.Paging{Cursor: c}}, loci.CodeInvalidQuery)
	MustFail(t, w, CallerOwner, service.MemoryList, loci.ListMemories{Paging: loci.Paging{Cursor: c},
		MemoryFilter: loci.MemoryFilter{WorkspaceID: w.Team}}, loci.CodeInvalidQuery)
	MustFail(t, w, CallerAdmin, service.AtlasList,
		loci.ListAtlases{WorkspaceID: w.Team, Paging: loci.Paging{Cursor: c}}, loci.CodeInvalidQuery)
	MustFail(t, w, CallerToken, service.AtlasList,
		loci.ListAtlases{WorkspaceID: w.Team, Paging: loci.Paging{Cursor: c}}, loci.CodeInvalidQuery)

	found := MustCall(t, w, CallerOwner, service.MemorySearch,
		loci.SearchMemories{Query: "tide", Paging: loci.Paging{Limit: 2}})
	next := loci.SearchMemories{Query: "tide", Paging: loci.Paging{Limit: 3, Cursor: loci.Cursor(found.NextCursor)}}
	testenv.Len(t, MustCall(t, w, CallerOwner, service.MemorySearch, next).Memories, 3, "the search goes on with")
	next.Mode = loci.ModeAuto // the default
	MustCall(t, w, CallerOwner, service.MemorySearch, next)
	for _, other := range []loci.SearchMemories{{Query: "tides", Paging: next.Paging},
		{Query: "tide", Mode: loci.ModeKeyword, Paging: next.Paging},
		{Query: "tide", MemoryFilter: loci.MemoryFilter{Type: []loci.MemoryType{loci.TypeNote}}, Paging: next.Paging}} {
		MustFail(t, w, CallerOwner, service.MemorySearch, other, loci.CodeInvalidQuery)
	}
}

func TestInvalidCursorIsRejected(t *testing.T) {
	t.Parallel()
	w := New(t, OpenSQLite, Options{})
	for range 2 {
		w.Atlas(t, "Shelf")
	}
	ask := func(c string) error {
		_, err := op.Do(t.Context(), w.Host, w.Call(CallerOwner), service.AtlasList,
			loci.ListAtlases{Paging: loci.Paging{Limit: 1, Cursor: loci.Cursor(c)}})
		return err
	}
	good := MustCall(t, w, CallerOwner, service.AtlasList, loci.ListAtlases{Paging: loci.Paging{Limit: 1}}).NextCursor
	testenv.NoError(t, ask(good))
	raw := testenv.Must(base64.RawURLEncoding.DecodeString(good))(t)
	broken := []string{good + "A", good[1:], good[:len(good)-1], good + "=", "A", " " + good, good + "\n",
		good + "\r\n", "\n" + good, good[:9] + "\r" + good[9:], base64.RawURLEncoding.EncodeToString(raw[:20])}
	for i := range raw {
		changed := slices.Clone(raw)
		changed[i] ^= 1
		broken = append(broken, base64.RawURLEncoding.EncodeToString(changed))
	}
	for _, c := range broken {
		Expect(t, c, ask(c), loci.CodeInvalidQuery)
	}
}

// For any limit, pages show every item once, newest first. Items added meanwhile move nothing.
func TestPagesShowEveryItemOnce(t *testing.T) {
	t.Parallel()
	Each(t, Options{}, func(t *testing.T, w *World) {
		var made []string
		for i := range 7 {
			made = append(made, string(w.Memory(t, w.Atlas(t, "Shelf"), fmt.Sprintf("tide %d", i))))
		}
		slices.Reverse(made)
		for limit := range loci.Limit(8) {
			var got []string
			in := loci.ListMemories{Paging: loci.Paging{Limit: limit + 1},
				MemoryFilter: loci.MemoryFilter{WorkspaceID: w.Team}}
			for page := 0; page == 0 || in.Cursor != ""; page++ {
				out := MustCall(t, w, CallerMember, service.MemoryList, in)
				for _, m := range out.Memories {
					got = append(got, string(m.ID))
				}
				in.Cursor = loci.Cursor(out.NextCursor)
				if page == 0 {
					made = append([]string{string(w.Memory(t, w.Atlas(t, "Shelf"), "meanwhile"))}, made...)
				}
			}
			if want := made[1:]; !slices.Equal(got, want) {
				t.Fatalf("limit %d: %d memories, want %d", limit+1, len(got), len(want))
			}
		}
	})
}

func TestSearchPagesShowEveryMatch(t *testing.T) {
	t.Parallel()
	w := New(t, OpenSQLite, Options{Embedder: &storetest.FakeEmbedder{Name: "words"}})
	targets := w.Atlas(t, "Shelf")
	const n = 260
	for i := range n {
		w.Memory(t, targets, fmt.Sprintf("The tide of day %d.", i))
	}
	w.WaitForEmbeddings(t)
	for _, mode := range []loci.Mode{loci.ModeKeyword, loci.ModeHybrid, loci.ModeAuto} {
		seen := map[loci.ID]bool{}
		for _, m := range allPages(t, w, loci.SearchMemories{Query: "tide", Mode: mode,
			Paging: loci.Paging{Limit: 70}}) {
			seen[m.ID] = true
		}
		testenv.Len(t, seen, n, mode)
	}
}

// Memories of several chunks displace each other: more chunks are compared for
// later pages, and every memory is shown exactly once.
func TestSemanticSearchPagesShowEveryMatchOnce(t *testing.T) {
	t.Parallel()
	w := New(t, OpenSQLite, Options{Embedder: &storetest.FakeEmbedder{Name: "words"}})
	targets := w.Atlas(t, "Shelf")
	const n = 120
	for i := range n {
		var text strings.Builder
		for paragraph := range 2 + i%4 {
			for word := range 70 {
				fmt.Fprintf(&text, "w%d ", (i*31+paragraph*17+word*word)%400)
			}
			text.WriteString("tide.\n\n")
		}
		w.Memory(t, targets, text.String())
	}
	w.WaitForEmbeddings(t)
	all, seen, last := allPages(t, w, loci.SearchMemories{Query: "tide w7 w11", Mode: loci.ModeSemantic,
		Paging: loci.Paging{Limit: 20}}),
		map[loci.ID]bool{}, 2.0
	for _, m := range all {
		if m.Score > last {
			t.Errorf("%v comes behind %v", m.Score, last)
		}
		seen[m.ID], last = true, m.Score
	}
	if len(seen) != n || len(all) != n {
		t.Errorf("%d answers show %d of %d", len(all), len(seen), n)
	}
}

// Writes between two pages move ranks. A memory that exists all the time is shown once.
func TestSearchPagesShowEveryMatchOnceDuringWrites(t *testing.T) {
	t.Parallel()
	Each(t, Options{Embedder: &storetest.FakeEmbedder{Name: "words"}}, func(t *testing.T, w *World) {
		targets := w.Atlas(t, "Shelf")
		var stay, leave []loci.ID
		for i := range 12 {
			stay = append(stay, w.Memory(t, targets, fmt.Sprintf("The tide of day %d.", i)))
			leave = append(leave, w.Memory(t, targets, fmt.Sprintf("tide %d", i)))
		}
		w.WaitForEmbeddings(t)
		for _, mode := range []loci.Mode{loci.ModeKeyword, loci.ModeHybrid, loci.ModeSemantic, loci.ModeAuto} {
			times, in := map[loci.ID]int{}, loci.SearchMemories{Query: "tide", Mode: mode,
				Paging: loci.Paging{Limit: 5}}
			for page := 0; page == 0 || in.Cursor != ""; page++ {
				out := MustCall(t, w, CallerOwner, service.MemorySearch, in)
				for _, m := range out.Memories {
					times[m.ID]++
				}
				MustCall(t, w, CallerOwner, service.MemoryArchive, loci.ArchiveMemory{MemoryID: leave[0]})
				leave = leave[1:]
				if page < 2 {
					leave = append(leave, w.Memory(t, targets, fmt.Sprintf("tide %d tide %s", page, mode)))
				}
				in.Cursor = loci.Cursor(out.NextCursor)
			}
			for id, n := range times {
				if n > 1 {
					t.Errorf("%s: %s is shown %d times", mode, id, n)
				}
			}
			for _, id := range stay {
				if times[id] == 0 {
					t.Errorf("%s: %s is on no page", mode, id)
				}
			}
		}
	})
}

// allPages returns the memories of all pages of a search.
func allPages(t *testing.T, w *World, in loci.SearchMemories) (list []loci.FoundMemory) {
	t.Helper()
	for {
		out := MustCall(t, w, CallerOwner, service.MemorySearch, in)
		list = append(list, out.Memories...)
		if out.NextCursor == "" {
			return list
		}
		in.Cursor = loci.Cursor(out.NextCursor)
	}
}

func TestExpiredMemoryRanksLowerDespiteRankingCache(t *testing.T) {
	t.Parallel()
	w := New(t, OpenSQLite, Options{})
	targets := w.Atlas(t, "Shelf")
	id, other := w.Memory(t, targets, "giraffe facts"), w.Memory(t, targets, "giraffe facts and others")
	MustCall(t, w, CallerOwner, service.MemoryVerify,
		loci.VerifyMemory{MemoryID: id, ValidUntil: ptr(loci.TimeOf(w.Clock.Now().Add(2 * time.Second)))})
	for pass, want := range []loci.ID{id, id, other} {
		out := MustCall(t, w, CallerOwner, service.MemorySearch,
			loci.SearchMemories{Query: "giraffe facts", Mode: loci.ModeKeyword})
		if out.Memories[0].ID != want || (out.Meta.Cache == loci.CacheQuery) != (pass == 1) {
			t.Errorf("after %d s %q is best, cache %s", pass, out.Memories[0].Content, out.Meta.Cache)
		}
		w.Clock.Advance(time.Second)
	}
}

// TestSearchPagesAreBoundedInBytes walks through large memories by pages of several limits.
func TestSearchPagesAreBoundedInBytes(t *testing.T) {
	t.Parallel()
	Each(t, Options{}, func(t *testing.T, w *World) {
		targets := w.Atlas(t, "Shelf")
		const n = 24 // of which 16 are long: four pages by their bytes
		for i := range n {
			text := fmt.Sprintf("The tide of day %d.\n", i)
			if i%3 != 0 {
				text += strings.Repeat("\x01", 120<<10+i<<10) // six bytes each as JSON
			}
			w.Memory(t, targets, text)
		}
		for _, limit := range []loci.Limit{7, 100} {
			seen, in := map[loci.ID]bool{}, loci.SearchMemories{Query: "tide", Mode: loci.ModeKeyword,
				Paging: loci.Paging{Limit: limit}}
			for {
				out := MustCall(t, w, CallerOwner, service.MemorySearch, in)
				if size := len(encoded(t, out)); size > page.MaxBytes || len(out.Memories) == 0 ||
					len(out.Memories) > int(limit) {
					t.Errorf("limit %d: a page of %d memories has %d bytes", limit, len(out.Memories), size)
				}
				for _, m := range out.Memories {
					if seen[m.ID] {
						t.Errorf("limit %d: %s is shown twice", limit, m.ID)
					}
					seen[m.ID] = true
				}
				if out.NextCursor == "" {
					break
				}
				in.Cursor = loci.Cursor(out.NextCursor)
			}
			testenv.Len(t, seen, n, "limit", limit, "are shown")
		}
		for _, query := range []loci.Query{"", "tide"} {
			out := MustCall(t, w, CallerOwner, service.MemoryContext, loci.ReadContext{Query: query, Limit: 100})
			if size := len(encoded(t, out)); size > page.MaxBytes || len(out.Groups) == 0 {
				t.Errorf("the context of %q has %d groups and %d bytes", query, len(out.Groups), size)
			}
		}
	})
}

func encoded(t *testing.T, out any) []byte {
	t.Helper()
	b := testenv.Must(op.Encode(out))(t)
	return b
}
