package service_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	. "github.com/loci-memory/loci/internal/conformance"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
)

func TestKeywordsRouteMemoryToAtlas(t *testing.T) {
	t.Parallel()
	Each(t, Options{}, func(t *testing.T, w *World) {
		ids := map[string]string{}
		for _, a := range []struct {
			name     string
			keywords loci.Keywords
		}{{"ships", loci.Keywords{"Bark", "brig", "tall ship"}}, {"trees", loci.Keywords{"bark", "Leaf", "straße"}},
			{"silent", nil}} {
			in := loci.CreateAtlas{Name: loci.Name(a.name), WorkspaceID: w.Team, Keywords: a.keywords}
			ids[a.name] = string(MustCall(t, w, CallerOwner, service.AtlasCreate, in).Atlas.ID)
		}
		for _, c := range []struct {
			in      loci.CreateMemory
			atlas   string
			matched []string
		}{
			// the older of two equals
			{loci.CreateMemory{Content: "The BARK sails."}, "ships", []string{"Bark"}},
			{loci.CreateMemory{Content: "Bark and leaf."}, "trees", []string{"bark", "Leaf"}},
			{loci.CreateMemory{Content: "Nothing of it.", Title: "A brig"}, "ships", []string{"brig"}},
			{loci.CreateMemory{Content: "Nothing of it.", Tags: loci.Tags{"leaf"}}, "trees", []string{"Leaf"}},
			{loci.CreateMemory{Content: "Two tall  ships, no tall\nship? A tall ship!"}, "ships",
				[]string{"tall ship"}},
			{loci.CreateMemory{Content: "In der STRASSE."}, "trees", []string{"straße"}},
			{loci.CreateMemory{Content: "In der STRAẞE."}, "trees", []string{"straße"}},
			{loci.CreateMemory{Content: "Barking leaflets."}, "", nil},
			{loci.CreateMemory{Content: "A leaf.", AtlasID: loci.ID(ids["silent"])}, "silent", nil},
		} {
			c.in.WorkspaceID = w.Team
			m := MustCall(t, w, CallerMember, service.MemoryCreate, c.in).Memory
			want := ids[c.atlas]
			if want == "" {
				want = string(inbox(t, w))
			}
			if m.AtlasID != loci.ID(want) || m.Routing.AtlasID != loci.ID(want) || m.Routing.Matched == nil ||
				!slices.Equal(m.Routing.Matched, c.matched) {
				t.Errorf("%q goes by %q, want %s by %q", c.in.Content, m.Routing.Matched, c.atlas, c.matched)
			}
		}
	})
}

// inbox returns the inbox of the team.
func inbox(t *testing.T, w *World) loci.ID {
	t.Helper()
	for _, a := range MustCall(t, w, CallerOwner, service.AtlasList, loci.ListAtlases{WorkspaceID: w.Team}).Atlases {
		if a.Default {
			return a.ID
		}
	}
	t.Fatal("the crew has no Inbox")
	return ""
}

func TestTeamGetsInboxWithFirstMemory(t *testing.T) {
	t.Parallel()
	w := New(t, OpenSQLite, Options{})
	testenv.RequireEqual(t, len(MustCall(t, w, CallerOwner, service.AtlasList,
		loci.ListAtlases{WorkspaceID: w.Team}).Atlases), 0, "a new team has", "atlases")
	first := MustCall(t, w, CallerMember, service.MemoryCreate,
		loci.CreateMemory{Content: "one", WorkspaceID: w.Team}).Memory
	second := MustCall(t, w, CallerOwner, service.MemoryCreate,
		loci.CreateMemory{Content: "two", WorkspaceID: w.Team}).Memory
	if a := inbox(t, w); first.AtlasID != a || second.AtlasID != a {
		t.Errorf("%s and %s, Inbox %s", first.AtlasID, second.AtlasID, a)
	}
	own := MustCall(t, w, CallerMember, service.MemoryCreate, loci.CreateMemory{Content: "mine"}).Memory
	if a := MustCall(t, w, CallerMember, service.AtlasGet, loci.GetAtlas{AtlasID: own.AtlasID}).Atlas; !a.Default ||
		a.Name != loci.InboxName || a.WorkspaceID == w.Team {
		t.Errorf("without a place: %+v", a)
	}
}

func TestDuplicatesAreReportedOrReturned(t *testing.T) {
	t.Parallel()
	Each(t, Options{}, func(t *testing.T, w *World) {
		targets := w.Atlas(t, "Shelf")
		in := loci.CreateMemory{Content: "the same", AtlasID: targets, Title: "One"}
		first := create(t, w, in)
		in.Title, in.OnDuplicate = "Two", loci.OnDuplicateReturn
		back := create(t, w, in)
		if back.Created() || !first.Created() || back.Memory.ID != first.Memory.ID || back.Memory.Title != "One" ||
			back.Memory.Routing.AtlasID != targets {
			t.Errorf("return: %+v", back)
		}
		in.OnDuplicate = ""
		second := create(t, w, in)
		if !second.Created() || second.Memory.ID == first.Memory.ID || second.Memory.DuplicateOf != first.Memory.ID {
			t.Errorf("stored: %+v", second)
		}
		testenv.Equal(t, create(t, w, in).Memory.DuplicateOf, first.Memory.ID, "the third is a duplicate of",
			"not of the first")
		in.Content += "!"
		testenv.Equal(t, create(t, w, in).Memory.DuplicateOf, "", "other content")
		in.Content, in.AtlasID = "the same", w.Atlas(t, "Other")
		testenv.Equal(t, create(t, w, in).Memory.DuplicateOf, "", "another atlas")
	})
}

// create calls the method itself: the wire does not show whether a memory was created.
func create(t *testing.T, w *World, in loci.CreateMemory) loci.CreatedMemory {
	t.Helper()
	return testenv.Must(w.Service.CreateMemory(t.Context(), w.Ann.Actor(), in))(t)
}

func TestTitleIsDerivedWithoutAGivenOne(t *testing.T) {
	t.Parallel()
	w := New(t, OpenSQLite, Options{})
	for content, want := range map[string]string{
		"plain":                          "plain",
		"\n\n  # Heading #\nText":        "Heading",
		"first line\n# Heading":          "Heading",
		"#hashtag first":                 "#hashtag first",
		"\u00a0\n\t\nlater":              "later",
		strings.Repeat("ü", 400):         strings.Repeat("ü", 300),
		"###### Six\n####### Seven":      "Six",
		"####### Seven is no heading\nx": "####### Seven is no heading",
	} {
		for _, title := range []loci.Title{"", "  "} {
			m := MustCall(t, w, CallerOwner, service.MemoryCreate,
				loci.CreateMemory{Content: loci.Content(content), Title: title}).Memory
			if m.Title != want || m.Content != content || !m.TitleDerived {
				t.Errorf("%.20q: title %.30q, want %.30q", content, m.Title, want)
			}
		}
	}
	if m := MustCall(t, w, CallerOwner, service.MemoryCreate,
		loci.CreateMemory{Content: "x", Title: "Mine"}).Memory; m.Title != "Mine" || m.TitleDerived ||
		m.Type != loci.TypeNote || m.Version != 1 || m.Tags == nil {
		t.Errorf("%+v", m)
	}
	tags := MustCall(t, w, CallerOwner, service.MemoryCreate,
		loci.CreateMemory{Content: "x", Tags: loci.Tags{" b ", "a", "b", "B"}}).Memory.Tags
	testenv.EqualSlices(t, tags, []string{"b", "a", "B"}, "tags")
}

func TestAtlasAndWorkspaceMustAgree(t *testing.T) {
	t.Parallel()
	w := New(t, OpenSQLite, Options{})
	targets := w.Atlas(t, "Shelf")
	MustCall(t, w, CallerOwner, service.MemoryCreate,
		loci.CreateMemory{Content: "x", AtlasID: targets, WorkspaceID: w.Team})
	other := w.NewTeam(t, w.Ann)
	MustFail(t, w, CallerOwner, service.MemoryCreate,
		loci.CreateMemory{Content: "x", AtlasID: targets, WorkspaceID: other}, loci.CodeAtlasWorkspaceMismatch)
	MustFail(t, w, CallerMember, service.MemoryCreate,
		loci.CreateMemory{Content: "x", AtlasID: targets, WorkspaceID: other}, loci.CodeNotFound)
	MustFail(t, w, CallerOwner, service.MemoryList, loci.ListMemories{MemoryFilter: loci.MemoryFilter{AtlasID: targets,
		WorkspaceID: other}}, loci.CodeAtlasWorkspaceMismatch)
	for _, blank := range []loci.Query{"   ", "?!"} {
		MustFail(t, w, CallerMember, service.MemorySearch, loci.SearchMemories{Query: blank}, loci.CodeInvalidQuery)
		MustFail(t, w, CallerMember, service.MemoryContext, loci.ReadContext{Query: blank}, loci.CodeInvalidQuery)
	}
	MustFail(t, w, CallerMember, service.MemorySearch, loci.SearchMemories{Query: "x",
		MemoryFilter: loci.MemoryFilter{AtlasID: targets, WorkspaceID: other}}, loci.CodeNotFound)
}

func TestSearchFallsBackToKeywords(t *testing.T) {
	t.Parallel()
	w := New(t, OpenSQLite, Options{})
	w.Memory(t, w.Atlas(t, "Shelf"), "The tide turns at noon.")
	for _, c := range []struct {
		query loci.Query
		mode  loci.Mode
		want  loci.ResolvedMode
		found int
	}{
		{"tide noon", loci.ModeAuto, loci.ResolvedKeyword, 1}, {"tide noon", "", loci.ResolvedKeyword, 1},
		{"tide moon", loci.ModeAuto, loci.ResolvedKeywordFallback, 1},
		{"tide", loci.ModeKeyword, loci.ResolvedKeyword, 1},
		{"tide", loci.ModeSemantic, loci.ResolvedKeywordFallback, 1},
		{"tide", loci.ModeHybrid, loci.ResolvedKeywordFallback, 1}, {"moon", loci.ModeKeyword, loci.ResolvedKeyword, 0},
	} {
		out := MustCall(t, w, CallerOwner, service.MemorySearch, loci.SearchMemories{Query: c.query, Mode: c.mode})
		if out.Mode != c.want || out.Meta.ResolvedMode != c.want || len(out.Memories) != c.found ||
			out.Meta.StrongKeywordReason == "" {
			t.Errorf("%s %q: %+v", c.mode, c.query, out.Meta)
		}
		for _, m := range out.Memories {
			if m.Score <= 0 || len(m.Highlights) == 0 || !strings.Contains(m.Highlights[0], "tide") {
				t.Errorf("%q: %+v", c.query, m)
			}
		}
	}
}

func TestSemanticSearchFindsSynonyms(t *testing.T) {
	t.Parallel()
	Each(t, Options{Embedder: &storetest.FakeEmbedder{Name: "words"}}, func(t *testing.T, w *World) {
		targets := w.Atlas(t, "Shelf")
		for _, text := range []string{"The tide turns at noon, says pgx.ErrNoRows.", "A ship of the line.",
			"Nothing but fog in the bay.", "The harbour is closed in winter."} {
			w.Memory(t, targets, text)
		}
		w.WaitForEmbeddings(t)
		for _, c := range []struct {
			query  loci.Query
			mode   loci.Mode
			want   loci.ResolvedMode
			strong bool
			first  string
		}{
			// no other is close
			{"the tide turns", loci.ModeAuto, loci.ResolvedKeyword, true, "The tide"},
			// a phrase
			{`"turns at noon"`, loci.ModeAuto, loci.ResolvedKeyword, true, "The tide"},
			// an identifier
			{"pgx.ErrNoRows", loci.ModeAuto, loci.ResolvedKeyword, true, "The tide"},
			{"tide", loci.ModeAuto, loci.ResolvedHybrid, false, "The tide"}, // one word
			// not all words
			{"fog and wind", loci.ModeAuto, loci.ResolvedHybrid, false, "Nothing but fog"},
			{"ships in fog", loci.ModeHybrid, loci.ResolvedHybrid, false, "Nothing but fog"},
			{"a ship of the line.", loci.ModeSemantic, loci.ResolvedSemantic, false, "A ship"},
			{"closed", loci.ModeKeyword, loci.ResolvedKeyword, false, "The harbour"},
		} {
			out := MustCall(t, w, CallerOwner, service.MemorySearch,
				loci.SearchMemories{Query: c.query, Mode: c.mode})
			m := out.Meta
			if out.Mode != c.want || m.ResolvedMode != c.want || m.StrongKeyword != c.strong ||
				m.StrongKeywordReason == "" || !strings.HasPrefix(out.Memories[0].Content, c.first) {
				t.Errorf("%s %q: %+v, first %q", c.mode, c.query, m, out.Memories[0].Content)
			}
			if semantic := c.want == loci.ResolvedSemantic ||
				c.want == loci.ResolvedHybrid; (m.Candidates.Semantic > 0) != semantic ||
				(m.Timings.SemanticMs > 0) != semantic {
				t.Errorf("%s %q: %+v", c.mode, c.query, m)
			}
		}
		again := loci.SearchMemories{Query: "ships in fog", Mode: loci.ModeHybrid}
		if out := MustCall(t, w, CallerOwner, service.MemorySearch, again); out.Meta.Cache != loci.CacheQuery {
			t.Errorf("asked again: %+v", out.Meta)
		}
		w.Memory(t, targets, "Another ship, in another fog.") // its words are not ranked yet
		if out := MustCall(t, w, CallerOwner, service.MemorySearch, again); out.Meta.Cache != loci.CacheEmbedding ||
			out.Meta.Candidates.Keyword != 3 {
			t.Errorf("asked again after a write: %+v", out.Meta)
		}
		if out := MustCall(t, w, CallerMember, service.MemorySearch, again); out.Meta.Cache != loci.CacheNone {
			t.Errorf("another is told that it was asked before: %+v", out.Meta)
		}
		if out := MustCall(t, w, CallerToken, service.MemorySearch, again); out.Meta.Cache != loci.CacheNone {
			t.Errorf("a token is told what its user asked: %+v", out.Meta)
		}
		// its vector is cached
		MustCall(t, w, CallerOwner, service.MemorySearch,
			loci.SearchMemories{Query: "?tide? fog ?x?", Mode: loci.ModeSemantic})
		unread := MustCall(t, w, CallerOwner, service.MemorySearch,
			loci.SearchMemories{Query: "?tide? fog ?x?", Mode: loci.ModeHybrid})
		if unread.Mode != loci.ResolvedHybrid || unread.Meta.Candidates.Semantic != 0 || len(unread.Memories) != 3 {
			t.Errorf("what the model cannot read: %+v", unread.Meta)
		}
	})
}

func TestSearchDoesNotWaitForModel(t *testing.T) {
	t.Parallel()
	model := &storetest.FakeEmbedder{Name: "words", Gate: make(chan struct{})} // never answers
	w := New(t, OpenSQLite, Options{Embedder: model, EmbedTimeout: 300 * time.Millisecond})
	w.Memory(t, w.Atlas(t, "Shelf"), "The tide turns at noon.")
	out := MustCall(t, w, CallerOwner, service.MemorySearch,
		loci.SearchMemories{Query: "tide", Mode: loci.ModeSemantic})
	if out.Mode != loci.ResolvedKeywordFallback || len(out.Memories) != 1 {
		t.Errorf("%+v", out.Meta)
	}
	status := MustCall(t, w, CallerOwner, service.AccountStatus, loci.Empty{})
	testenv.Equal(t, status.Indexing.Pending, 1)
}

func TestHighlightsShowTheMatchedChunk(t *testing.T) {
	t.Parallel()
	w := New(t, OpenSQLite, Options{Embedder: &storetest.FakeEmbedder{Name: "words"}})
	text := strings.Repeat("Fog lies over the bay. ", 24) + "\n\nHere" + strings.Repeat(" ->>", 40) +
		" it turned.\n\n" + strings.Repeat("Rain fell on the harbour. ", 24)
	w.Memory(t, w.Atlas(t, "Shelf"), text)
	w.WaitForEmbeddings(t)
	for _, mode := range []loci.Mode{loci.ModeSemantic, loci.ModeHybrid} {
		// which has no words
		out := MustCall(t, w, CallerOwner, service.MemorySearch, loci.SearchMemories{Query: "->> ->>", Mode: mode})
		if len(out.Memories) != 1 || !strings.Contains(out.Memories[0].Highlights[0], "Here ->>") {
			t.Errorf("%s shows %q", mode, out.Memories[0].Highlights)
		}
	}
}
