package service_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	. "github.com/loci-memory/loci/internal/conformance"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
)

// prose is a text of that many words with few repetitions.
func prose(from, n int) string {
	words := make([]string, n)
	for i := range words {
		words[i] = fmt.Sprintf("word%d", from+i)
	}
	return strings.Join(words, " ")
}

// similarMemories lists the similar memories of a memory.
func similarMemories(t *testing.T, w *World, actor Caller, id loci.ID) []loci.Similarity {
	t.Helper()
	out := MustCall(t, w, actor, service.MemorySimilar, loci.SimilarMemories{MemoryID: id})
	if out.Similar == nil {
		t.Error("no list")
	}
	for i, a := range out.Similar {
		if a.Score < 0 || a.Score > 1 || math.Round(a.Score*1e4)/1e4 != a.Score ||
			i > 0 && a.Score > out.Similar[i-1].Score || a.ID == id {
			t.Errorf("place %d: %+v", i, a)
		}
	}
	return out.Similar
}

func TestOnlyActiveMemoriesOfAtlasAreDuplicates(t *testing.T) {
	t.Parallel()
	Each(t, Options{}, func(t *testing.T, w *World) {
		targets, other := w.Atlas(t, "Shelf"), w.Atlas(t, "Other")
		in := loci.CreateMemory{Content: "the same", AtlasID: targets}
		first := create(t, w, in).Memory.ID
		duplicate := func(why, want string, in loci.CreateMemory) loci.ID {
			t.Helper()
			m := create(t, w, in).Memory
			testenv.Equal(t, m.DuplicateOf, loci.ID(want), why, "a duplicate of", want)
			return m.ID
		}
		second := duplicate("beside the first", string(first), in)
		MustCall(t, w, CallerOwner, service.MemoryArchive, loci.ArchiveMemory{MemoryID: first})
		third := duplicate("beside the second", string(second), in)
		MustCall(t, w, CallerOwner, service.MemorySupersede,
			loci.SupersedeMemory{MemoryID: second, ReplacementMemoryID: third})
		MustCall(t, w, CallerOwner, service.MemoryUpdate,
			loci.UpdateMemory{MemoryID: third, Content: ptr(loci.Content("changed"))})
		back := in
		back.OnDuplicate = loci.OnDuplicateReturn
		fourth := create(t, w, back)
		if !fourth.Created() || fourth.Memory.DuplicateOf != "" ||
			slices.Contains([]loci.ID{first, second, third}, fourth.Memory.ID) {
			t.Errorf("what is put away or changed is returned: %+v", fourth)
		}
		MustCall(t, w, CallerOwner, service.MemoryUpdate,
			loci.UpdateMemory{MemoryID: third, Content: ptr(loci.Content("the same"))})
		duplicate("changed back", string(third), in)
		sourced := in
		sourced.OnDuplicate, sourced.Source = loci.OnDuplicateVersion, &loci.Source{Name: "log", URI: "/1"}
		duplicate("of a source that is new", string(third), sourced)
		sourced.Source = &loci.Source{Name: "log"}
		duplicate("of no address", string(third), sourced)
		in.AtlasID = other
		duplicate("in another atlas", "", in)
		in.AtlasID, in.WorkspaceID = "", w.NewTeam(t, w.Ann)
		duplicate("in another workspace", "", in)
	})
}

func TestDuplicateIgnoresWhiteSpaceAtEndsAndUnicodeForm(t *testing.T) {
	t.Parallel()
	Each(t, Options{}, func(t *testing.T, w *World) {
		shelf := w.Atlas(t, "Shelf")
		for text, others := range map[string][]string{
			"The caf\u00e9 opens\n\nat nine": {"The caf\u00e9 opens\n\nat nine\n",
				"The caf\u00e9 opens \t\n\nat nine\u00a0", "The caf\u00e9 opens\r\n\r\nat nine\r\n",
				"The cafe\u0301 opens\n\nat nine"},
			prose(0, 3000) + "\n\n": {prose(0, 3000), prose(0, 3000) + "\r\n"},
		} {
			in := loci.CreateMemory{Content: loci.Content(text), AtlasID: shelf}
			first := create(t, w, in).Memory.ID
			for _, other := range others {
				in.Content = loci.Content(other)
				for _, on := range []loci.OnDuplicate{"", loci.OnDuplicateReturn} {
					in.OnDuplicate = on
					m := create(t, w, in)
					testenv.Equal(t, m.Memory.DuplicateOf, first, other)
					if !m.Created() || m.Memory.Content != other || slices.ContainsFunc(m.Memory.Similar,
						func(s loci.Similarity) bool { return s.ID == first }) {
						t.Errorf("%q, on duplicate %q: %+v", other, on, m)
					}
					MustCall(t, w, CallerOwner, service.MemoryDelete, loci.DeleteMemory{MemoryID: m.Memory.ID})
				}
			}
			for _, other := range []string{" " + text, strings.ToUpper(text), "- " + text,
				strings.ReplaceAll(text, " ", "  ")} {
				in.Content, in.OnDuplicate = loci.Content(other), ""
				m := create(t, w, in).Memory
				testenv.Equal(t, m.DuplicateOf, "", other)
				MustCall(t, w, CallerOwner, service.MemoryDelete, loci.DeleteMemory{MemoryID: m.ID})
			}
			in.AtlasID = w.Atlas(t, "Another")
			in.Content = loci.Content(others[0])
			testenv.Equal(t, create(t, w, in).Memory.DuplicateOf, "", "in another atlas")
		}
	})
}

func TestWriteSaysWhereItChangedNothing(t *testing.T) {
	t.Parallel()
	Each(t, Options{}, func(t *testing.T, w *World) {
		in := loci.CreateMemory{Content: "the same", AtlasID: w.Atlas(t, "Shelf"),
			Source: &loci.Source{Name: "log", URI: "/1"}}
		id := create(t, w, in).Memory.ID
		for on, want := range map[loci.OnDuplicate]bool{"": false, loci.OnDuplicateReturn: true,
			loci.OnDuplicateVersion: true} {
			in.OnDuplicate = on
			testenv.Equal(t, create(t, w, in).Memory.Unchanged, want, on)
		}
		in.OnDuplicate, in.Content = loci.OnDuplicateVersion, "another"
		testenv.Equal(t, create(t, w, in).Memory.Unchanged, false, "a new version")
		for _, content := range []loci.Content{"another", "a third"} {
			m := MustCall(t, w, CallerOwner, service.MemoryUpdate, loci.UpdateMemory{MemoryID: id, Content: &content})
			testenv.Equal(t, m.Memory.Unchanged, content == "another", content)
		}
	})
}

func TestSimilarMemoriesAreActiveAndOfSameWorkspace(t *testing.T) {
	t.Parallel()
	Each(t, Options{}, func(t *testing.T, w *World) {
		targets, other := w.Atlas(t, "Shelf"), w.Atlas(t, "Other")
		team, text := w.NewTeam(t, w.Ann), prose(0, 400)
		id := w.Memory(t, targets, text)
		equal, marked := mustCreate(t, w, CallerMember, other, text),
			w.Memory(t, targets, "# "+strings.ToUpper(text)+"!")
		near := mustCreate(t, w, CallerAdmin, other, text+" and two more")
		w.Memory(t, targets, prose(5000, 400))
		private := MustCall(t, w, CallerOwner, service.MemoryCreate,
			loci.CreateMemory{Content: loci.Content(text)}).Memory
		elsewhere := MustCall(t, w, CallerOwner, service.MemoryCreate,
			loci.CreateMemory{Content: loci.Content(text), WorkspaceID: team}).Memory
		eves := MustCall(t, w, CallerStranger, service.MemoryCreate,
			loci.CreateMemory{Content: loci.Content(text)}).Memory
		for _, m := range []loci.NewMemory{private, elsewhere, eves} {
			if len(m.Similar) != 0 || m.DuplicateOf != "" {
				t.Errorf("of another workspace: %+v", m)
			}
		}
		ids := func(list []loci.Similarity) (out []loci.ID) {
			for _, a := range list {
				out = append(out, a.ID)
			}
			return out
		}
		got := similarMemories(t, w, CallerMember, id)
		if len(got) != 3 || got[0].Score != 1 || got[1].Score != 1 || got[2].ID != near || got[2].Score < .97 ||
			got[2].Score == 1 {
			t.Errorf("similar are %+v", got)
		}
		if some := MustCall(t, w, CallerMember, service.MemorySimilar,
			loci.SimilarMemories{MemoryID: id, Limit: 1}).Similar; len(some) != 1 || some[0] != got[0] {
			t.Errorf("the best is %+v", some)
		}
		if made := create(t, w, loci.CreateMemory{Content: loci.Content(text),
			AtlasID: targets}).Memory; made.DuplicateOf != id || len(made.Similar) != 3 ||
			slices.Contains(ids(made.Similar), id) {
			t.Errorf("a new one is a duplicate of %s and similar to %+v", made.DuplicateOf, made.Similar)
		} else {
			MustCall(t, w, CallerOwner, service.MemoryDelete, loci.DeleteMemory{MemoryID: made.ID})
		}
		MustCall(t, w, CallerOwner, service.MemoryArchive, loci.ArchiveMemory{MemoryID: equal})
		MustCall(t, w, CallerOwner, service.MemorySupersede,
			loci.SupersedeMemory{MemoryID: marked, ReplacementMemoryID: id})
		if got := similarMemories(t, w, CallerMember, id); len(got) != 1 || got[0].ID != near {
			t.Errorf("beside what is put away similar are %+v", got)
		}
		if got := ids(similarMemories(t, w, CallerMember, equal)); len(got) != 2 || !slices.Contains(got, id) ||
			!slices.Contains(got, near) {
			t.Errorf("to what is archived similar are %v", got)
		}
		MustCall(t, w, CallerOwner, service.MemoryRestore, loci.RestoreMemory{MemoryID: equal})
		testenv.EqualSlices(t, ids(similarMemories(t, w, CallerMember, id)), []loci.ID{equal, near},
			"after it is restored similar are")
		MustCall(t, w, CallerOwner, service.MemoryUpdate,
			loci.UpdateMemory{MemoryID: equal, Content: ptr(loci.Content(prose(9000, 400)))})
		MustCall(t, w, CallerOwner, service.MemoryDelete, loci.DeleteMemory{MemoryID: near})
		testenv.Len(t, similarMemories(t, w, CallerMember, id), 0, "after changes similar are")
		MustCall(t, w, CallerOwner, service.MemoryRevert, loci.RevertMemory{MemoryID: equal, Version: 1})
		testenv.EqualSlices(t, ids(similarMemories(t, w, CallerMember, id)), []loci.ID{equal},
			"after a revert similar are")
	})
}

func TestCreateFromSourceAddsVersionWhenTextDiffers(t *testing.T) {
	t.Parallel()
	Each(t, Options{}, func(t *testing.T, w *World) {
		targets, other := w.Atlas(t, "Shelf"), w.Atlas(t, "Other")
		in := loci.CreateMemory{Content: "# First\nof it", AtlasID: targets,
			OnDuplicate: loci.OnDuplicateVersion,
			Tags:        loci.Tags{"a"}, Type: loci.TypeFact,
			Source: &loci.Source{Name: "notes", URI: "file:///a.md", Group: "g", Position: ptr(int64(3))}}
		first := create(t, w, in)
		if !first.Created() || first.Memory.Version != 1 {
			t.Fatalf("%+v", first)
		}
		id := first.Memory.ID
		same := in
		same.Title, same.Tags, same.Type = "Another title", loci.Tags{"b"}, loci.TypeTask
		if out := create(t, w, same); out.Created() || out.Memory.ID != id || out.Memory.Version != 1 ||
			out.Memory.Title != "First" || out.Memory.UpdatedAt != first.Memory.UpdatedAt {
			t.Errorf("the same content: %+v", out)
		}
		in.Content, in.Tags, in.Type = "# Second\nof it", nil, ""
		out := create(t, w, in)
		if m := out.Memory; out.Created() || m.ID != id || m.Version != 2 || m.Title != "Second" ||
			m.Content != string(in.Content) || m.Type != loci.TypeFact || !slices.Equal(m.Tags, []string{"a"}) ||
			m.Source.Group != "g" || m.Routing.AtlasID != targets || m.Similar == nil || m.DuplicateOf != "" {
			t.Errorf("other content: %+v", m)
		}
		in.Content, in.Tags, in.Type, in.Title = "Third", loci.Tags{}, loci.TypeDecision, "Named"
		if m := create(t, w, in).Memory; m.Version != 3 || m.Title != "Named" || m.Type != loci.TypeDecision ||
			len(m.Tags) != 0 {
			t.Errorf("with other fields: %+v", m)
		}
		versions := MustCall(t, w, CallerMember, service.MemoryVersions, loci.ListVersions{MemoryID: id}).Versions
		if len(versions) != 3 || versions[2].Content != "# First\nof it" || versions[1].Title != "Second" {
			t.Errorf("%+v", versions)
		}
		// A member may not change another member's import, and must not duplicate it.
		MustFail(t, w, CallerMember, service.MemoryCreate, in, loci.CodeForbidden)
		MustFail(t, w, CallerStranger, service.MemoryCreate, in, loci.CodeNotFound)
		if m := MustCall(t, w, CallerAdmin, service.MemoryCreate, in).Memory; m.ID != id || m.Version != 3 ||
			m.CreatedBy != w.Ann.ID {
			t.Errorf("by an admin: %+v", m)
		}
		for why, change := range map[string]func(*loci.CreateMemory){
			"another address": func(in *loci.CreateMemory) {
				in.Source = &loci.Source{Name: "notes", URI: "file:///b.md"}
			},
			"another name": func(in *loci.CreateMemory) {
				in.Source = &loci.Source{Name: "others", URI: "file:///a.md"}
			},
			"no name":       func(in *loci.CreateMemory) { in.Source = &loci.Source{URI: "file:///a.md"} },
			"another atlas": func(in *loci.CreateMemory) { in.AtlasID = other },
			"no wish": func(in *loci.CreateMemory) {
				in.OnDuplicate, in.Source = "", &loci.Source{URI: "file:///c.md"}
			},
		} {
			in := in
			change(&in)
			if out := create(t, w, in); !out.Created() || out.Memory.ID == id || out.Memory.Version != 1 {
				t.Errorf("%s: %+v", why, out)
			}
		}
		MustCall(t, w, CallerOwner, service.MemoryArchive, loci.ArchiveMemory{MemoryID: id})
		if out := create(t, w, in); !out.Created() || out.Memory.ID == id {
			t.Errorf("beside an archived one: %+v", out)
		}
		callTwice(t, w, service.MemoryCreate, in)
	})
}

func TestUnreadableTextHasNoVector(t *testing.T) {
	t.Parallel()
	Each(t, Options{Embedder: &storetest.FakeEmbedder{Name: "words"}}, func(t *testing.T, w *World) {
		targets := w.Atlas(t, "Shelf")
		id := w.Memory(t, targets, "the tide turns at noon and fog lies over it")
		other := w.Memory(t, targets, "fog lies over noon and it turns the tide at")
		strange := w.Memory(t, targets,
			"at ?x? tide ?y? the it turns ?z? noon over and lies fog")
		w.Memory(t, targets,
			"?x? ?y? ?z? the tide turns at noon and fog lies over it today")
		w.WaitForEmbeddings(t)
		if got := similarMemories(t, w, CallerOwner, id); len(got) != 1 || got[0].ID != other || got[0].Score > 1 ||
			got[0].Score < .99 {
			t.Errorf("similar are %+v", got)
		}
		testenv.Len(t, similarMemories(t, w, CallerOwner, strange), 0, "to what the model cannot read similar are")
	})
}

func TestCreateNamesMemoriesOfLikeMeaning(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		const text, like = "the tide turns at noon and fog lies over it", "fog lies over noon and it turns the tide at"
		model := new(storetest.LocalEmbedder)
		model.Name = "words"
		w := New(t, func(t testing.TB, o store.Options) *store.Store {
			o.OneShot = true // yields to no calls of other tests
			return d.Open(t, o)
		}, Options{Embedder: model})
		shelf, other := w.Atlas(t, "Shelf"), w.Atlas(t, "Other")
		in := loci.CreateMemory{Content: text, Title: "Tide", AtlasID: shelf, OnDuplicate: loci.OnDuplicateVersion,
			Source: &loci.Source{URI: "/1"}}
		id := create(t, w, in).Memory.ID
		gone := w.Memory(t, other, "lies at noon the tide turns and fog over it")
		create(t, w, loci.CreateMemory{Content: text}) // in another workspace
		w.WaitForEmbeddings(t)
		testenv.Equal(t, model.Embedded.Load(), 3, "three texts were embedded")
		MustCall(t, w, CallerOwner, service.MemoryArchive, loci.ArchiveMemory{MemoryID: gone})
		long := strings.Repeat(like+" ", 200) + prose(0, 99)
		for _, c := range []struct {
			why  string
			want int
			in   loci.CreateMemory
		}{
			{"in another atlas", 1, loci.CreateMemory{Content: like, AtlasID: other}},
			{"of one's own choice", 1, loci.CreateMemory{Content: like, WorkspaceID: w.Team}},
			{"a long text", 1, loci.CreateMemory{Content: loci.Content(long), AtlasID: shelf}},
			{"other words", 0, loci.CreateMemory{Content: "the gulls are hungry at noon", AtlasID: shelf}},
			{"unreadable", 0, loci.CreateMemory{Content: "?x? ?y? ?z? " + like, AtlasID: shelf}},
			{"of another person", 0, loci.CreateMemory{Content: like}},
		} {
			call := CallerOwner
			if c.in.AtlasID == "" && c.in.WorkspaceID == "" {
				call = CallerStranger
			}
			m := MustCall(t, w, call, service.MemoryCreate, c.in).Memory
			if got := m.Similar; len(got) != c.want || c.want > 0 && (got[0].ID != id || got[0].Title != "Tide" ||
				got[0].Score < .6 || got[0].Score > 1) || m.DuplicateOf != "" {
				t.Errorf("%s: similar are %+v, a duplicate of %q", c.why, got, m.DuplicateOf)
			}
			MustCall(t, w, call, service.MemoryDelete, loci.DeleteMemory{MemoryID: m.ID})
		}
		in.Content = like
		if m := create(t, w, in).Memory; m.Version != 2 || len(m.Similar) != 0 {
			t.Errorf("a new version: %+v", m)
		}
	})
}
